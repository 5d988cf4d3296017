//! The documents in PostgreSQL: users, follows, URLs and posts, with the same replies as those of the
//! embedded store, from a database that all services use without a store process between.
//!
//! A call is one statement, which is prepared, and is one transaction: its reply comes after the
//! commit, so what was acknowledged survives whatever the database survives, and every later read
//! sees it. The posts of a page are one query. Calls share a few connections, on which statements are
//! pipelined; without one they fail with `Unavailable`, and never with a wrong reply. The state as a
//! whole is in [`state`].

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};
use tonic::{Request, Response, Status, async_trait};

use super::Process;
use super::api::common::{Account, Ids, Nothing};
use super::api::social_graph::{Edge, UserId};
use super::api::stored::graph::Graph;
use super::api::stored::posts::{PostDocument, PostDocuments, Posts, PutReply};
use super::api::stored::urls::{UrlDocuments, Urls};
use super::api::stored::users::{Found, Inserted, KnownReply, Named, Names, Secret, User, Users};
use super::bounds::{LARGEST_PAGE, MOST_EDGES};
use crate::kit::arguments::Common;
use crate::kit::health::Needed;
use crate::kit::lock::lock;
use crate::kit::postgres::{self, Administration, Connected, Database, Links, unavailable};
use crate::kit::statistics::Statistics;
use crate::kit::timeout;

mod state;

/// The purpose of a process's connections. Writes on one connection wait for each other's commits, and
/// reads must not wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Reads,
    Writes,
}

impl Use {
    fn connections(self) -> usize {
        match self {
            Use::Reads => 1,
            Use::Writes => 1 + 3,
        }
    }
}

/// The interval between looks at the size of the tables, which may grow beyond the bound by what is
/// written meanwhile.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The database of one instance.
pub struct Postgres {
    /// The first is for reads, the others are for writes.
    links: Links<Statements>,
    administration: Administration,
    size: Mutex<Size>,
    most_bytes: u64,
    deadline: Duration,
    statistics: Arc<Statistics>,
}

/// The size of the tables with their indexes when it was last looked at.
struct Size {
    bytes: u64,
    next_look: Instant,
}

impl Postgres {
    /// Connects, and creates the tables if they are missing. Waits for a database that is starting.
    pub async fn connect(
        database: &Database,
        purpose: Use,
        most_bytes: u64,
        process: &Process,
    ) -> anyhow::Result<Self> {
        let Common { deadline, start_within, .. } = process.arguments;
        database.prepare(start_within, state::prepare).await?;
        Ok(Postgres {
            links: Links::connect(database, purpose.connections(), start_within).await?,
            administration: Administration::of(database),
            size: Mutex::new(Size { bytes: 0, next_look: Instant::now() }),
            most_bytes,
            deadline,
            statistics: Arc::clone(&process.statistics),
        })
    }

    /// Runs statements with the deadline; their time counts as waiting for others.
    async fn within<T>(&self, asked: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        let asked = pin!(asked);
        timeout::within(self.deadline, "PostgreSQL", &self.statistics, asked).await
    }

    async fn read(
        &self,
        question: fn(&Statements) -> &Statement,
        about: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Status> {
        self.within(async {
            let connected = self.links.first()?;
            let Connected { client, statements } = &*connected;
            client.query(question(statements), about).await.map_err(unavailable)
        })
        .await
    }

    /// Returns the number of rows that a statement changed.
    async fn write(
        &self,
        change: fn(&Statements) -> &Statement,
        about: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Status> {
        self.within(async {
            let connected = self.links.next_after(1)?;
            let Connected { client, statements } = &*connected;
            client.execute(change(statements), about).await.map_err(unavailable)
        })
        .await
    }

    /// Does the same with a statement that adds rows, unless the tables are full.
    async fn extend(
        &self,
        addition: fn(&Statements) -> &Statement,
        about: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Status> {
        self.check_room().await?;
        self.write(addition, about).await
    }

    async fn check_room(&self) -> Result<(), Status> {
        let is_looking = {
            let (mut size, now) = (lock(&self.size), Instant::now());
            let is_old = size.next_look <= now;
            if is_old {
                size.next_look = now + BETWEEN_LOOKS;
            }
            is_old
        };
        if is_looking {
            let looked = self.read(|all| &all.size, &[]).await?;
            let bytes = looked.first().map_or(0, |row| row.get::<_, i64>(0));
            lock(&self.size).bytes = bytes.unsigned_abs();
        }
        match self.most_bytes <= lock(&self.size).bytes {
            true => Err(Status::resource_exhausted("PostgreSQL is full: see --max-megabytes")),
            false => Ok(()),
        }
    }
}

impl Needed for Postgres {
    fn unhealthy(&self) -> Option<String> {
        (!self.links.are_connected()).then(|| self.links.lost().message().to_owned())
    }
}

#[async_trait]
impl Users for Postgres {
    async fn insert(&self, request: Request<User>) -> Result<Response<Inserted>, Status> {
        let user = request.get_ref();
        let (name, document) = (user.username.as_bytes(), user.encode_to_vec());
        let inserted = self.extend(|all| &all.insert, &[&name, &user.user_id, &document]).await?;
        Ok(Response::new(Inserted { made: inserted == 1 }))
    }

    async fn find(&self, request: Request<Named>) -> Result<Response<Found>, Status> {
        let name = request.get_ref().username.as_bytes();
        let rows = self.read(|all| &all.find, &[&name]).await?;
        Ok(Response::new(Found { user: rows.first().map(user).transpose()? }))
    }

    async fn known(&self, request: Request<Names>) -> Result<Response<KnownReply>, Status> {
        let names: Vec<_> =
            request.get_ref().usernames.iter().map(|name| name.as_bytes()).collect();
        let rows = self.read(|all| &all.known, &[&names]).await?;
        let account = |row: &Row| {
            user(row).map(|user| Account { user_id: user.user_id, username: user.username })
        };
        let users: Result<Vec<Account>, Status> = rows.iter().map(account).collect();
        Ok(Response::new(KnownReply { users: users? }))
    }

    async fn keep_secret(&self, request: Request<Secret>) -> Result<Response<Secret>, Status> {
        let drawn: &[u8] = &request.get_ref().secret;
        self.write(|all| &all.keep_secret, &[&drawn]).await?;
        let kept = self.read(|all| &all.secret, &[]).await?;
        let kept = kept.first().ok_or_else(|| Status::internal("a secret was not kept"))?;
        Ok(Response::new(Secret { secret: bytes(kept) }))
    }
}

#[async_trait]
impl Graph for Postgres {
    async fn add(&self, request: Request<Edge>) -> Result<Response<Nothing>, Status> {
        let Edge { user_id, followee_id } = request.get_ref();
        let most = MOST_EDGES as i64;
        if self.extend(|all| &all.follow, &[user_id, followee_id, &most]).await? == 1 {
            return Ok(Response::new(Nothing {}));
        }
        // It was there before, unless a list is full.
        let rows = self.read(|all| &all.follows, &[user_id, followee_id]).await?;
        match rows.is_empty() {
            false => Ok(Response::new(Nothing {})),
            true => Err(Status::resource_exhausted(format!(
                "a user follows at most {MOST_EDGES} users, and has as many followers"
            ))),
        }
    }

    /// It is allowed if the tables are full.
    async fn remove(&self, request: Request<Edge>) -> Result<Response<Nothing>, Status> {
        let Edge { user_id, followee_id } = request.get_ref();
        self.write(|all| &all.unfollow, &[user_id, followee_id]).await?;
        Ok(Response::new(Nothing {}))
    }

    async fn followers(&self, request: Request<UserId>) -> Result<Response<Ids>, Status> {
        self.read(|all| &all.followers, &[&request.get_ref().user_id]).await.map(ids)
    }

    async fn followees(&self, request: Request<UserId>) -> Result<Response<Ids>, Status> {
        self.read(|all| &all.followees, &[&request.get_ref().user_id]).await.map(ids)
    }
}

#[async_trait]
impl Urls for Postgres {
    async fn put(&self, request: Request<UrlDocuments>) -> Result<Response<Nothing>, Status> {
        let urls = &request.get_ref().urls;
        let (shortened, expanded): (Vec<_>, Vec<_>) = urls
            .iter()
            .map(|url| (url.shortened_url.as_bytes(), url.expanded_url.as_bytes()))
            .unzip();
        self.extend(|all| &all.shorten, &[&shortened, &expanded]).await?;
        Ok(Response::new(Nothing {}))
    }
}

#[async_trait]
impl Posts for Postgres {
    async fn put(&self, request: Request<PostDocument>) -> Result<Response<PutReply>, Status> {
        let PostDocument { post_id, json } = request.get_ref();
        let json: &[u8] = json;
        let made = self.extend(|all| &all.put, &[post_id, &json]).await? == 1;
        Ok(Response::new(PutReply { made }))
    }

    async fn get(&self, request: Request<Ids>) -> Result<Response<PostDocuments>, Status> {
        let Ids { ids } = request.get_ref();
        if LARGEST_PAGE < ids.len() as u64 {
            let text = format!("at most {LARGEST_PAGE} posts at once, not {}", ids.len());
            return Err(Status::invalid_argument(text));
        }
        let rows = self.read(|all| &all.get, &[ids]).await?;
        Ok(Response::new(PostDocuments { json: rows.iter().map(bytes).collect() }))
    }
}

/// Reads a user's document, the first column.
fn user(row: &Row) -> Result<User, Status> {
    let wrong = |error| Status::unavailable(format!("a document in PostgreSQL: {error}"));
    User::decode(row.get::<_, &[u8]>(0)).map_err(wrong)
}

/// Reads the first column; NULL is empty.
fn bytes(row: &Row) -> Bytes {
    Bytes::copy_from_slice(row.get::<_, Option<&[u8]>>(0).unwrap_or_default())
}

fn ids(rows: Vec<Row>) -> Response<Ids> {
    Response::new(Ids { ids: rows.iter().map(|row| row.get(0)).collect() })
}

struct Statements {
    insert: Statement,
    find: Statement,
    known: Statement,
    keep_secret: Statement,
    secret: Statement,
    follow: Statement,
    follows: Statement,
    unfollow: Statement,
    followers: Statement,
    followees: Statement,
    shorten: Statement,
    put: Statement,
    get: Statement,
    size: Statement,
}

impl postgres::Statements for Statements {
    async fn prepare(client: &Client) -> Result<Self, Error> {
        // All of these find their rows by an index. A plan is made while the tables are empty, and
        // otherwise it would scan them, and go on doing so when they have grown.
        let by_index = "SET enable_seqscan = off; SET enable_hashjoin = off;
             SET enable_mergejoin = off; SET jit = off";
        client.batch_execute(by_index).await?;
        let prepare = async |text: &str| client.prepare(text).await;
        Ok(Statements {
            insert: prepare(
                "INSERT INTO social.users (name, user_id, document, epoch)
                 SELECT $1::bytea, $2::bigint, $3::bytea, epoch FROM social.state ON CONFLICT DO NOTHING",
            )
            .await?,
            find: prepare("SELECT document FROM social.users WHERE name = $1").await?,
            known: prepare(
                "SELECT document FROM unnest($1::bytea[]) WITH ORDINALITY AS asked (name, place)
                 JOIN social.users USING (name) ORDER BY place",
            )
            .await?,
            keep_secret: prepare(
                "INSERT INTO social.settings (name, value) VALUES ('secret', $1)
                 ON CONFLICT DO NOTHING",
            )
            .await?,
            secret: prepare("SELECT value FROM social.settings WHERE name = 'secret'").await?,
            // Follows that are made at the same moment may exceed the bound by their number.
            follow: prepare(
                "INSERT INTO social.follows (user_id, followee_id, epoch)
                 SELECT $1::bigint, $2::bigint, epoch FROM social.state
                 WHERE (SELECT count(*) FROM (
                         SELECT FROM social.follows WHERE user_id = $1 LIMIT $3) AS followees) < $3
                     AND (SELECT count(*) FROM (
                         SELECT FROM social.follows WHERE followee_id = $2 LIMIT $3) AS followers)
                         < $3
                 ON CONFLICT DO NOTHING",
            )
            .await?,
            follows: prepare(
                "SELECT FROM social.follows WHERE user_id = $1 AND followee_id = $2",
            )
            .await?,
            unfollow: prepare(
                "WITH gone AS (
                     DELETE FROM social.follows WHERE user_id = $1 AND followee_id = $2
                     RETURNING user_id, followee_id, epoch)
                 INSERT INTO social.unfollows (user_id, followee_id, epoch)
                 SELECT gone.* FROM gone JOIN social.state ON gone.epoch < state.epoch",
            )
            .await?,
            followers: prepare(
                "SELECT user_id FROM social.follows WHERE followee_id = $1 ORDER BY user_id",
            )
            .await?,
            followees: prepare(
                "SELECT followee_id FROM social.follows WHERE user_id = $1 ORDER BY followee_id",
            )
            .await?,
            shorten: prepare(
                "INSERT INTO social.urls (shortened, expanded, epoch)
                 SELECT shortened, expanded, epoch
                 FROM unnest($1::bytea[], $2::bytea[]) AS new (shortened, expanded), social.state",
            )
            .await?,
            put: prepare(
                "INSERT INTO social.posts (post_id, json, epoch)
                 SELECT $1::bigint, $2::bytea, epoch FROM social.state ON CONFLICT DO NOTHING",
            )
            .await?,
            get: prepare(
                "SELECT json FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (post_id, place)
                 LEFT JOIN social.posts USING (post_id) ORDER BY place",
            )
            .await?,
            size: prepare(
                "SELECT sum(pg_total_relation_size(pg_class.oid))::bigint FROM pg_class
                 JOIN pg_namespace ON pg_namespace.oid = relnamespace
                 WHERE nspname = 'social' AND relkind = 'r'",
            )
            .await?,
        })
    }
}
