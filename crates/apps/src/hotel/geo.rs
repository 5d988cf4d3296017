//! The geo service: finds the hotels near a place. It keeps all positions in memory.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::geo::{NearbyReply, NearbyRequest};
use super::api::store::{Nothing, Place, Store};
use super::command::Stateless;
use super::metrics::Metrics;
use super::postgres::Use;
use super::source::{self, loaded};
use super::{Process, Service};
use crate::kit::process;

/// The radius of the Earth, with the original's value.
const EARTH_KM: f64 = 6371.0;

/// The largest distance that counts as near.
const RADIUS_KM: f64 = 10.0;

/// The most hotels that are returned: the nearest ones.
const NEAREST: usize = 5;

/// A set of places to choose the nearest from.
pub struct Places(Vec<(String, Point)>);

impl Places {
    pub fn new(places: Vec<Place>) -> Self {
        let point = |place: Place| (place.id, Point::at(place.lat, place.lon));
        Places(places.into_iter().map(point).collect())
    }

    /// Returns the nearest ones to a latitude and longitude in degrees, nearest first.
    pub fn near(&self, lat: f64, lon: f64) -> Vec<String> {
        let here = Point::at(lat, lon);
        let farthest = squared_chord(RADIUS_KM);
        let mut near: Vec<(f64, &str)> = self
            .0
            .iter()
            .map(|(id, place)| (here.squared_chord_to(*place), id.as_str()))
            .filter(|(squared, _)| *squared <= farthest)
            .collect();
        near.sort_by(|one, other| one.0.total_cmp(&other.0));
        near.iter().take(NEAREST).map(|(_, id)| id.to_string()).collect()
    }
}

pub struct Geo {
    hotels: Places,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Stateless { store, common }: Stateless) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let (store, health) = source::connect(&store, process, Use::Reads).await?;
        let geo = Geo::load(&*store, Arc::clone(&process.metrics)).await?;
        Ok(process.page(Service::Geo, api::geo::answering(Arc::new(geo)), health))
    })
}

impl Geo {
    pub async fn load(store: &dyn Store, metrics: Arc<Metrics>) -> anyhow::Result<Self> {
        let places = loaded(store.places(Request::new(Nothing {})).await)?.into_inner().places;
        Ok(Geo { hotels: Places::new(places), metrics })
    }
}

#[async_trait]
impl api::geo::Geo for Geo {
    /// Returns the nearest hotels, nearest first.
    async fn nearby(
        &self,
        request: Request<NearbyRequest>,
    ) -> Result<Response<NearbyReply>, Status> {
        self.metrics.called(Service::Geo);
        let NearbyRequest { lat, lon } = request.into_inner();
        let hotel_ids = self.hotels.near(lat.into(), lon.into());
        Ok(Response::new(NearbyReply { hotel_ids }))
    }
}

/// A place on the unit sphere. The chord between two points grows with the great-circle distance
/// between them, so chords order places as haversine distances do, without a sine for each.
#[derive(Clone, Copy, Debug)]
pub struct Point([f64; 3]);

impl Point {
    /// Returns the point at a latitude and longitude in degrees.
    pub fn at(lat: f64, lon: f64) -> Self {
        let ((sin_lat, cos_lat), (sin_lon, cos_lon)) =
            (lat.to_radians().sin_cos(), lon.to_radians().sin_cos());
        Point([cos_lat * cos_lon, cos_lat * sin_lon, sin_lat])
    }

    /// Returns the square of the straight distance, in radii of the Earth.
    pub fn squared_chord_to(self, other: Point) -> f64 {
        self.0.iter().zip(other.0).map(|(one, other)| (one - other) * (one - other)).sum()
    }
}

/// Returns the square of the chord under an arc of this many kilometres.
fn squared_chord(km: f64) -> f64 {
    let half = (km / EARTH_KM / 2.0).sin();
    4.0 * half * half
}

#[cfg(test)]
mod tests;
