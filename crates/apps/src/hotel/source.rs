//! The source of an instance's state: the store's process, or PostgreSQL.

use std::str::FromStr;
use std::sync::Arc;

use anyhow::anyhow;
use tonic::Status;

use super::Process;
use super::api::store::Store;
use super::postgres::{Postgres, Use};
use crate::kit::arguments::Common;
use crate::kit::health::Health;
use crate::kit::postgres::Database;
use crate::kit::rpc::{Addresses, Remote};

/// A source as written on a command line: `127.0.0.1:7000`, or
/// `postgres://USER@HOST:PORT/DATABASE`.
#[derive(Clone, Debug)]
pub enum Source {
    Process(Addresses),
    Postgres(Database),
}

impl FromStr for Source {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let is_database = ["postgres://", "postgresql://"].iter().any(|one| text.starts_with(one));
        match is_database {
            true => text.parse().map(Source::Postgres),
            false => text.parse().map(Source::Process),
        }
    }
}

impl Source {
    /// Connects to the store; returns it with its health.
    pub async fn connect(
        &self,
        process: &Process,
        purpose: Use,
    ) -> anyhow::Result<(Arc<dyn Store>, Health)> {
        match self {
            Source::Process(addresses) => {
                let peers = process.peers("store", addresses).await?;
                Ok((Arc::new(Remote(peers.clone())), Health::of_peers(vec![peers])))
            }
            Source::Postgres(database) => {
                let statistics = Arc::clone(&process.statistics);
                let Common { deadline, start_within, .. } = process.arguments;
                let times = (deadline, start_within);
                let found = Postgres::connect(database, purpose, times, statistics).await?;
                let found = Arc::new(found);
                Ok((Arc::clone(&found) as _, Health::of_part(found)))
            }
        }
    }
}

/// Turns the reply to a service that loads its data into a reason why it cannot start.
pub(super) fn loaded<T>(reply: Result<T, Status>) -> anyhow::Result<T> {
    reply.map_err(|status| {
        anyhow!("loading from the store: {:?}: {}", status.code(), status.message())
    })
}
