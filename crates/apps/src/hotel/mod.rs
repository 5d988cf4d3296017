//! The hotel-reservation application of guide 1, compatible with DeathStarBench's of 2022.
//!
//! One module per service, with the requests and replies of the original's calls, so that a
//! service can become a process without its callers noticing. Calls go down this list only:
//! the frontend calls services, search calls geo and rate, and services ask the store.
//!
//! Deliberate differences from the original: checking for rooms and taking them is one act; a
//! failed login makes no reservation; an unknown hotel, a negative number of rooms or a stay of
//! more than 366 nights is refused and harms nobody; a reservation of no rooms leaves no document.

pub mod frontend;
pub mod query;

pub mod search;

pub mod geo;
pub mod profile;
pub mod rate;
pub mod recommendation;
pub mod reservation;
pub mod user;

pub mod status;
pub mod stay;

pub mod data;
pub mod folder;
pub mod store;

pub mod metrics;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

use self::folder::Folder;
use self::frontend::Frontend;
use self::geo::Geo;
use self::metrics::Metrics;
use self::profile::Profile;
use self::rate::Rate;
use self::recommendation::Recommendation;
use self::reservation::Reservation;
use self::search::Search;
pub use self::store::Durability;
use self::store::Store;
use self::user::User;
use crate::serve;

/// How long what runs beside the requests may take to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the command line says.
pub struct Options {
    pub listen: SocketAddr,
    /// Where to keep the data; a temporary folder if nowhere.
    pub data: Option<PathBuf>,
    pub durability: Durability,
    pub max_connections: usize,
}

/// Runs all services in this process until it is told to end.
///
/// One thread serves: its requests never wait for each other's locks, and a core is enough for
/// more requests than a reference needs.
pub fn all_in_one(options: Options) -> anyhow::Result<()> {
    let folder = Folder::choose(options.data)?;
    let store = Arc::new(Store::open(folder.path(), options.durability)?);
    let frontend = Arc::new(assemble(Arc::clone(&store))?);
    let runtime = Builder::new_current_thread().enable_all().build().context("starting")?;
    let served = serve(&runtime, options.listen, options.max_connections, frontend);
    runtime.shutdown_timeout(PATIENCE);
    drop(store);
    drop(folder);
    served
}

/// Connects the services as one would connect processes.
pub fn assemble(store: Arc<Store>) -> anyhow::Result<Frontend> {
    let metrics = Arc::new(Metrics::default());
    let counted = || Arc::clone(&metrics);
    let geo = Geo::new(store.places()?, counted());
    let rate = Rate::new(store.rates()?, counted());
    Ok(Frontend {
        search: Search::new(geo, rate, counted()),
        profile: Profile::new(store.profiles()?, counted()),
        recommendation: Recommendation::new(&store.candidates()?, counted()),
        user: User::new(Arc::clone(&store), counted()),
        reservation: Reservation::new(Arc::clone(&store), counted()),
        store,
        metrics,
    })
}

fn serve(
    runtime: &Runtime,
    listen: SocketAddr,
    max_connections: usize,
    frontend: Arc<Frontend>,
) -> anyhow::Result<()> {
    runtime.block_on(async {
        let ending = serve::told_to_end()?;
        let listener = serve::listen(listen).await?;
        say_ready(listener.local_addr()?);
        let limits = serve::Limits { connections: max_connections, ..serve::Limits::default() };
        serve::until(ending, listener, limits, frontend).await;
        Ok(())
    })
}

/// Whoever started us waits for this line. If nobody reads it, we serve all the same.
fn say_ready(address: SocketAddr) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "ready http://{address}").and_then(|()| out.flush());
}
