//! The attractions service: the restaurants, museums and cinemas near a hotel. It keeps all places
//! in memory.

use std::collections::HashMap;
use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::attractions::{Request as Near, Result as Found};
use super::api::store::{Nothing, Place, Store};
use super::command::Stateless;
use super::geo::Places;
use super::metrics::Metrics;
use super::postgres::Use;
use super::source::{self, loaded};
use super::{Process, Service};
use crate::kit::process;

pub struct Attractions {
    /// Hotel → latitude, longitude.
    hotels: HashMap<String, (f64, f64)>,
    restaurants: Places,
    museums: Places,
    cinemas: Places,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Stateless { store, common }: Stateless) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let (store, health) = source::connect(&store, process, Use::Reads).await?;
        let attractions = Attractions::load(&*store, Arc::clone(&process.metrics)).await?;
        let answering = api::attractions::answering(Arc::new(attractions));
        Ok(process.page(Service::Attractions, answering, health))
    })
}

impl Attractions {
    pub async fn load(store: &dyn Store, metrics: Arc<Metrics>) -> anyhow::Result<Self> {
        let known = loaded(store.attractions(Request::new(Nothing {})).await)?.into_inner();
        let place = |place: Place| (place.id, (place.lat, place.lon));
        Ok(Attractions {
            hotels: known.hotels.into_iter().map(place).collect(),
            restaurants: Places::new(known.restaurants),
            museums: Places::new(known.museums),
            cinemas: Places::new(known.cinemas),
            metrics,
        })
    }

    /// Returns the places near a hotel; none for an unknown hotel.
    fn near(&self, hotel: &str, places: &Places) -> Result<Response<Found>, Status> {
        self.metrics.called(Service::Attractions);
        let place = self.hotels.get(hotel);
        let attraction_ids = place.map(|(lat, lon)| places.near(*lat, *lon)).unwrap_or_default();
        Ok(Response::new(Found { attraction_ids }))
    }
}

#[async_trait]
impl api::attractions::Attractions for Attractions {
    async fn nearby_rest(&self, near: Request<Near>) -> Result<Response<Found>, Status> {
        self.near(&near.into_inner().hotel_id, &self.restaurants)
    }

    async fn nearby_mus(&self, near: Request<Near>) -> Result<Response<Found>, Status> {
        self.near(&near.into_inner().hotel_id, &self.museums)
    }

    async fn nearby_cinema(&self, near: Request<Near>) -> Result<Response<Found>, Status> {
        self.near(&near.into_inner().hotel_id, &self.cinemas)
    }
}
