//! The compose-post service: makes a post of its parts and delivers it to the timelines.
//!
//! A delivery that has begun goes on if its caller goes away: otherwise a post could be in its
//! author's timeline and never in those of the followers.

use std::sync::Arc;

use clap::Args;
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status, async_trait};

use super::api::common::{Account, Nothing};
use super::api::compose_post::{self as api, ComposeRequest};
use super::api::home_timeline::{HomeTimeline, HomeTimelineEntry};
use super::api::media::{Media, MediaRequest};
use super::api::post::Post;
use super::api::post_storage::PostStorage;
use super::api::text::{Text, TextRequest};
use super::api::unique_id::{UniqueId, UniqueIdRequest};
use super::api::user::User;
use super::api::user_timeline::{UserTimeline, UserTimelineEntry};
use super::called::Called;
use super::metrics::Metrics;
use super::unique_id::now;
use super::{Process, Service};
use crate::kit::arguments::Common;
use crate::kit::process;
use crate::kit::rpc::Addresses;
use crate::kit::statistics::Statistics;

#[derive(Args)]
pub struct Arguments {
    #[arg(long, value_name = "ADDRESSES")]
    text: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    user: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    media: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    unique_id: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    post_storage: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    user_timeline: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    home_timeline: Addresses,

    #[command(flatten)]
    common: Common,
}

pub struct ComposePost {
    pub text: Arc<dyn Text>,
    pub user: Arc<dyn User>,
    pub media: Arc<dyn Media>,
    pub unique_id: Arc<dyn UniqueId>,
    pub post_storage: Arc<dyn PostStorage>,
    pub user_timeline: Arc<dyn UserTimeline>,
    pub home_timeline: Arc<dyn HomeTimeline>,
    pub deliveries: Deliveries,
    pub metrics: Arc<Metrics>,
}

/// The posts that are being delivered. They are as many as a process may have calls, with those
/// whose callers have gone away.
pub struct Deliveries {
    room: Arc<Semaphore>,
    statistics: Arc<Statistics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(to: Arguments) -> anyhow::Result<()> {
    process::run(to.common, async |process: &Process| {
        let mut called = Called::by(process);
        let service = ComposePost {
            text: called.to("text", &to.text).await?,
            user: called.to("user", &to.user).await?,
            media: called.to("media", &to.media).await?,
            unique_id: called.to("unique-id", &to.unique_id).await?,
            post_storage: called.to("post-storage", &to.post_storage).await?,
            user_timeline: called.to("user-timeline", &to.user_timeline).await?,
            home_timeline: called.to("home-timeline", &to.home_timeline).await?,
            deliveries: Deliveries::of(process),
            metrics: Arc::clone(&process.metrics),
        };
        Ok(process.page(Service::ComposePost, api::answering(Arc::new(service)), called.health()))
    })
}

#[async_trait]
impl api::ComposePost for ComposePost {
    /// Makes the parts of a post at once; then stores it, and delivers it first to the author's
    /// timeline, then to those of the followers. If one of these fails, those after it are not made.
    async fn compose(&self, request: Request<ComposeRequest>) -> Result<Response<Nothing>, Status> {
        self.metrics.called(Service::ComposePost);
        let timestamp = now().as_millis() as i64;
        let ComposeRequest { req_id, user_id, username, text, media_ids, media_types, post_type } =
            request.into_inner();
        let creator = Account { user_id, username };
        let (text, creator, media, post_id) = tokio::try_join!(
            self.text.compose(Request::new(TextRequest { text })),
            self.user.creator(Request::new(creator)),
            self.media.compose(Request::new(MediaRequest { media_types, media_ids })),
            self.unique_id.compose(Request::new(UniqueIdRequest { post_type })),
        )?;
        let text = text.into_inner();
        let post_id = post_id.into_inner().id;
        let mentioned_ids = text.user_mentions.iter().map(|user| user.user_id).collect();
        let post = Post {
            post_id,
            creator: Some(creator.into_inner()),
            req_id,
            text: text.text,
            user_mentions: text.user_mentions,
            media: media.into_inner().media,
            urls: text.urls,
            timestamp,
            post_type,
        };
        let (post_storage, user_timeline) =
            (Arc::clone(&self.post_storage), Arc::clone(&self.user_timeline));
        let home_timeline = Arc::clone(&self.home_timeline);
        let delivery = async move {
            post_storage.store(Request::new(post)).await?;
            let entry = UserTimelineEntry { post_id, user_id, timestamp };
            user_timeline.write(Request::new(entry)).await?;
            let entry = HomeTimelineEntry { post_id, user_id, timestamp, mentioned_ids };
            home_timeline.write(Request::new(entry)).await
        };
        self.deliveries.finish(delivery).await
    }
}

impl Deliveries {
    pub fn of(process: &Process) -> Self {
        let room = Arc::new(Semaphore::new(process.arguments.max_calls as usize));
        Deliveries { room, statistics: Arc::clone(&process.statistics) }
    }

    /// Runs a delivery to its end, even if nobody awaits this any more.
    async fn finish(
        &self,
        delivery: impl Future<Output = Result<Response<Nothing>, Status>> + Send + 'static,
    ) -> Result<Response<Nothing>, Status> {
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            self.statistics.refuse();
            return Err(Status::resource_exhausted("too many posts at once: see --max-calls"));
        };
        let task = tokio::spawn(async move {
            let _place = place;
            delivery.await
        });
        task.await.unwrap_or_else(|error| Err(Status::internal(error.to_string())))
    }
}
