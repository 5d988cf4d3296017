//! The users service of guide 4, compatible with piper-kt's: registration, logins that hash with
//! bcrypt, and JSON web tokens. A login costs four reads and one write of the store, as there.
//!
//! Deliberate differences from the original: names are indexed; a missing user is 404 on every
//! route; a password has at most 72 bytes, because bcrypt ignores what follows; texts have bounds;
//! nothing is published to a broker; and, unless `--overload queue` and `--health-on-service-port`
//! are given, a full service refuses logins at once, and its health does not wait behind hashing.

use crate::kit;
use store::StoreArguments;

pub mod command;
pub mod site;

pub mod account;
pub mod health;
pub mod tokens;

pub mod postgres;
pub mod store;

pub mod api;
pub mod metrics;

kit::services::services! {
    "users":
    /// The users of several replicas of the service: a durable database in a process of its own.
    Store(StoreArguments) in store,
}

/// A process of this application.
pub type Process = kit::process::Process<metrics::Metrics>;
