//! A process of the application: its connections, what it serves, and how it ends.

use std::future::pending;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::runtime::Builder;
use tonic::{Request, Status};

use super::folder::Folder;
use super::health::Health;
use super::memcached::{Memcached, Servers};
use super::page::Page;
use super::rpc::{Addresses, Answering, Calls, Peers, Remote};
use super::serve::{self, Limits};
use super::statistics::{self, Statistics};
use crate::hotel::api;
use crate::hotel::api::store::Nothing;
use crate::hotel::attractions::Attractions;
use crate::hotel::documents::{Cached, Document, Documents};
use crate::hotel::frontend::Frontend;
use crate::hotel::geo::Geo;
use crate::hotel::metrics::{Metrics, Service};
use crate::hotel::postgres::{Postgres, Use};
use crate::hotel::profile::Profile;
use crate::hotel::rate::Rate;
use crate::hotel::recommendation::Recommendation;
use crate::hotel::reservation::Reservation;
use crate::hotel::review::Review;
use crate::hotel::search::Search;
use crate::hotel::source::Source;
use crate::hotel::store::{Durability, Embedded};
use crate::hotel::user::User;

/// The longest time for background tasks to end.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The options that every process has.
#[derive(Clone, Debug)]
pub struct Options {
    pub listen: SocketAddr,
    pub max_connections: usize,
    /// Further calls are refused while this many are in progress.
    pub max_calls: usize,
    /// The longest time for a call of another process.
    pub deadline: Duration,
    /// For tests: every request blocks the only thread for this time.
    pub delay: Option<Duration>,
    /// The file for its statistics.
    pub statistics: Option<PathBuf>,
}

/// The place and durability of the data.
#[derive(Clone, Debug)]
pub struct Data {
    /// The folder; a temporary one if `None`.
    pub folder: Option<PathBuf>,
    pub durability: Durability,
}

/// The role of a process.
#[derive(Clone, Debug)]
pub enum Role {
    AllInOne(Data),
    Store(Data),
    Geo { store: Source },
    Rate(Kept),
    Profile(Kept),
    Recommendation { store: Source },
    User { store: Source },
    Reservation { store: Source },
    Review(Kept),
    Attractions { store: Source },
    Search { geo: Addresses, rate: Addresses },
    Frontend(Below),
}

/// The services that a frontend calls.
#[derive(Clone, Debug)]
pub struct Below {
    pub search: Addresses,
    pub profile: Addresses,
    pub recommendation: Addresses,
    pub user: Addresses,
    pub reservation: Addresses,
    pub review: Option<Addresses>,
    pub attractions: Option<Addresses>,
    pub store: Source,
}

/// The place of documents that never change.
#[derive(Clone, Debug)]
pub struct Kept {
    pub store: Source,
    /// The cache; if `None`, all of them are kept in memory.
    pub cache: Option<Cache>,
}

/// A cache, and the longest time for its responses.
#[derive(Clone, Debug)]
pub struct Cache {
    pub servers: Servers,
    pub timeout: Duration,
}

/// The HTTP/1.1 side of a process.
enum Served {
    Frontend(Arc<Frontend>),
    Page(Arc<Page>),
}

/// Runs until a signal ends it.
///
/// One thread serves: its requests never wait for each other's locks. For more threads, use
/// replicas.
pub fn run(options: Options, role: Role) -> anyhow::Result<()> {
    let folder = role.data().map(|data| Folder::choose(data.folder.clone())).transpose()?;
    let runtime = Builder::new_current_thread().enable_all().build().context("starting")?;
    let served = runtime.block_on(serve_role(options, role, folder.as_ref()));
    runtime.shutdown_timeout(TIMEOUT);
    // The folder is removed when nothing writes into it any more.
    drop(folder);
    served
}

async fn serve_role(options: Options, role: Role, folder: Option<&Folder>) -> anyhow::Result<()> {
    let mut ending = pin!(serve::told_to_end()?);
    let listener = serve::listen(options.listen).await?;
    let address = listener.local_addr()?;
    let process = Process { options, metrics: Arc::default(), statistics: Arc::default() };
    let served = tokio::select! {
        served = process.assemble(role, folder) => served?,
        () = ending.as_mut() => return Ok(()),
    };
    say_ready(address);
    let limits = Limits {
        connections: process.options.max_connections,
        delay: process.options.delay,
        ..Limits::default()
    };
    let statistics = || Arc::clone(&process.statistics);
    let serving = async {
        match served {
            Served::Frontend(site) => {
                serve::until(ending, listener, limits, statistics(), site).await
            }
            Served::Page(site) => serve::until(ending, listener, limits, statistics(), site).await,
        }
    };
    tokio::select! {
        () = serving => Ok(()),
        kept = process.write_statistics() => kept,
    }
}

impl Role {
    fn data(&self) -> Option<&Data> {
        match self {
            Role::AllInOne(data) | Role::Store(data) => Some(data),
            _ => None,
        }
    }
}

struct Process {
    options: Options,
    metrics: Arc<Metrics>,
    statistics: Arc<Statistics>,
}

impl Process {
    async fn assemble(&self, role: Role, folder: Option<&Folder>) -> anyhow::Result<Served> {
        let metrics = || Arc::clone(&self.metrics);
        Ok(match role {
            Role::AllInOne(data) => {
                let store = open(folder, data)?;
                let health = Health::of_store(Arc::clone(&store));
                let frontend = all_in_one(store, health, metrics()).await?;
                Served::Frontend(Arc::new(frontend))
            }
            Role::Frontend(below) => Served::Frontend(Arc::new(self.frontend(&below).await?)),
            Role::Store(data) => {
                let store = open(folder, data)?;
                let health = Health::of_store(Arc::clone(&store));
                self.page(Service::Store, api::store::answering(store), health)
            }
            Role::Search { geo, rate } => {
                let (geo, rate) =
                    (self.peers("geo", &geo).await?, self.peers("rate", &rate).await?);
                let health = Health::of_peers(vec![geo.clone(), rate.clone()]);
                let search = Search::new(remote(geo), remote(rate), metrics());
                self.page(Service::Search, api::search::answering(Arc::new(search)), health)
            }
            Role::Geo { store } => {
                let (store, health) = self.store(&store, Use::Reads).await?;
                let geo = geo(&*store, metrics()).await?;
                self.page(Service::Geo, api::geo::answering(Arc::new(geo)), health)
            }
            Role::Rate(kept) => {
                let (documents, health) = self.documents(&kept).await?;
                let rate = Rate::new(documents, metrics());
                self.page(Service::Rate, api::rate::answering(Arc::new(rate)), health)
            }
            Role::Profile(kept) => {
                let (documents, health) = self.documents(&kept).await?;
                let profile = Profile::new(documents, metrics());
                self.page(Service::Profile, api::profile::answering(Arc::new(profile)), health)
            }
            Role::Recommendation { store } => {
                let (store, health) = self.store(&store, Use::Reads).await?;
                let recommendation = recommendation(&*store, metrics()).await?;
                let server = api::recommendation::answering(Arc::new(recommendation));
                self.page(Service::Recommendation, server, health)
            }
            Role::User { store } => {
                let (store, health) = self.store(&store, Use::Reads).await?;
                let user = User::new(store, metrics());
                self.page(Service::User, api::user::answering(Arc::new(user)), health)
            }
            Role::Reservation { store } => {
                let (store, health) = self.store(&store, Use::Books).await?;
                let reservation = Reservation::new(store, metrics());
                self.page(
                    Service::Reservation,
                    api::reservation::answering(Arc::new(reservation)),
                    health,
                )
            }
            Role::Review(kept) => {
                let (documents, health) = self.documents(&kept).await?;
                let review = Review::new(documents, metrics());
                self.page(Service::Review, api::review::answering(Arc::new(review)), health)
            }
            Role::Attractions { store } => {
                let (store, health) = self.store(&store, Use::Reads).await?;
                let attractions = attractions(&*store, metrics()).await?;
                self.page(
                    Service::Attractions,
                    api::attractions::answering(Arc::new(attractions)),
                    health,
                )
            }
        })
    }

    async fn frontend(&self, below: &Below) -> anyhow::Result<Frontend> {
        let mut needed = Vec::new();
        let mut called = async |service, addresses: &Addresses| {
            let peers = self.peers(service, addresses).await?;
            needed.push(peers.clone());
            anyhow::Ok(remote(peers))
        };
        let search = called("search", &below.search).await?;
        let profile = called("profile", &below.profile).await?;
        let recommendation = called("recommendation", &below.recommendation).await?;
        let user = called("user", &below.user).await?;
        let reservation = called("reservation", &below.reservation).await?;
        let (store, of_store) = self.store(&below.store, Use::Reads).await?;
        let review: Option<Arc<dyn api::review::Review>> = match &below.review {
            Some(addresses) => Some(called("review", addresses).await?),
            None => None,
        };
        let attractions: Option<Arc<dyn api::attractions::Attractions>> = match &below.attractions {
            Some(addresses) => Some(called("attractions", addresses).await?),
            None => None,
        };
        Ok(Frontend {
            search,
            profile,
            recommendation,
            user,
            reservation,
            review,
            attractions,
            store,
            health: Health::of_peers(needed).and(of_store),
            metrics: Arc::clone(&self.metrics),
        })
    }

    async fn peers(&self, service: &'static str, addresses: &Addresses) -> anyhow::Result<Peers> {
        let statistics = Arc::clone(&self.statistics);
        Peers::connect(service, addresses, self.options.deadline, statistics).await
    }

    async fn store(
        &self,
        source: &Source,
        purpose: Use,
    ) -> anyhow::Result<(Arc<dyn api::store::Store>, Health)> {
        match source {
            Source::Process(addresses) => {
                let peers = self.peers("store", addresses).await?;
                Ok((remote(peers.clone()), Health::of_peers(vec![peers])))
            }
            Source::Postgres(database) => {
                let (deadline, statistics) = (self.options.deadline, Arc::clone(&self.statistics));
                let found = Postgres::connect(database, purpose, deadline, statistics).await?;
                let found = Arc::new(found);
                Ok((Arc::clone(&found) as _, Health::of_database(found)))
            }
        }
    }

    async fn documents<T: Document>(&self, kept: &Kept) -> anyhow::Result<(Documents<T>, Health)> {
        let (store, health) = self.store(&kept.store, Use::Reads).await?;
        let documents = match &kept.cache {
            None => loaded(Documents::in_memory(&*store).await)?,
            Some(Cache { servers, timeout }) => {
                let cache = Memcached::new(servers, *timeout, Arc::clone(&self.statistics));
                Documents::Cached(Cached { cache, store, metrics: Arc::clone(&self.metrics) })
            }
        };
        Ok((documents, health))
    }

    fn page(&self, service: Service, answering: Answering, health: Health) -> Served {
        let ended = Arc::clone(&self.metrics);
        let ended = move |code, took| ended.ended(service, code, took);
        let Options { max_calls, delay, .. } = self.options;
        let calls = Calls::new(answering, Arc::clone(&self.statistics), max_calls, delay, ended);
        Served::Page(Arc::new(Page { health, metrics: Arc::clone(&self.metrics), calls }))
    }

    async fn write_statistics(&self) -> anyhow::Result<()> {
        match &self.options.statistics {
            Some(path) => statistics::keep(Arc::clone(&self.statistics), path).await,
            None => pending().await,
        }
    }
}

fn remote(peers: Peers) -> Arc<Remote> {
    Arc::new(Remote(peers))
}

fn open(folder: Option<&Folder>, data: Data) -> anyhow::Result<Arc<Embedded>> {
    let folder = folder.expect("a role with data has a folder");
    Ok(Arc::new(Embedded::open(folder.path(), data.durability)?))
}

/// Returns all services in one process: each call is a function call.
pub async fn all_in_one(
    store: Arc<Embedded>,
    health: Health,
    metrics: Arc<Metrics>,
) -> anyhow::Result<Frontend> {
    let metrics = || Arc::clone(&metrics);
    let store: Arc<dyn api::store::Store> = store;
    let geo = Arc::new(geo(&*store, metrics()).await?);
    let rates = loaded(Documents::in_memory(&*store).await)?;
    let rate = Arc::new(Rate::new(rates, metrics()));
    let profiles = loaded(Documents::in_memory(&*store).await)?;
    let reviews = loaded(Documents::in_memory(&*store).await)?;
    Ok(Frontend {
        search: Arc::new(Search::new(geo, rate, metrics())),
        profile: Arc::new(Profile::new(profiles, metrics())),
        recommendation: Arc::new(recommendation(&*store, metrics()).await?),
        user: Arc::new(User::new(Arc::clone(&store), metrics())),
        reservation: Arc::new(Reservation::new(Arc::clone(&store), metrics())),
        review: Some(Arc::new(Review::new(reviews, metrics()))),
        attractions: Some(Arc::new(attractions(&*store, metrics()).await?)),
        store,
        health,
        metrics: metrics(),
    })
}

async fn geo(store: &dyn api::store::Store, metrics: Arc<Metrics>) -> anyhow::Result<Geo> {
    let places = loaded(store.places(Request::new(Nothing {})).await)?.into_inner().places;
    Ok(Geo::new(places, metrics))
}

async fn recommendation(
    store: &dyn api::store::Store,
    metrics: Arc<Metrics>,
) -> anyhow::Result<Recommendation> {
    let known = loaded(store.candidates(Request::new(Nothing {})).await)?.into_inner();
    Ok(Recommendation::new(&known.candidates, metrics))
}

async fn attractions(
    store: &dyn api::store::Store,
    metrics: Arc<Metrics>,
) -> anyhow::Result<Attractions> {
    let known = loaded(store.attractions(Request::new(Nothing {})).await)?.into_inner();
    Ok(Attractions::new(known, metrics))
}

fn loaded<T>(answer: Result<T, Status>) -> anyhow::Result<T> {
    answer.map_err(|status| {
        anyhow!("loading from the store: {:?}: {}", status.code(), status.message())
    })
}

/// Prints the line that the parent process waits for. If the line cannot be written, we serve
/// anyway.
fn say_ready(address: SocketAddr) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "ready http://{address}").and_then(|()| out.flush());
}
