//! A process of an application: its connections, what it serves, and how it ends.

use std::future::pending;
use std::io::Write;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::Builder;

use super::arguments::Common;
use super::health::Health;
use super::metrics::Metrics;
use super::page::Page;
use super::rpc::{Addresses, Answering, Calls, Peers};
use super::serve::{self, Limits, Site};
use super::statistics::{self, Statistics};

/// The longest time for background tasks to end.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The parts that every process has.
pub struct Process<M> {
    pub arguments: Common,
    pub metrics: Arc<M>,
    pub statistics: Arc<Statistics>,
}

/// A site while its parts are connected. Services differ only in this part of their start, so the
/// rest is compiled once for all that have the same site.
type Assembling<'a, S> = Pin<Box<dyn Future<Output = anyhow::Result<S>> + 'a>>;

/// Serves the site that `assemble` returns until a signal ends the process.
///
/// One thread serves: its requests never wait for each other's locks. For more threads, use
/// replicas.
pub fn run<M: Metrics, S: Site>(
    arguments: Common,
    assemble: impl AsyncFnOnce(&Process<M>) -> anyhow::Result<S>,
) -> anyhow::Result<()> {
    let process = Process { arguments, metrics: Arc::default(), statistics: Arc::default() };
    serve_on_one_thread(&process, Box::pin(assemble(&process)))
}

fn serve_on_one_thread<M: Metrics, S: Site>(
    process: &Process<M>,
    site: Assembling<'_, S>,
) -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build().context("starting")?;
    let served = runtime.block_on(assemble_and_serve(process, site));
    runtime.shutdown_timeout(TIMEOUT);
    served
}

async fn assemble_and_serve<M: Metrics, S: Site>(
    process: &Process<M>,
    site: Assembling<'_, S>,
) -> anyhow::Result<()> {
    let mut ending = pin!(serve::told_to_end()?);
    let listener = serve::listen(process.arguments.listen).await?;
    let address = listener.local_addr()?;
    let site = tokio::select! {
        site = site => Arc::new(site?),
        () = ending.as_mut() => return Ok(()),
    };
    say_ready(address);
    let limits = Limits {
        connections: process.arguments.max_connections as usize,
        delay: process.arguments.delay,
        ..Limits::default()
    };
    let statistics = Arc::clone(&process.statistics);
    tokio::select! {
        () = serve::until(ending, listener, limits, statistics, site) => Ok(()),
        kept = process.write_statistics() => kept,
    }
}

impl<M: Metrics> Process<M> {
    /// Connects to the replicas of another service.
    pub async fn peers(
        &self,
        service: &'static str,
        addresses: &Addresses,
    ) -> anyhow::Result<Peers> {
        let statistics = Arc::clone(&self.statistics);
        let Common { deadline, start_within, .. } = self.arguments;
        Peers::connect(service, addresses, deadline, start_within, statistics).await
    }

    /// Returns the site of a service that answers calls.
    pub fn page(&self, service: M::Service, answering: Answering, health: Health) -> Page<M> {
        let metrics = Arc::clone(&self.metrics);
        let ended = move |code, took| metrics.basic().ended(service, code, took);
        let Common { max_calls, delay, .. } = self.arguments;
        let statistics = Arc::clone(&self.statistics);
        let calls = Calls::new(answering, statistics, max_calls as usize, delay, ended);
        Page { health, metrics: Arc::clone(&self.metrics), calls }
    }

    async fn write_statistics(&self) -> anyhow::Result<()> {
        match &self.arguments.statistics {
            Some(path) => statistics::keep(Arc::clone(&self.statistics), path).await,
            None => pending().await,
        }
    }
}

/// Prints the line that the parent process waits for. If the line cannot be written, we serve
/// anyway.
fn say_ready(address: SocketAddr) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "ready http://{address}").and_then(|()| out.flush());
}
