//! The recommendation service: the best hotels by one measure. It holds what it needs in memory.

use std::sync::Arc;

use super::geo::Point;
use super::metrics::{Metrics, Service};

/// By which measure a hotel is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Require {
    /// The nearest.
    Distance,
    /// The highest rated.
    Rate,
    /// The cheapest.
    Price,
}

impl Require {
    /// Reads the parameter of a request.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "dis" => Some(Require::Distance),
            "rate" => Some(Require::Rate),
            "price" => Some(Require::Price),
            _ => None,
        }
    }
}

pub struct GetRecommendationsRequest {
    pub require: Require,
    pub lat: f64,
    pub lon: f64,
}

pub struct GetRecommendationsReply {
    pub hotel_ids: Vec<String>,
}

/// What is known of one hotel: its position in degrees, its rating and its price.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub hotel_id: String,
    pub lat: f64,
    pub lon: f64,
    pub rate: f64,
    pub price: f64,
}

pub struct Recommendation {
    places: Vec<(Point, String)>,
    highest_rated: Vec<String>,
    cheapest: Vec<String>,
    metrics: Arc<Metrics>,
}

impl Recommendation {
    /// The best by rate and by price are the same for everybody, so they are found once.
    pub fn new(candidates: &[Candidate], metrics: Arc<Metrics>) -> Self {
        let place = |one: &Candidate| (Point::at(one.lat, one.lon), one.hotel_id.clone());
        let ids = |best: Vec<&Candidate>| best.iter().map(|one| one.hotel_id.clone()).collect();
        Recommendation {
            places: candidates.iter().map(place).collect(),
            highest_rated: ids(smallest(candidates, |one| -one.rate)),
            cheapest: ids(smallest(candidates, |one| one.price)),
            metrics,
        }
    }

    /// All hotels which are equally the best.
    pub fn get_recommendations(
        &self,
        request: GetRecommendationsRequest,
    ) -> GetRecommendationsReply {
        self.metrics.called(Service::Recommendation);
        let hotel_ids = match request.require {
            Require::Distance => self.nearest(Point::at(request.lat, request.lon)),
            Require::Rate => self.highest_rated.clone(),
            Require::Price => self.cheapest.clone(),
        };
        GetRecommendationsReply { hotel_ids }
    }

    fn nearest(&self, here: Point) -> Vec<String> {
        let nearest = smallest(&self.places, |(place, _)| here.squared_chord_to(*place));
        nearest.into_iter().map(|(_, id)| id.clone()).collect()
    }
}

/// All items whose measure is the smallest one; none if no measure is a number.
fn smallest<T>(items: &[T], measure: impl Fn(&T) -> f64) -> Vec<&T> {
    let mut least = f64::INFINITY;
    let mut found = Vec::new();
    for item in items {
        let value = measure(item);
        if value < least {
            least = value;
            found.clear();
        }
        if value == least {
            found.push(item);
        }
    }
    found
}
