//! The search service: hotels which are near and have a rate. Whether they have rooms left is the
//! reservation service's to say.

use std::sync::Arc;

use super::geo::{self, Geo};
use super::metrics::{Metrics, Service};
use super::rate::{GetRatesRequest, Rate};

pub struct NearbyRequest<'a> {
    pub lat: f32,
    pub lon: f32,
    pub in_date: &'a str,
    pub out_date: &'a str,
}

pub struct NearbyReply {
    pub hotel_ids: Vec<String>,
}

pub struct Search {
    geo: Geo,
    rate: Rate,
    metrics: Arc<Metrics>,
}

impl Search {
    pub fn new(geo: Geo, rate: Rate, metrics: Arc<Metrics>) -> Self {
        Search { geo, rate, metrics }
    }

    /// The nearest hotels that have a rate, the dearest first.
    pub fn nearby(&self, request: NearbyRequest<'_>) -> NearbyReply {
        self.metrics.called(Service::Search);
        let near = self.geo.nearby(geo::NearbyRequest { lat: request.lat, lon: request.lon });
        let rates = self.rate.get_rates(GetRatesRequest {
            hotel_ids: &near.hotel_ids,
            in_date: request.in_date,
            out_date: request.out_date,
        });
        let hotel_ids = rates.rate_plans.iter().map(|plan| plan.hotel_id.clone()).collect();
        NearbyReply { hotel_ids }
    }
}
