//! The common part of the services of both kinds of timelines: where timelines are kept, and how a page of one
//! is read.

use std::sync::Arc;

use bytes::Bytes;
use tonic::{Request, Response, Status};

use super::Process;
use super::api::common::{Page, PageRequest};
use super::api::post_storage::PostStorage;
use super::api::stored::timelines::{Kind, RangeRequest, Timelines};
use super::bounds::LARGEST_PAGE;
use super::called::Called;
use super::command::StoredTimelines;
use super::redis::{Redis, lag};
use super::rendering::EMPTY;
use crate::kit::events::Events;
use crate::kit::health::Health;

/// The place where timelines are kept, which a process is connected to.
pub struct Kept {
    pub timelines: Arc<dyn Timelines>,
    pub health: Health,
    redis: Option<Arc<Redis>>,
}

/// Connects to Redis, or to the store.
pub async fn kept(
    stored: &StoredTimelines,
    called: &mut Called<'_>,
    process: &Process,
) -> anyhow::Result<Kept> {
    if let Some(redis) = Redis::connect(&stored.redis, process).await? {
        let health = Health::of_part(Arc::clone(&redis) as _);
        return Ok(Kept { timelines: Arc::clone(&redis) as _, health, redis: Some(redis) });
    }
    let store = stored.store.as_ref().expect("the command line needs it without Redis");
    let timelines = called.to("store", store).await?;
    Ok(Kept { timelines, health: Health::default(), redis: None })
}

impl Kept {
    /// Begins to watch the replicas, if there are any.
    pub fn watch(&self, process: &Process) -> anyhow::Result<()> {
        if let Some(redis) = self.redis.clone() {
            let events = Events::beside(process.arguments.statistics.as_deref())?;
            tokio::spawn(lag::watch(redis, Arc::clone(&process.metrics), events));
        }
        Ok(())
    }
}

/// Returns the posts from `start` to the one before `stop`, newest first.
pub async fn page(
    timelines: &dyn Timelines,
    posts: &dyn PostStorage,
    kind: Kind,
    PageRequest { user_id, start, stop }: PageRequest,
) -> Result<Response<Page>, Status> {
    let empty = || Ok(Response::new(Page { json: Bytes::from_static(EMPTY.as_bytes()), posts: 0 }));
    let (Ok(start), Ok(stop)) = (u64::try_from(start), u64::try_from(stop)) else {
        return empty();
    };
    if stop <= start {
        return empty();
    }
    if LARGEST_PAGE < stop - start {
        let text = format!("at most {LARGEST_PAGE} posts at once, not {}", stop - start);
        return Err(Status::invalid_argument(text));
    }
    let range = RangeRequest { kind: kind.into(), user_id, start, stop };
    let ids = timelines.range(Request::new(range)).await?.into_inner();
    match ids.ids.is_empty() {
        true => empty(),
        false => posts.read(Request::new(ids)).await,
    }
}
