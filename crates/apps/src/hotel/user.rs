//! The user service: checks a user's password. It asks the store each time.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::store::PasswordDigestRequest;
use super::api::user::{CheckUserReply, CheckUserRequest};
use super::command::Stateless;
use super::data::hex_digest;
use super::metrics::Metrics;
use super::postgres::Use;
use super::{Process, Service, source};
use crate::kit::process;

pub struct User {
    store: Arc<dyn api::store::Store>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Stateless { store, common }: Stateless) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let (store, health) = source::connect(&store, process, Use::Reads).await?;
        let user = User::new(store, Arc::clone(&process.metrics));
        Ok(process.page(Service::User, api::user::answering(Arc::new(user)), health))
    })
}

impl User {
    pub fn new(store: Arc<dyn api::store::Store>, metrics: Arc<Metrics>) -> Self {
        User { store, metrics }
    }
}

#[async_trait]
impl api::user::User for User {
    /// Compares the digest of the password with the stored one; false for an unknown user.
    async fn check_user(
        &self,
        request: Request<CheckUserRequest>,
    ) -> Result<Response<CheckUserReply>, Status> {
        self.metrics.called(Service::User);
        let CheckUserRequest { username, password } = request.into_inner();
        let asked = Request::new(PasswordDigestRequest { username });
        let stored = self.store.password_digest(asked).await?.into_inner().digest;
        let correct = stored.is_some_and(|stored| stored == hex_digest(password.as_bytes()));
        self.metrics.logged_in(correct);
        Ok(Response::new(CheckUserReply { correct }))
    }
}
