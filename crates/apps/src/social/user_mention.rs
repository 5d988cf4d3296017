//! The user-mention service: the users that a text mentions.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api::stored::users::{Names, Users};
use super::api::user_mention::{self as api, MentionsReply, MentionsRequest};
use super::called::Called;
use super::command::Stored;
use super::metrics::Metrics;
use super::postgres::Use;
use super::{Process, Service};
use crate::kit::process;

pub struct UserMention {
    store: Arc<dyn Users>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Stored { documents, common }: Stored) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let mut called = Called::by(process);
        let store = called.documents(&documents, Use::Reads).await?;
        let service = Arc::new(UserMention::new(store, Arc::clone(&process.metrics)));
        Ok(process.page(Service::UserMention, api::answering(service), called.health()))
    })
}

impl UserMention {
    pub fn new(store: Arc<dyn Users>, metrics: Arc<Metrics>) -> Self {
        UserMention { store, metrics }
    }
}

#[async_trait]
impl api::UserMention for UserMention {
    /// Returns each known user once, in the order of the names; unknown names are left out.
    async fn compose(
        &self,
        request: Request<MentionsRequest>,
    ) -> Result<Response<MentionsReply>, Status> {
        self.metrics.called(Service::UserMention);
        let mut usernames = Vec::new();
        for name in request.into_inner().usernames {
            if !usernames.contains(&name) {
                usernames.push(name);
            }
        }
        let user_mentions = match usernames.is_empty() {
            true => Vec::new(),
            false => self.store.known(Request::new(Names { usernames })).await?.into_inner().users,
        };
        Ok(Response::new(MentionsReply { user_mentions }))
    }
}
