//! The recommendation service: the best hotels by one measure. It keeps its data in memory.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::recommendation::{GetRecommendationsReply, GetRecommendationsRequest};
use super::api::store::{Candidate, Nothing, Store};
use super::command::Stateless;
use super::geo::Point;
use super::metrics::Metrics;
use super::postgres::Use;
use super::source::{self, loaded};
use super::{Process, Service};
use crate::kit::process;

/// The measure by which a hotel is the best.
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

pub struct Recommendation {
    places: Vec<(Point, String)>,
    highest_rated: Vec<String>,
    cheapest: Vec<String>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Stateless { store, common }: Stateless) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let (store, health) = source::connect(&store, process, Use::Reads).await?;
        let recommendation = Recommendation::load(&*store, Arc::clone(&process.metrics)).await?;
        let answering = api::recommendation::answering(Arc::new(recommendation));
        Ok(process.page(Service::Recommendation, answering, health))
    })
}

impl Recommendation {
    /// Creates the service. The best by rate and by price are the same for all requests, so they
    /// are found once.
    pub async fn load(store: &dyn Store, metrics: Arc<Metrics>) -> anyhow::Result<Self> {
        let known = loaded(store.candidates(Request::new(Nothing {})).await)?.into_inner();
        let candidates = known.candidates.as_slice();
        let ids = |best: Vec<&Candidate>| best.iter().map(|one| id(one)).collect();
        Ok(Recommendation {
            places: candidates.iter().map(|one| (point(one), id(one))).collect(),
            highest_rated: ids(smallest(candidates, |one| -one.rate)),
            cheapest: ids(smallest(candidates, |one| one.price)),
            metrics,
        })
    }

    fn nearest(&self, here: Point) -> Vec<String> {
        let nearest = smallest(&self.places, |(place, _)| here.squared_chord_to(*place));
        nearest.into_iter().map(|(_, id)| id.clone()).collect()
    }
}

#[async_trait]
impl api::recommendation::Recommendation for Recommendation {
    /// Returns all hotels that are equally the best; none for an unknown measure.
    async fn get_recommendations(
        &self,
        request: Request<GetRecommendationsRequest>,
    ) -> Result<Response<GetRecommendationsReply>, Status> {
        self.metrics.called(Service::Recommendation);
        let GetRecommendationsRequest { require, lat, lon } = request.into_inner();
        let hotel_ids = match Require::parse(&require) {
            Some(Require::Distance) => self.nearest(Point::at(lat, lon)),
            Some(Require::Rate) => self.highest_rated.clone(),
            Some(Require::Price) => self.cheapest.clone(),
            None => Vec::new(),
        };
        Ok(Response::new(GetRecommendationsReply { hotel_ids }))
    }
}

fn id(candidate: &Candidate) -> String {
    candidate.place.as_ref().map(|place| place.id.clone()).unwrap_or_default()
}

fn point(candidate: &Candidate) -> Point {
    let place = candidate.place.clone().unwrap_or_default();
    Point::at(place.lat, place.lon)
}

/// Returns all items with the smallest measure; none if no measure is a number.
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
