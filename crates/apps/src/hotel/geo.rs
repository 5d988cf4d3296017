//! The geo service: which hotels are near a place. It holds all positions in memory.

use std::sync::Arc;

use super::metrics::{Metrics, Service};

/// The radius of the Earth, as the original has it.
const EARTH_KM: f64 = 6371.0;

/// Hotels farther away are not near.
const RADIUS_KM: f64 = 10.0;

/// No more hotels than these are near, and they are the nearest.
const NEAREST: usize = 5;

pub struct NearbyRequest {
    pub lat: f32,
    pub lon: f32,
}

pub struct NearbyReply {
    pub hotel_ids: Vec<String>,
}

pub struct Geo {
    places: Vec<(String, Point)>,
    metrics: Arc<Metrics>,
}

impl Geo {
    /// Takes the latitude and longitude, in degrees, of every hotel.
    pub fn new(places: Vec<(String, (f64, f64))>, metrics: Arc<Metrics>) -> Self {
        let places = places.into_iter().map(|(id, (lat, lon))| (id, Point::at(lat, lon))).collect();
        Geo { places, metrics }
    }

    /// The nearest hotels, nearest first.
    pub fn nearby(&self, request: NearbyRequest) -> NearbyReply {
        self.metrics.called(Service::Geo);
        let here = Point::at(f64::from(request.lat), f64::from(request.lon));
        let farthest = squared_chord(RADIUS_KM);
        let mut near: Vec<(f64, &str)> = self
            .places
            .iter()
            .map(|(id, place)| (here.squared_chord_to(*place), id.as_str()))
            .filter(|(squared, _)| *squared <= farthest)
            .collect();
        near.sort_by(|one, other| one.0.total_cmp(&other.0));
        NearbyReply { hotel_ids: near.iter().take(NEAREST).map(|(_, id)| id.to_string()).collect() }
    }
}

/// A place on the unit sphere. The chord between two points grows with the great-circle distance
/// between them, so chords order places as haversine distances do, without a sine for each.
#[derive(Clone, Copy, Debug)]
pub struct Point([f64; 3]);

impl Point {
    /// The point at a latitude and longitude in degrees.
    pub fn at(lat: f64, lon: f64) -> Self {
        let ((sin_lat, cos_lat), (sin_lon, cos_lon)) =
            (lat.to_radians().sin_cos(), lon.to_radians().sin_cos());
        Point([cos_lat * cos_lon, cos_lat * sin_lon, sin_lat])
    }

    /// The square of the straight distance, in radii of the Earth.
    pub fn squared_chord_to(self, other: Point) -> f64 {
        self.0.iter().zip(other.0).map(|(one, other)| (one - other) * (one - other)).sum()
    }
}

/// The square of the chord under an arc of this many kilometres.
fn squared_chord(km: f64) -> f64 {
    let half = (km / EARTH_KM / 2.0).sin();
    4.0 * half * half
}

#[cfg(test)]
mod tests;
