//! The store: an embedded, durable database of everything that one instance keeps, and the only
//! place where it changes.
//!
//! Readers use the last committed view and never wait for a commit. One thread writes ([`Writer`]),
//! and publishes before it replies, so the next reader sees an acknowledged write. A commit is in
//! the file before it is acknowledged: it survives the death of the process, even by `kill -9`, and
//! a loss of power only with [`Durability::PowerLoss`].
//!
//! Timelines are in memory, as the original's are in Redis; the file has the additions to them,
//! which are repeated at the start.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use redb::{Database, ReadableDatabase};
use tonic::{Request, Response, Status, async_trait};

use super::api::common::{Ids, Nothing};
use super::api::social_graph::{Edge, UserId};
use super::api::stored::graph::{self, Graph};
use super::api::stored::posts::{self, PostDocument, PostDocuments, Posts, PutReply};
use super::api::stored::state::{self, CountsReply, State};
use super::api::stored::timelines::{self, Addition, Kind, RangeRequest};
use super::api::stored::urls::{self, UrlDocuments, Urls};
use super::api::stored::users::{
    self, Found, Inserted, KnownReply, Named, Names, Secret, User, Users,
};
use super::bounds::LARGEST_PAGE;
use super::command::{StoreArguments, StoreProcess};
use super::{Process, Service};
use crate::kit::folder::Folder;
use crate::kit::health::{Health, Needed};
use crate::kit::lock::lock;
use crate::kit::process;
use crate::kit::rpc::{Answering, together};
use crate::kit::services::Service as _;
use crate::kit::store;
use crate::kit::writer::Writer;
use memory::{Bounds, Timelines};
use tables::{Change, Decided, Tables, View};

mod memory;
mod tables;

#[cfg(test)]
mod tests;

/// The most bytes of the database that are kept in memory.
const CACHE_BYTES: usize = 512 << 20;

/// The store of this process.
pub struct Embedded {
    shared: Arc<Shared>,
    writer: Writer<Order, Decided>,
}

/// The data that readers and the writer share.
struct Shared {
    database: Database,
    view: Mutex<Arc<View>>,
    timelines: Mutex<Timelines>,
    bounds: Bounds,
    /// The file, which has a bound.
    path: PathBuf,
    most_bytes: u64,
}

enum Order {
    Change(Change),
    Snapshot,
    Reset,
}

/// Runs a process of the service until a signal ends it.
pub fn run(StoreProcess { arguments, common }: StoreProcess) -> anyhow::Result<()> {
    // It is removed when nothing writes into it any more.
    let folder = Folder::choose(Service::APPLICATION, arguments.data.clone())?;
    process::run(common, async |process: &Process| {
        let store = Arc::new(Embedded::open(folder.path(), &arguments)?);
        let health = Health::of_part(Arc::clone(&store) as _);
        Ok(process.page(Service::Store, answering(&store), health))
    })
}

/// Returns everything that the store's process answers.
fn answering(store: &Arc<Embedded>) -> Answering {
    let store = || Arc::clone(store);
    together([
        (posts::PATH, posts::answering(store())),
        (timelines::PATH, timelines::answering(store())),
        (graph::PATH, graph::answering(store())),
        (urls::PATH, urls::answering(store())),
        (users::PATH, users::answering(store())),
        (state::PATH, state::answering(store())),
    ])
}

impl Embedded {
    /// Opens the store in a folder, and creates it if it is missing.
    pub fn open(folder: &Path, arguments: &StoreArguments) -> anyhow::Result<Self> {
        let bounds = Bounds {
            length: arguments.max_timeline as usize,
            entries: arguments.max_entries as usize,
        };
        let most_bytes = u64::from(arguments.max_megabytes) << 20;
        let name = "social.redb";
        let path = folder.join(name);
        store::opened(folder, name, arguments.durability(), CACHE_BYTES, |database| {
            Self::over(database, path, most_bytes, bounds)
        })
    }

    fn over(
        database: Database,
        path: PathBuf,
        most_bytes: u64,
        bounds: Bounds,
    ) -> anyhow::Result<Self> {
        let transaction = database.begin_write()?;
        drop(Tables::open(&transaction)?);
        transaction.commit()?;
        let view = View::of(&database.begin_read()?)?;
        let timelines = Mutex::new(repeated(&view, bounds)?);
        let view = Mutex::new(Arc::new(view));
        let shared = Arc::new(Shared { database, view, timelines, bounds, path, most_bytes });
        let writing = Arc::clone(&shared);
        let writer = Writer::start(move |orders| writing.decide(orders))?;
        Ok(Embedded { shared, writer })
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&lock(&self.shared.view))
    }

    /// Returns the outcome of a change once it is durable, as a status if a bound is reached.
    async fn decided(&self, change: Change) -> Result<Decided, Status> {
        match self.writer.decided(Order::Change(change)).await? {
            Decided::Full(why) => Err(Status::resource_exhausted(why)),
            decided => Ok(decided),
        }
    }

    async fn counted(&self) -> Result<Response<CountsReply>, Status> {
        let shared = Arc::clone(&self.shared);
        // It takes milliseconds, and must not delay the calls.
        let counted = tokio::task::spawn_blocking(move || shared.count()).await;
        let counted = counted.map_err(|error| Status::internal(error.to_string()))?;
        counted.map(Response::new).map_err(unavailable)
    }
}

impl Shared {
    /// Decides a batch in order. Changes in a row share one commit.
    fn decide(&self, orders: &[Order]) -> Result<Vec<Decided>, redb::Error> {
        let mut decided = Vec::with_capacity(orders.len());
        for orders in
            orders.chunk_by(|one, next| matches!((one, next), (Order::Change(_), Order::Change(_))))
        {
            match &orders[0] {
                Order::Change(_) => self.make(orders, &mut decided)?,
                Order::Snapshot => {
                    tables::take_snapshot(self.database.begin_write()?)?;
                    lock(&self.timelines).note();
                    decided.push(Decided::Made);
                }
                Order::Reset => {
                    self.reset()?;
                    decided.push(Decided::Made);
                }
            }
        }
        Ok(decided)
    }

    /// Makes changes in one transaction, each after those before it, and publishes them.
    fn make(&self, orders: &[Order], decided: &mut Vec<Decided>) -> Result<(), redb::Error> {
        let changes = || orders.iter().filter_map(Order::change);
        let first = decided.len();
        let is_full = self.is_full();
        let transaction = self.database.begin_write()?;
        let mut tables = Tables::open(&transaction)?;
        // Additions that are decided, and not yet in memory.
        let mut more = 0;
        for change in changes() {
            let outcome = match change {
                Change::Unfollow(_) | Change::Keep(_) => tables.make(change)?,
                _ if is_full => Decided::Full("the store is full: see its --max-megabytes"),
                Change::Add(addition) => {
                    more += addition.user_ids.len();
                    match lock(&self.timelines).has_room(more) {
                        true => tables.make(change)?,
                        false => Decided::Full("the timelines are full: see --max-entries"),
                    }
                }
                _ => tables.make(change)?,
            };
            decided.push(outcome);
        }
        drop(tables);
        let decided = &decided[first..];
        let is_changed = |decided: &Decided| matches!(decided, Decided::Made | Decided::Secret(_));
        if !decided.iter().any(is_changed) {
            transaction.abort()?;
            return Ok(());
        }
        transaction.commit()?;
        self.publish()?;
        for (change, decided) in changes().zip(decided) {
            if let (Change::Add(addition), Decided::Made) = (change, decided) {
                // Readers get their turn between two of them.
                lock(&self.timelines).add(addition);
            }
        }
        Ok(())
    }

    fn reset(&self) -> Result<(), redb::Error> {
        tables::reset(self.database.begin_write()?)?;
        let view = View::of(&self.database.begin_read()?)?;
        if !lock(&self.timelines).undo() {
            let mut timelines = repeated(&view, self.bounds)?;
            timelines.note();
            // The old ones are freed only after readers can go on.
            let before = mem::replace(&mut *lock(&self.timelines), timelines);
            drop(before);
        }
        // No timeline has a post that is not there any more.
        *lock(&self.view) = Arc::new(view);
        Ok(())
    }

    fn publish(&self) -> Result<(), redb::Error> {
        let view = Arc::new(View::of(&self.database.begin_read()?)?);
        *lock(&self.view) = view;
        Ok(())
    }

    fn is_full(&self) -> bool {
        // A file that cannot be looked at cannot be written either, which the commit reports.
        fs::metadata(&self.path).is_ok_and(|file| self.most_bytes <= file.len())
    }

    fn count(&self) -> Result<CountsReply, redb::Error> {
        let view = Arc::clone(&lock(&self.view));
        let counts = view.counts()?;
        let timelines = lock(&self.timelines);
        Ok(CountsReply {
            follows: counts.follows,
            home_timeline_entries: timelines.entries(Kind::Home) as u64,
            posts: counts.posts,
            urls: counts.urls,
            user_timeline_entries: timelines.entries(Kind::User) as u64,
            users: counts.users,
        })
    }
}

impl Order {
    fn change(&self) -> Option<&Change> {
        match self {
            Order::Change(change) => Some(change),
            Order::Snapshot | Order::Reset => None,
        }
    }
}

/// Returns the timelines after all additions of a view.
fn repeated(view: &View, bounds: Bounds) -> Result<Timelines, redb::Error> {
    let mut timelines = Timelines::new(bounds);
    view.additions(|addition| timelines.add(addition))?;
    Ok(timelines)
}

impl Needed for Embedded {
    fn unhealthy(&self) -> Option<String> {
        self.writer.unhealthy()
    }
}

#[async_trait]
impl Users for Embedded {
    async fn insert(&self, request: Request<User>) -> Result<Response<Inserted>, Status> {
        let decided = self.decided(Change::Insert(request.into_inner())).await?;
        Ok(Response::new(Inserted { made: decided == Decided::Made }))
    }

    async fn find(&self, request: Request<Named>) -> Result<Response<Found>, Status> {
        let user = self.view().user(&request.get_ref().username).map_err(unavailable)?;
        Ok(Response::new(Found { user }))
    }

    async fn known(&self, request: Request<Names>) -> Result<Response<KnownReply>, Status> {
        let users = self.view().known(&request.get_ref().usernames).map_err(unavailable)?;
        Ok(Response::new(KnownReply { users }))
    }

    async fn keep_secret(&self, request: Request<Secret>) -> Result<Response<Secret>, Status> {
        match self.decided(Change::Keep(request.into_inner().secret)).await? {
            Decided::Secret(secret) => Ok(Response::new(Secret { secret })),
            other => Err(Status::internal(format!("a secret was decided as {other:?}"))),
        }
    }
}

#[async_trait]
impl Graph for Embedded {
    async fn add(&self, request: Request<Edge>) -> Result<Response<Nothing>, Status> {
        self.decided(Change::Follow(request.into_inner())).await.map(done)
    }

    async fn remove(&self, request: Request<Edge>) -> Result<Response<Nothing>, Status> {
        self.decided(Change::Unfollow(request.into_inner())).await.map(done)
    }

    async fn followers(&self, request: Request<UserId>) -> Result<Response<Ids>, Status> {
        let ids = self.view().followers(request.get_ref().user_id).map_err(unavailable)?;
        Ok(Response::new(Ids { ids }))
    }

    async fn followees(&self, request: Request<UserId>) -> Result<Response<Ids>, Status> {
        let ids = self.view().followees(request.get_ref().user_id).map_err(unavailable)?;
        Ok(Response::new(Ids { ids }))
    }
}

#[async_trait]
impl Urls for Embedded {
    async fn put(&self, request: Request<UrlDocuments>) -> Result<Response<Nothing>, Status> {
        self.decided(Change::Shorten(request.into_inner())).await.map(done)
    }
}

#[async_trait]
impl Posts for Embedded {
    async fn put(&self, request: Request<PostDocument>) -> Result<Response<PutReply>, Status> {
        let decided = self.decided(Change::Post(request.into_inner())).await?;
        Ok(Response::new(PutReply { made: decided == Decided::Made }))
    }

    async fn get(&self, request: Request<Ids>) -> Result<Response<PostDocuments>, Status> {
        let Ids { ids } = request.into_inner();
        if LARGEST_PAGE < ids.len() as u64 {
            let text = format!("at most {LARGEST_PAGE} posts at once, not {}", ids.len());
            return Err(Status::invalid_argument(text));
        }
        let view = self.view();
        let json: Result<Vec<_>, _> = ids.iter().map(|id| view.post(*id)).collect();
        Ok(Response::new(PostDocuments { json: json.map_err(unavailable)? }))
    }
}

#[async_trait]
impl timelines::Timelines for Embedded {
    async fn add(&self, request: Request<Addition>) -> Result<Response<Nothing>, Status> {
        self.decided(Change::Add(request.into_inner())).await.map(done)
    }

    async fn range(&self, request: Request<RangeRequest>) -> Result<Response<Ids>, Status> {
        let asked = request.get_ref();
        let stop = asked.stop.min(asked.start.saturating_add(LARGEST_PAGE));
        let timelines = lock(&self.shared.timelines);
        let ids = timelines.range(asked.kind(), asked.user_id, asked.start, stop);
        Ok(Response::new(Ids { ids }))
    }
}

#[async_trait]
impl State for Embedded {
    async fn counts(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.counted().await
    }

    async fn snapshot(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.writer.decided(Order::Snapshot).await?;
        self.counted().await
    }

    async fn reset(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.writer.decided(Order::Reset).await?;
        self.counted().await
    }
}

fn done(_: Decided) -> Response<Nothing> {
    Response::new(Nothing {})
}

/// Turns any error of the database into `Unavailable`: the caller cannot recover from it.
fn unavailable(error: redb::Error) -> Status {
    Status::unavailable(error.to_string())
}
