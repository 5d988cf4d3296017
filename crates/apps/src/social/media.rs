//! The media service: the media of a post.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api::media::{self as api, MediaReply, MediaRequest};
use super::api::post;
use super::bounds::{LONGEST_NAME, MOST_PARTS};
use super::metrics::Metrics;
use super::{Process, Service};
use crate::kit::arguments::Common;
use crate::kit::health::Health;
use crate::kit::process;

pub struct Media {
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(common: Common) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let service = Arc::new(Media::new(Arc::clone(&process.metrics)));
        Ok(process.page(Service::Media, api::answering(service), Health::default()))
    })
}

impl Media {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Media { metrics }
    }
}

#[async_trait]
impl api::Media for Media {
    async fn compose(
        &self,
        request: Request<MediaRequest>,
    ) -> Result<Response<MediaReply>, Status> {
        self.metrics.called(Service::Media);
        let MediaRequest { media_types, media_ids } = request.into_inner();
        if media_types.len() != media_ids.len() {
            return Err(Status::invalid_argument(
                "The lengths of media_id list and media_type list are not equal",
            ));
        }
        if MOST_PARTS < media_ids.len() {
            return Err(Status::invalid_argument(format!("a post has at most {MOST_PARTS} media")));
        }
        if media_types.iter().any(|media_type| LONGEST_NAME < media_type.len()) {
            let text = format!("a media type has at most {LONGEST_NAME} bytes");
            return Err(Status::invalid_argument(text));
        }
        let both = media_ids.into_iter().zip(media_types);
        let media = both.map(|(media_id, media_type)| post::Media { media_id, media_type });
        Ok(Response::new(MediaReply { media: media.collect() }))
    }
}
