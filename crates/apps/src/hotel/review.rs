//! The review service: what guests say about a hotel.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::review::{ReviewReply, ReviewRequest};
use super::documents::Documents;
use super::metrics::{Metrics, Service};

pub struct Review {
    /// By hotel.
    reviews: Documents<ReviewReply>,
    metrics: Arc<Metrics>,
}

impl Review {
    pub fn new(reviews: Documents<ReviewReply>, metrics: Arc<Metrics>) -> Self {
        Review { reviews, metrics }
    }
}

#[async_trait]
impl api::Review for Review {
    /// All reviews of a hotel; a hotel that nobody reviewed, or that is unknown, has none.
    async fn get_reviews(
        &self,
        request: Request<ReviewRequest>,
    ) -> Result<Response<ReviewReply>, Status> {
        self.metrics.called(Service::Review);
        let found = self.reviews.of(vec![request.into_inner().hotel_id]).await?;
        Ok(Response::new(found.into_iter().next().unwrap_or_default()))
    }
}
