//! Connections to PostgreSQL that are kept open, shared by calls, and replaced when they break. Until
//! then calls fail with `Unavailable`.

use std::error::Error as _;
use std::future::Future;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, NoTls};
use tonic::Status;

use super::lock::lock;
use super::timeout::{self, Pause};

const LONGEST_CONNECT: Duration = Duration::from_secs(1);
/// The silence after which the kernel checks that a connection is alive.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Without this option PostgreSQL plans the hotel's query for rooms anew each time: 197 µs instead
/// of 53.
const KEEP_PLANS: &str = "-c plan_cache_mode=force_generic_plan";

/// The address of a database: `postgres://USER@HOST:PORT/DATABASE`.
#[derive(Clone, Debug)]
pub struct Database(Box<Config>);

impl FromStr for Database {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        // The URL may hold a password, so no message repeats it.
        let remedy = "write postgres://USER@HOST:PORT/DATABASE";
        let mut config: Config = text.parse().with_context(|| remedy.to_owned())?;
        ensure!(!config.get_hosts().is_empty(), "the URL names no host; {remedy}");
        ensure!(config.get_user().is_some(), "the URL names no user; {remedy}");
        ensure!(config.get_dbname().is_some(), "the URL names no database; {remedy}");
        config.connect_timeout(LONGEST_CONNECT).keepalives_idle(KEEPALIVE);
        config.application_name("benchwright-apps");
        if config.get_options().is_none() {
            config.options(KEEP_PLANS);
        }
        Ok(Database(Box::new(config)))
    }
}

impl Database {
    /// Opens a connection that ends with its client.
    pub async fn open(&self) -> Result<Client, Error> {
        let (client, connection) = self.0.connect(NoTls).await?;
        // Its error goes to the callers of the client.
        tokio::spawn(async { drop(connection.await) });
        Ok(client)
    }

    /// Creates and fills the tables if they are missing; waits while the database cannot be reached.
    pub async fn prepare(
        &self,
        within: Duration,
        tables: impl AsyncFn(&mut Client) -> Result<(), Error>,
    ) -> anyhow::Result<()> {
        let until = Instant::now() + within;
        let mut pause = Pause::first();
        loop {
            let prepared = async { tables(&mut self.open().await?).await }.await;
            match prepared {
                Err(error) if is_temporary(&error) && Instant::now() < until => {}
                ended => return ended.context("preparing the tables in PostgreSQL"),
            }
            pause.rest().await;
        }
    }
}

/// Operations of several statements: each has a short-lived connection, and they run one at a time.
pub struct Administration {
    database: Database,
    turn: Semaphore,
}

impl Administration {
    pub fn of(database: &Database) -> Self {
        Administration { database: database.clone(), turn: Semaphore::new(1) }
    }

    pub async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Status> {
        let turn = self.turn.acquire().await;
        let _turn = turn.map_err(|error| Status::internal(error.to_string()))?;
        let mut client = self.database.open().await.map_err(unavailable)?;
        work(&mut client).await.map_err(unavailable)
    }
}

/// Turns any error of the database into `Unavailable`: the caller cannot recover from it.
pub fn unavailable(error: Error) -> Status {
    Status::unavailable(described(&error))
}

fn described(error: &Error) -> String {
    let remedy = match error.code() {
        Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => {
            "; raise its max_connections: --help says how many each process keeps"
        }
        _ => "",
    };
    match error.source() {
        Some(source) => format!("{error}: {source}{remedy}"),
        None => format!("{error}{remedy}"),
    }
}

/// Returns true if waiting may help: it cannot be reached, is starting or ending, or lacks
/// resources.
fn is_temporary(error: &Error) -> bool {
    error.code().is_none_or(|code| ["53", "57"].contains(&&code.code()[..2]))
}

/// The statements of an application, prepared once for each connection.
pub trait Statements: Sized + Send + Sync + 'static {
    fn prepare(client: &Client) -> impl Future<Output = Result<Self, Error>> + Send;
}

/// The connections of one process.
pub struct Links<S> {
    links: Vec<Arc<Link<S>>>,
    next: AtomicUsize,
}

impl<S: Statements> Links<S> {
    /// Opens this many connections, and waits for all of them, but no longer than `within`.
    pub async fn connect(
        database: &Database,
        connections: usize,
        within: Duration,
    ) -> anyhow::Result<Self> {
        let links = (0..connections).map(|_| Link::keep(database.clone())).collect();
        let links = Links { links, next: AtomicUsize::new(0) };
        if !timeout::until(within, || links.are_connected()).await {
            bail!("PostgreSQL cannot be reached: {}", links.lost().message());
        }
        Ok(links)
    }

    pub fn are_connected(&self) -> bool {
        self.links.iter().all(|link| link.connected().is_some())
    }

    /// Returns the status of a call without a connection.
    pub fn lost(&self) -> Status {
        let why = self.links.iter().find_map(|link| lock(&link.why).clone());
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        Status::unavailable(format!("PostgreSQL cannot be reached{why}"))
    }

    /// Returns the first connection.
    pub fn first(&self) -> Result<Arc<Connected<S>>, Status> {
        self.links[0].connected().ok_or_else(|| self.lost())
    }

    /// Returns the next connection after the first `skipped` ones; all of them if there are no
    /// others.
    pub fn next_after(&self, skipped: usize) -> Result<Arc<Connected<S>>, Status> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let others = self.links.get(skipped..).filter(|links| !links.is_empty());
        let links = others.unwrap_or(&self.links);
        let mut in_turn =
            (0..links.len()).map(|further| &links[first.wrapping_add(further) % links.len()]);
        in_turn.find_map(|link| link.connected()).ok_or_else(|| self.lost())
    }
}

/// A connection that is replaced whenever it breaks.
struct Link<S> {
    connected: Mutex<Option<Arc<Connected<S>>>>,
    /// The error of the last attempt.
    why: Mutex<Option<String>>,
}

pub struct Connected<S> {
    pub client: Client,
    pub statements: S,
}

impl<S: Statements> Link<S> {
    /// Returns a link that stays connected until its last owner drops it.
    fn keep(database: Database) -> Arc<Self> {
        let link = Arc::new(Link { connected: Mutex::default(), why: Mutex::default() });
        tokio::spawn(stay_connected(Arc::downgrade(&link), database));
        link
    }

    fn connected(&self) -> Option<Arc<Connected<S>>> {
        lock(&self.connected).clone()
    }
}

async fn stay_connected<S: Statements>(link: Weak<Link<S>>, database: Database) {
    let mut pause = Pause::first();
    loop {
        let ended = be_connected(&link, &database).await;
        let Some(link) = link.upgrade() else { return };
        *lock(&link.connected) = None;
        match ended {
            Ok(()) => pause = Pause::first(),
            Err(error) => *lock(&link.why) = Some(described(&error)),
        }
        drop(link);
        pause.rest().await;
    }
}

/// Runs one connection until it ends; an error if it could not be opened.
async fn be_connected<S: Statements>(
    link: &Weak<Link<S>>,
    Database(config): &Database,
) -> Result<(), Error> {
    let (client, connection) = config.connect(NoTls).await?;
    let mut connection = tokio::spawn(connection);
    let statements = S::prepare(&client).await?;
    let Some(kept) = link.upgrade() else { return Ok(()) };
    *lock(&kept.connected) = Some(Arc::new(Connected { client, statements }));
    *lock(&kept.why) = None;
    drop(kept);
    // It ends when it breaks, or when the last client is dropped.
    let _ = (&mut connection).await;
    Ok(())
}
