//! The review service: the reviews of hotels.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::review::{ReviewReply, ReviewRequest};
use super::command::{Cacheable, Stateless};
use super::documents::Documents;
use super::metrics::Metrics;
use super::{Process, Service};
use crate::kit::process;

pub struct Review {
    /// The reviews of each hotel.
    reviews: Documents<ReviewReply>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(arguments: Cacheable) -> anyhow::Result<()> {
    let Cacheable { stateless: Stateless { store, common }, cache } = arguments;
    process::run(common, async |process: &Process| {
        let (documents, health) = Documents::connect(process, &store, &cache).await?;
        let review = Review::new(documents, Arc::clone(&process.metrics));
        Ok(process.page(Service::Review, api::review::answering(Arc::new(review)), health))
    })
}

impl Review {
    pub fn new(reviews: Documents<ReviewReply>, metrics: Arc<Metrics>) -> Self {
        Review { reviews, metrics }
    }
}

#[async_trait]
impl api::review::Review for Review {
    /// Returns all reviews of a hotel; none for a hotel without reviews or an unknown hotel.
    async fn get_reviews(
        &self,
        request: Request<ReviewRequest>,
    ) -> Result<Response<ReviewReply>, Status> {
        self.metrics.called(Service::Review);
        let found = self.reviews.of(vec![request.into_inner().hotel_id]).await?;
        Ok(Response::new(found.into_iter().next().unwrap_or_default()))
    }
}
