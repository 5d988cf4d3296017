//! The store: an embedded, durable database of users. A change is in the file before it is
//! acknowledged: it survives the death of the process, even by `kill -9`, and a loss of power only
//! with [`Durability::PowerLoss`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use prost::Message;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use tonic::{Request, Response, Status, async_trait};

use super::api::{self, Changes, Found, Inserted, Named, User};
use super::{Process, Service};
use crate::kit::arguments::Common;
use crate::kit::folder::Folder;
use crate::kit::health::{Health, Needed};
use crate::kit::process;
use crate::kit::services::Service as _;
use crate::kit::store::{self, Durability};
use crate::kit::writer::Writer;

/// The most bytes of the database that are kept in memory: about 200,000 users.
const CACHE_BYTES: usize = 64 << 20;

/// Name → [`User`], encoded.
const USERS: TableDefinition<&str, &[u8]> = TableDefinition::new("users");

#[derive(Args)]
pub struct StoreArguments {
    /// Keeps the users in this folder, and continues with those that are there.
    /// Without it a new folder in the temporary directory is used and removed at the end.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// Waits for the disk before a change is acknowledged, so that it survives a loss of power.
    #[arg(long)]
    fsync: bool,

    #[command(flatten)]
    common: Common,
}

/// The store of this process.
pub struct Embedded {
    database: Arc<Database>,
    writer: Writer<Write, Option<User>>,
}

/// A write. Its outcome is the user as written; `None` if nothing was written.
pub(super) enum Write {
    Insert(User),
    Change(Changes),
}

/// Runs a process of the service until a signal ends it.
pub fn run(arguments: StoreArguments) -> anyhow::Result<()> {
    let durability = durability(arguments.fsync);
    // It is removed when nothing writes into it any more.
    let folder = Folder::choose(Service::APPLICATION, arguments.data)?;
    process::run(arguments.common, async |process: &Process| {
        let store = Arc::new(Embedded::open(folder.path(), durability)?);
        let health = Health::of_part(Arc::clone(&store) as _);
        Ok(process.page(Service::Store, api::answering(store), health))
    })
}

pub fn durability(fsync: bool) -> Durability {
    if fsync { Durability::PowerLoss } else { Durability::Kill }
}

impl Embedded {
    /// Opens the store in a folder, and creates it if it is missing.
    pub fn open(folder: &Path, durability: Durability) -> anyhow::Result<Self> {
        store::opened(folder, "users.redb", durability, CACHE_BYTES, Self::over)
    }

    pub(super) fn over(database: Database) -> anyhow::Result<Self> {
        let transaction = database.begin_write()?;
        transaction.open_table(USERS)?;
        transaction.commit()?;
        let database = Arc::new(database);
        let written = Arc::clone(&database);
        let writer = Writer::start(move |batch| write(&written, batch))?;
        Ok(Embedded { database, writer })
    }

    fn read(&self, username: &str) -> Result<Option<User>, redb::Error> {
        let table = self.database.begin_read()?.open_table(USERS)?;
        table.get(username)?.map(|entry| decoded(entry.value())).transpose()
    }
}

impl Needed for Embedded {
    fn unhealthy(&self) -> Option<String> {
        self.writer.unhealthy()
    }
}

#[async_trait]
impl api::Store for Embedded {
    async fn find(&self, request: Request<Named>) -> Result<Response<Found>, Status> {
        let found = self.read(&request.get_ref().username);
        let user = found.map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(Response::new(Found { user }))
    }

    async fn insert(&self, request: Request<User>) -> Result<Response<Inserted>, Status> {
        let written = self.writer.decided(Write::Insert(request.into_inner())).await?;
        Ok(Response::new(Inserted { made: written.is_some() }))
    }

    async fn change(&self, request: Request<Changes>) -> Result<Response<Found>, Status> {
        let user = self.writer.decided(Write::Change(request.into_inner())).await?;
        Ok(Response::new(Found { user }))
    }
}

/// Writes a batch in order, each after those before it, and commits it.
pub(super) fn write(
    database: &Database,
    batch: &[Write],
) -> Result<Vec<Option<User>>, redb::Error> {
    let transaction = database.begin_write()?;
    let mut table = transaction.open_table(USERS)?;
    let mut written = Vec::with_capacity(batch.len());
    for write in batch {
        let name = match write {
            Write::Insert(user) => user.username.as_str(),
            Write::Change(changes) => changes.username.as_str(),
        };
        let before = table.get(name)?.map(|entry| decoded(entry.value())).transpose()?;
        let after = match (write, before) {
            (Write::Insert(user), None) => Some(user.clone()),
            (Write::Change(changes), Some(user)) => Some(changed(user, changes)),
            (Write::Insert(_), Some(_)) | (Write::Change(_), None) => None,
        };
        if let Some(user) = &after {
            table.insert(name, user.encode_to_vec().as_slice())?;
        }
        written.push(after);
    }
    drop(table);
    match written.iter().any(Option::is_some) {
        true => transaction.commit()?,
        false => transaction.abort()?,
    }
    Ok(written)
}

fn decoded(bytes: &[u8]) -> Result<User, redb::Error> {
    User::decode(bytes).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

fn changed(user: User, changes: &Changes) -> User {
    User {
        description: changes.description.clone().or(user.description),
        profile_picture: changes.profile_picture.clone().or(user.profile_picture),
        login: changes.login.clone().or(user.login),
        ..user
    }
}

#[cfg(test)]
mod tests;
