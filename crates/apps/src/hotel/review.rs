//! The review service: the reviews of hotels.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::review::{ReviewReply, ReviewRequest};
use super::documents::Documents;
use super::metrics::{Metrics, Service};

pub struct Review {
    /// The reviews of each hotel.
    reviews: Documents<ReviewReply>,
    metrics: Arc<Metrics>,
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
