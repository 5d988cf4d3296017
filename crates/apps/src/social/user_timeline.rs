//! The user-timeline service: the posts of a user.

use std::sync::Arc;

use clap::Args;
use tonic::{Request, Response, Status, async_trait};

use super::api::common::{Nothing, Page, PageRequest};
use super::api::post_storage::PostStorage;
use super::api::stored::timelines::{Addition, Kind, Timelines};
use super::api::user_timeline::{self as api, UserTimelineEntry};
use super::called::Called;
use super::command::StoredTimelines;
use super::metrics::Metrics;
use super::{Process, Service, timeline};
use crate::kit::process;
use crate::kit::rpc::Addresses;

#[derive(Args)]
pub struct Arguments {
    #[arg(long, value_name = "ADDRESSES")]
    post_storage: Addresses,

    #[command(flatten)]
    stored: StoredTimelines,
}

pub struct UserTimeline {
    store: Arc<dyn Timelines>,
    posts: Arc<dyn PostStorage>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Arguments { post_storage, stored }: Arguments) -> anyhow::Result<()> {
    process::run(stored.common.clone(), async |process: &Process| {
        let mut called = Called::by(process);
        let kept = timeline::kept(&stored, &mut called, process).await?;
        let posts = called.to("post-storage", &post_storage).await?;
        let service = UserTimeline::new(kept.timelines, posts, Arc::clone(&process.metrics));
        let health = called.health().and(kept.health);
        Ok(process.page(Service::UserTimeline, api::answering(Arc::new(service)), health))
    })
}

impl UserTimeline {
    pub fn new(
        store: Arc<dyn Timelines>,
        posts: Arc<dyn PostStorage>,
        metrics: Arc<Metrics>,
    ) -> Self {
        UserTimeline { store, posts, metrics }
    }
}

#[async_trait]
impl api::UserTimeline for UserTimeline {
    async fn write(
        &self,
        request: Request<UserTimelineEntry>,
    ) -> Result<Response<Nothing>, Status> {
        self.metrics.called(Service::UserTimeline);
        let UserTimelineEntry { post_id, user_id, timestamp } = request.into_inner();
        let kind = Kind::User.into();
        let addition = Addition { kind, post_id, timestamp, user_ids: vec![user_id] };
        self.store.add(Request::new(addition)).await
    }

    async fn read(&self, request: Request<PageRequest>) -> Result<Response<Page>, Status> {
        self.metrics.called(Service::UserTimeline);
        timeline::page(&*self.store, &*self.posts, Kind::User, request.into_inner()).await
    }
}
