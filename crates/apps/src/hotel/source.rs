//! The connection to an instance's state: the store's process, or PostgreSQL.

use std::sync::Arc;

use anyhow::anyhow;
use tonic::Status;

use super::Process;
use super::api::store::Store;
use super::postgres::{Postgres, Use};
use crate::kit::arguments::Common;
use crate::kit::health::Health;
use crate::kit::rpc::Remote;
use crate::kit::source::Source;

/// Connects to the store; returns it with its health.
pub async fn connect(
    source: &Source,
    process: &Process,
    purpose: Use,
) -> anyhow::Result<(Arc<dyn Store>, Health)> {
    match source {
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

/// Turns the reply to a service that loads its data into a reason why it cannot start.
pub(super) fn loaded<T>(reply: Result<T, Status>) -> anyhow::Result<T> {
    reply.map_err(|status| {
        anyhow!("loading from the store: {:?}: {}", status.code(), status.message())
    })
}
