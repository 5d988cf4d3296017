//! The social-graph service: who follows whom. Numbers of users are taken as they are, as in the
//! original; names must be registered.

use std::sync::Arc;

use clap::Args;
use tonic::{Request, Response, Status, async_trait};

use super::api::common::{Ids, Nothing};
use super::api::social_graph::{self as api, Edge, NamedEdge, UserId};
use super::api::stored::graph::Graph;
use super::api::user::{Named, User};
use super::called::Called;
use super::command::Stored;
use super::metrics::Metrics;
use super::postgres::Use;
use super::{Process, Service};
use crate::kit::process;
use crate::kit::rpc::Addresses;

#[derive(Args)]
pub struct Arguments {
    #[arg(long, value_name = "ADDRESSES")]
    user: Addresses,

    #[command(flatten)]
    stored: Stored,
}

pub struct SocialGraph {
    store: Arc<dyn Graph>,
    user: Arc<dyn User>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Arguments { user, stored }: Arguments) -> anyhow::Result<()> {
    let Stored { documents, common } = stored;
    process::run(common, async |process: &Process| {
        let mut called = Called::by(process);
        let store = called.documents(&documents, Use::Writes).await?;
        let user = called.to("user", &user).await?;
        let service = SocialGraph::new(store, user, Arc::clone(&process.metrics));
        Ok(process.page(Service::SocialGraph, api::answering(Arc::new(service)), called.health()))
    })
}

impl SocialGraph {
    pub fn new(store: Arc<dyn Graph>, user: Arc<dyn User>, metrics: Arc<Metrics>) -> Self {
        SocialGraph { store, user, metrics }
    }

    /// Returns the edge between two names, which must be registered.
    async fn edge(
        &self,
        NamedEdge { user_name, followee_name }: NamedEdge,
    ) -> Result<Edge, Status> {
        let user = self.user.number(Request::new(Named { username: user_name }));
        let followee = self.user.number(Request::new(Named { username: followee_name }));
        let (user, followee) = tokio::try_join!(user, followee)?;
        let (user_id, followee_id) = (user.get_ref().user_id, followee.get_ref().user_id);
        Ok(Edge { user_id, followee_id })
    }
}

#[async_trait]
impl api::SocialGraph for SocialGraph {
    async fn follow(&self, request: Request<Edge>) -> Result<Response<Nothing>, Status> {
        self.metrics.called(Service::SocialGraph);
        self.store.add(request).await
    }

    async fn unfollow(&self, request: Request<Edge>) -> Result<Response<Nothing>, Status> {
        self.metrics.called(Service::SocialGraph);
        self.store.remove(request).await
    }

    async fn follow_by_name(
        &self,
        request: Request<NamedEdge>,
    ) -> Result<Response<Nothing>, Status> {
        let edge = self.edge(request.into_inner()).await?;
        self.follow(Request::new(edge)).await
    }

    async fn unfollow_by_name(
        &self,
        request: Request<NamedEdge>,
    ) -> Result<Response<Nothing>, Status> {
        let edge = self.edge(request.into_inner()).await?;
        self.unfollow(Request::new(edge)).await
    }

    async fn followers(&self, request: Request<UserId>) -> Result<Response<Ids>, Status> {
        self.metrics.called(Service::SocialGraph);
        self.store.followers(request).await
    }

    async fn followees(&self, request: Request<UserId>) -> Result<Response<Ids>, Status> {
        self.metrics.called(Service::SocialGraph);
        self.store.followees(request).await
    }
}
