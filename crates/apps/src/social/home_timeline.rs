//! The home-timeline service: for each user the posts of those whom the user follows, and those that
//! mention the user. A post is delivered to all of them when it is written.

use std::sync::Arc;

use clap::Args;
use tonic::{Request, Response, Status, async_trait};

use super::api::common::{Nothing, Page, PageRequest};
use super::api::home_timeline::{self as api, HomeTimelineEntry};
use super::api::post_storage::PostStorage;
use super::api::social_graph::{SocialGraph, UserId};
use super::api::stored::timelines::{Addition, Kind, Timelines};
use super::called::Called;
use super::command::StoredTimelines;
use super::metrics::Metrics;
use super::{Process, Service, timeline};
use crate::kit::process;
use crate::kit::rpc::Addresses;

/// The most users of one call of the store: a request has at most 64 KiB, and a number 10 bytes.
const TOGETHER: usize = 4000;

#[derive(Args)]
pub struct Arguments {
    #[arg(long, value_name = "ADDRESSES")]
    post_storage: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    social_graph: Addresses,

    #[command(flatten)]
    stored: StoredTimelines,
}

pub struct HomeTimeline {
    store: Arc<dyn Timelines>,
    posts: Arc<dyn PostStorage>,
    graph: Arc<dyn SocialGraph>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { post_storage, social_graph, stored } = arguments;
    process::run(stored.common.clone(), async |process: &Process| {
        let mut called = Called::by(process);
        let kept = timeline::kept(&stored, &mut called, process).await?;
        kept.watch(process)?;
        let posts = called.to("post-storage", &post_storage).await?;
        let graph = called.to("social-graph", &social_graph).await?;
        let service = HomeTimeline::new(kept.timelines, posts, graph, Arc::clone(&process.metrics));
        let health = called.health().and(kept.health);
        Ok(process.page(Service::HomeTimeline, api::answering(Arc::new(service)), health))
    })
}

impl HomeTimeline {
    pub fn new(
        store: Arc<dyn Timelines>,
        posts: Arc<dyn PostStorage>,
        graph: Arc<dyn SocialGraph>,
        metrics: Arc<Metrics>,
    ) -> Self {
        HomeTimeline { store, posts, graph, metrics }
    }
}

#[async_trait]
impl api::HomeTimeline for HomeTimeline {
    /// Adds a post to the timelines of the author's followers and of the mentioned users.
    async fn write(
        &self,
        request: Request<HomeTimelineEntry>,
    ) -> Result<Response<Nothing>, Status> {
        self.metrics.called(Service::HomeTimeline);
        let HomeTimelineEntry { post_id, user_id, timestamp, mentioned_ids } = request.into_inner();
        let followers = self.graph.followers(Request::new(UserId { user_id })).await?;
        let mut users = followers.into_inner().ids;
        users.extend(mentioned_ids);
        users.sort_unstable();
        users.dedup();
        for users in users.chunks(TOGETHER) {
            let (kind, user_ids) = (Kind::Home.into(), users.to_vec());
            let addition = Addition { kind, post_id, timestamp, user_ids };
            self.store.add(Request::new(addition)).await?;
        }
        Ok(Response::new(Nothing {}))
    }

    async fn read(&self, request: Request<PageRequest>) -> Result<Response<Page>, Status> {
        self.metrics.called(Service::HomeTimeline);
        timeline::page(&*self.store, &*self.posts, Kind::Home, request.into_inner()).await
    }
}
