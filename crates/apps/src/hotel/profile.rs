//! The profile service: what there is to say about a hotel. Profiles never change, so it keeps
//! them in memory.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::metrics::{Metrics, Service};

/// The locale is part of the contract, but there is one language only.
pub struct GetProfilesRequest<'a> {
    pub hotel_ids: &'a [String],
    pub locale: &'a str,
}

pub struct GetProfilesReply {
    pub hotels: Vec<Arc<Hotel>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hotel {
    pub id: String,
    pub name: String,
    pub phone_number: String,
    pub description: String,
    pub address: Address,
    pub images: Vec<Image>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    pub street_number: String,
    pub street_name: String,
    pub city: String,
    pub state: String,
    pub country: String,
    pub postal_code: String,
    pub lat: f32,
    pub lon: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    pub url: String,
    pub default: bool,
}

pub struct Profile {
    hotels: HashMap<String, Arc<Hotel>>,
    metrics: Arc<Metrics>,
}

impl Profile {
    pub fn new(hotels: Vec<Hotel>, metrics: Arc<Metrics>) -> Self {
        let hotels = hotels.into_iter().map(|hotel| (hotel.id.clone(), Arc::new(hotel))).collect();
        Profile { hotels, metrics }
    }

    /// The profiles of those hotels that are known, in the order asked.
    pub fn get_profiles(&self, request: GetProfilesRequest<'_>) -> GetProfilesReply {
        self.metrics.called(Service::Profile);
        let profile_of = |id| self.hotels.get(id).cloned();
        GetProfilesReply { hotels: request.hotel_ids.iter().filter_map(profile_of).collect() }
    }
}
