//! The user service: is this the user's password? It asks the store each time.

use std::sync::Arc;

use super::metrics::{Metrics, Service};
use super::status::Status;
use super::store::{Store, hex_digest};

pub struct CheckUserRequest<'a> {
    pub username: &'a str,
    pub password: &'a str,
}

pub struct CheckUserReply {
    pub correct: bool,
}

pub struct User {
    store: Arc<Store>,
    metrics: Arc<Metrics>,
}

impl User {
    pub fn new(store: Arc<Store>, metrics: Arc<Metrics>) -> Self {
        User { store, metrics }
    }

    /// Compares the digest of the password with the stored one. An unknown user is not correct.
    pub fn check_user(&self, request: CheckUserRequest<'_>) -> Result<CheckUserReply, Status> {
        self.metrics.called(Service::User);
        let stored = self.store.password_digest(request.username)?;
        let correct =
            stored.is_some_and(|stored| stored == hex_digest(request.password.as_bytes()));
        self.metrics.logged_in(correct);
        Ok(CheckUserReply { correct })
    }
}
