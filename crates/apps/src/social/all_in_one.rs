//! All services of the application in one process: each call is a function call.

use std::sync::Arc;

use clap::Args;

use super::command::StoreArguments;
use super::compose_post::{ComposePost, Deliveries};
use super::front::{self, Front};
use super::home_timeline::HomeTimeline;
use super::media::Media;
use super::post_storage::PostStorage;
use super::social_graph::SocialGraph;
use super::store::Embedded;
use super::text::{Tail, Text};
use super::unique_id::{Machine, UniqueId};
use super::url_shorten::UrlShorten;
use super::user::{self, User};
use super::user_mention::UserMention;
use super::user_timeline::UserTimeline;
use super::{Process, Service, api};
use crate::kit::arguments::Common;
use crate::kit::folder::Folder;
use crate::kit::health::Health;
use crate::kit::process;
use crate::kit::services::Service as _;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    front: front::Quirks,

    #[command(flatten)]
    user: user::Security,

    #[command(flatten)]
    tail: Tail,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    common: Common,
}

/// Runs the process until a signal ends it.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let common = arguments.common.clone();
    // It is removed when nothing writes into it any more.
    let folder = Folder::choose(Service::APPLICATION, arguments.store.data.clone())?;
    process::run(common, async |process: &Process| {
        let store = Arc::new(Embedded::open(folder.path(), &arguments.store)?);
        assemble(process, store, &arguments).await
    })
}

/// Returns the front over all services.
async fn assemble(
    process: &Process,
    store: Arc<Embedded>,
    arguments: &Arguments,
) -> anyhow::Result<Front> {
    let metrics = || Arc::clone(&process.metrics);
    let stored = || Arc::clone(&store);
    let user = User::start(process, stored(), &arguments.user, arguments.machine).await?;
    let user: Arc<dyn api::user::User> = Arc::new(user);
    let post_storage: Arc<dyn api::post_storage::PostStorage> =
        Arc::new(PostStorage::new(stored(), metrics()));
    let social_graph: Arc<dyn api::social_graph::SocialGraph> =
        Arc::new(SocialGraph::new(stored(), Arc::clone(&user), metrics()));
    let user_timeline: Arc<dyn api::user_timeline::UserTimeline> =
        Arc::new(UserTimeline::new(stored(), Arc::clone(&post_storage), metrics()));
    let home_timeline: Arc<dyn api::home_timeline::HomeTimeline> = Arc::new(HomeTimeline::new(
        stored(),
        Arc::clone(&post_storage),
        Arc::clone(&social_graph),
        metrics(),
    ));
    let url_shorten = Arc::new(UrlShorten::new(stored(), metrics()));
    let user_mention = Arc::new(UserMention::new(stored(), metrics()));
    let compose_post = ComposePost {
        text: Arc::new(Text::new(url_shorten, user_mention, arguments.tail, metrics())),
        user: Arc::clone(&user),
        media: Arc::new(Media::new(metrics())),
        unique_id: Arc::new(UniqueId::new(arguments.machine, metrics())?),
        post_storage,
        user_timeline: Arc::clone(&user_timeline),
        home_timeline: Arc::clone(&home_timeline),
        deliveries: Deliveries::of(process),
        metrics: metrics(),
    };
    Ok(Front {
        user,
        social_graph,
        compose_post: Arc::new(compose_post),
        user_timeline,
        home_timeline,
        store: stored(),
        quirks: arguments.front,
        address: arguments.common.listen.ip(),
        health: Health::of_part(store),
        metrics: metrics(),
    })
}
