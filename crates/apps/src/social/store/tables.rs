//! The tables of the database, and what one order changes in them.

use bytes::Bytes;
use prost::Message;
use redb::{
    ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, Table, TableDefinition,
    TableHandle, WriteTransaction,
};

use crate::social::api::common::Account;
use crate::social::api::social_graph::Edge;
use crate::social::api::stored::posts::PostDocument;
use crate::social::api::stored::timelines::Addition;
use crate::social::api::stored::urls::UrlDocuments;
use crate::social::api::stored::users::User;
use crate::social::bounds::MOST_EDGES;

/// Name → [`User`], encoded.
const USERS: TableDefinition<&str, &[u8]> = TableDefinition::new("users");
/// User → name.
const NUMBERS: TableDefinition<i64, &str> = TableDefinition::new("numbers");
/// User → those who follow the user, in order.
const FOLLOWERS: TableDefinition<i64, Vec<i64>> = TableDefinition::new("followers");
/// User → those whom the user follows, in order.
pub(super) const FOLLOWEES: TableDefinition<i64, Vec<i64>> = TableDefinition::new("followees");
/// The short URLs in the order of their arrival, encoded: nothing looks one up, as in the original. With
/// their random names as keys, they were half of the work of an initialisation.
const URLS: TableDefinition<u64, &[u8]> = TableDefinition::new("urls");
/// Post → the post as JSON.
const POSTS: TableDefinition<i64, &[u8]> = TableDefinition::new("posts");
/// The additions to timelines in the order of their arrival, encoded.
const ADDITIONS: TableDefinition<u64, &[u8]> = TableDefinition::new("additions");
/// The values that are drawn once for all processes of an instance; they survive a reset.
const SETTINGS: TableDefinition<&str, &[u8]> = TableDefinition::new("settings");
const SECRET: &str = "secret";

/// A change of the database.
pub(super) enum Change {
    Insert(User),
    /// Keeps a secret, unless there is one.
    Keep(Bytes),
    Follow(Edge),
    Unfollow(Edge),
    Shorten(UrlDocuments),
    Post(PostDocument),
    Add(Addition),
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    Made,
    /// There was nothing to change.
    Unchanged,
    /// The name or the number is taken, and nothing was changed.
    Taken,
    /// A bound is reached, and nothing was changed; the text says which.
    Full(&'static str),
    Secret(Bytes),
}

/// The tables, open for writing.
pub(super) struct Tables<'transaction> {
    users: Table<'transaction, &'static str, &'static [u8]>,
    numbers: Table<'transaction, i64, &'static str>,
    followers: Table<'transaction, i64, Vec<i64>>,
    followees: Table<'transaction, i64, Vec<i64>>,
    urls: Table<'transaction, u64, &'static [u8]>,
    posts: Table<'transaction, i64, &'static [u8]>,
    additions: Table<'transaction, u64, &'static [u8]>,
    settings: Table<'transaction, &'static str, &'static [u8]>,
    next_url: u64,
    next_addition: u64,
}

impl<'transaction> Tables<'transaction> {
    /// Opens the tables; creates those that are missing.
    pub(super) fn open(transaction: &'transaction WriteTransaction) -> Result<Self, redb::Error> {
        let (urls, additions) = (transaction.open_table(URLS)?, transaction.open_table(ADDITIONS)?);
        let (next_url, next_addition) = (next(&urls)?, next(&additions)?);
        Ok(Tables {
            users: transaction.open_table(USERS)?,
            numbers: transaction.open_table(NUMBERS)?,
            followers: transaction.open_table(FOLLOWERS)?,
            followees: transaction.open_table(FOLLOWEES)?,
            urls,
            posts: transaction.open_table(POSTS)?,
            additions,
            settings: transaction.open_table(SETTINGS)?,
            next_url,
            next_addition,
        })
    }

    pub(super) fn make(&mut self, change: &Change) -> Result<Decided, redb::Error> {
        match change {
            Change::Insert(user) => self.insert(user),
            Change::Keep(drawn) => self.keep(drawn),
            Change::Follow(edge) => self.follow(edge),
            Change::Unfollow(edge) => self.unfollow(edge),
            Change::Shorten(documents) => self.shorten(documents),
            Change::Post(post) => self.put(post),
            Change::Add(addition) => self.add(addition),
        }
    }

    fn insert(&mut self, user: &User) -> Result<Decided, redb::Error> {
        let name = user.username.as_str();
        if self.users.get(name)?.is_some() || self.numbers.get(user.user_id)?.is_some() {
            return Ok(Decided::Taken);
        }
        self.users.insert(name, user.encode_to_vec().as_slice())?;
        self.numbers.insert(user.user_id, name)?;
        Ok(Decided::Made)
    }

    fn keep(&mut self, drawn: &Bytes) -> Result<Decided, redb::Error> {
        let kept = self.settings.get(SECRET)?.map(|kept| Bytes::copy_from_slice(kept.value()));
        if let Some(kept) = kept {
            return Ok(Decided::Secret(kept));
        }
        self.settings.insert(SECRET, drawn.as_ref())?;
        Ok(Decided::Secret(drawn.clone()))
    }

    fn follow(&mut self, &Edge { user_id, followee_id }: &Edge) -> Result<Decided, redb::Error> {
        let mut followees = edges(&self.followees, user_id)?;
        let Err(place) = followees.binary_search(&followee_id) else {
            return Ok(Decided::Unchanged);
        };
        let mut followers = edges(&self.followers, followee_id)?;
        if MOST_EDGES <= followees.len() {
            return Ok(Decided::Full("the user follows the most users that one may follow"));
        }
        if MOST_EDGES <= followers.len() {
            return Ok(Decided::Full("the user has the most followers that one may have"));
        }
        followees.insert(place, followee_id);
        followers.insert(followers.partition_point(|other| *other < user_id), user_id);
        self.followees.insert(user_id, followees)?;
        self.followers.insert(followee_id, followers)?;
        Ok(Decided::Made)
    }

    fn unfollow(&mut self, &Edge { user_id, followee_id }: &Edge) -> Result<Decided, redb::Error> {
        let mut followees = edges(&self.followees, user_id)?;
        let Ok(place) = followees.binary_search(&followee_id) else {
            return Ok(Decided::Unchanged);
        };
        followees.remove(place);
        let mut followers = edges(&self.followers, followee_id)?;
        followers.retain(|other| *other != user_id);
        self.followees.insert(user_id, followees)?;
        self.followers.insert(followee_id, followers)?;
        Ok(Decided::Made)
    }

    fn shorten(&mut self, documents: &UrlDocuments) -> Result<Decided, redb::Error> {
        for url in &documents.urls {
            self.urls.insert(self.next_url, url.encode_to_vec().as_slice())?;
            self.next_url += 1;
        }
        Ok(Decided::Made)
    }

    fn put(&mut self, post: &PostDocument) -> Result<Decided, redb::Error> {
        if self.posts.get(post.post_id)?.is_some() {
            return Ok(Decided::Taken);
        }
        self.posts.insert(post.post_id, post.json.as_ref())?;
        Ok(Decided::Made)
    }

    fn add(&mut self, addition: &Addition) -> Result<Decided, redb::Error> {
        self.additions.insert(self.next_addition, addition.encode_to_vec().as_slice())?;
        self.next_addition += 1;
        Ok(Decided::Made)
    }
}

/// Returns the place after the last row.
fn next(table: &impl ReadableTable<u64, &'static [u8]>) -> Result<u64, redb::Error> {
    Ok(table.last()?.map_or(0, |(place, _)| place.value() + 1))
}

fn edges(table: &impl ReadableTable<i64, Vec<i64>>, user: i64) -> Result<Vec<i64>, redb::Error> {
    Ok(table.get(user)?.map(|edges| edges.value()).unwrap_or_default())
}

/// The data as of one commit. A view that is kept prevents the reuse of its pages.
pub(super) struct View {
    users: ReadOnlyTable<&'static str, &'static [u8]>,
    followers: ReadOnlyTable<i64, Vec<i64>>,
    followees: ReadOnlyTable<i64, Vec<i64>>,
    urls: ReadOnlyTable<u64, &'static [u8]>,
    posts: ReadOnlyTable<i64, &'static [u8]>,
    additions: ReadOnlyTable<u64, &'static [u8]>,
}

impl View {
    pub(super) fn of(read: &ReadTransaction) -> Result<Self, redb::Error> {
        Ok(View {
            users: read.open_table(USERS)?,
            followers: read.open_table(FOLLOWERS)?,
            followees: read.open_table(FOLLOWEES)?,
            urls: read.open_table(URLS)?,
            posts: read.open_table(POSTS)?,
            additions: read.open_table(ADDITIONS)?,
        })
    }

    pub(super) fn user(&self, name: &str) -> Result<Option<User>, redb::Error> {
        self.users.get(name)?.map(|user| decoded(user.value())).transpose()
    }

    /// Returns the known ones of these names, in the same order.
    pub(super) fn known(&self, names: &[String]) -> Result<Vec<Account>, redb::Error> {
        let users = names.iter().filter_map(|name| self.user(name).transpose());
        let account = |user: User| Account { user_id: user.user_id, username: user.username };
        users.map(|user| user.map(account)).collect()
    }

    pub(super) fn followers(&self, user: i64) -> Result<Vec<i64>, redb::Error> {
        edges(&self.followers, user)
    }

    pub(super) fn followees(&self, user: i64) -> Result<Vec<i64>, redb::Error> {
        edges(&self.followees, user)
    }

    /// Returns a post as JSON; nothing if it is unknown.
    pub(super) fn post(&self, post: i64) -> Result<Bytes, redb::Error> {
        let json = self.posts.get(post)?;
        Ok(json.map_or_else(Bytes::new, |json| Bytes::copy_from_slice(json.value())))
    }

    /// Calls `each` with every addition, in the order of their arrival.
    pub(super) fn additions(&self, mut each: impl FnMut(&Addition)) -> Result<(), redb::Error> {
        for entry in self.additions.iter()? {
            each(&decoded(entry?.1.value())?);
        }
        Ok(())
    }

    pub(super) fn counts(&self) -> Result<Counts, redb::Error> {
        let mut follows = 0;
        for entry in self.followees.iter()? {
            follows += entry?.1.value().len() as u64;
        }
        Ok(Counts {
            users: self.users.len()?,
            follows,
            posts: self.posts.len()?,
            urls: self.urls.len()?,
        })
    }
}

/// The number of rows of each kind.
pub(super) struct Counts {
    pub(super) users: u64,
    pub(super) follows: u64,
    pub(super) posts: u64,
    pub(super) urls: u64,
}

fn decoded<M: Message + Default>(bytes: &[u8]) -> Result<M, redb::Error> {
    M::decode(bytes).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

/// Notes the present state, instead of what was noted before.
pub(super) fn take_snapshot(transaction: WriteTransaction) -> Result<(), redb::Error> {
    let before: Vec<u64> = transaction.list_persistent_savepoints()?.collect();
    transaction.persistent_savepoint()?;
    for savepoint in before {
        transaction.delete_persistent_savepoint(savepoint)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Returns to the noted state; to the empty one if none was noted. The secret stays: processes know
/// it.
pub(super) fn reset(mut transaction: WriteTransaction) -> Result<(), redb::Error> {
    let newest = transaction.list_persistent_savepoints()?.max();
    let secret =
        Tables::open(&transaction)?.settings.get(SECRET)?.map(|kept| kept.value().to_vec());
    match newest {
        Some(savepoint) => {
            let savepoint = transaction.get_persistent_savepoint(savepoint)?;
            transaction.restore_savepoint(&savepoint)?;
        }
        None => {
            let tables: Vec<_> = transaction.list_tables()?.collect();
            for table in tables.into_iter().filter(|table| table.name() != SETTINGS.name()) {
                transaction.delete_table(table)?;
            }
        }
    }
    let mut tables = Tables::open(&transaction)?;
    if let Some(secret) = secret {
        tables.settings.insert(SECRET, secret.as_slice())?;
    }
    drop(tables);
    transaction.commit()?;
    Ok(())
}
