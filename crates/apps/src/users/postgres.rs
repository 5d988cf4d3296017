//! The store in PostgreSQL, which replicas of the service use without a store process between.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};
use tonic::{Request, Response, Status, async_trait};

use super::api::{self, Changes, Found, Inserted, Named, User};
use crate::kit::health::Needed;
use crate::kit::postgres::{self, Connected, Database, Links, unavailable};
use crate::kit::statistics::Statistics;
use crate::kit::timeout;

/// Calls on one connection wait for each other's commits.
const CONNECTIONS: usize = 4;

/// An arbitrary number: only our processes take this lock, which belongs to one database.
const PREPARING: i64 = 0x0075_7365_7273;

/// An administrator may have created the schema for a user who may not. Text is compared by its
/// bytes, as in the embedded store.
const SCHEMA: &str = "
    CREATE SCHEMA IF NOT EXISTS users;
    CREATE TABLE IF NOT EXISTS users.users (
        username text COLLATE \"C\" PRIMARY KEY, hash text NOT NULL, email text, description text,
        profile_picture text, login text)";

pub struct Postgres {
    links: Links<Statements>,
    deadline: Duration,
    statistics: Arc<Statistics>,
}

impl Postgres {
    /// Connects, and creates the table if it is missing. Waits for a database that is starting, but
    /// no longer than `within`.
    pub async fn connect(
        database: &Database,
        (deadline, within): (Duration, Duration),
        statistics: Arc<Statistics>,
    ) -> anyhow::Result<Self> {
        database.prepare(within, prepare).await?;
        let links = Links::connect(database, CONNECTIONS, within).await?;
        Ok(Postgres { links, deadline, statistics })
    }

    /// Asks for at most one row, with the deadline; the time counts as waiting for others.
    async fn within<T>(&self, row: impl Future<Output = Result<T, Error>>) -> Result<T, Status> {
        let asked = pin!(async { row.await.map_err(unavailable) });
        timeout::within(self.deadline, "PostgreSQL", &self.statistics, asked).await
    }

    fn connected(&self) -> Result<Arc<Connected<Statements>>, Status> {
        self.links.next_after(0)
    }
}

/// Creates the table; one process after the other.
async fn prepare(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&PREPARING]).await?;
    transaction.batch_execute(SCHEMA).await?;
    transaction.commit().await
}

impl Needed for Postgres {
    fn unhealthy(&self) -> Option<String> {
        (!self.links.are_connected()).then(|| self.links.lost().message().to_owned())
    }
}

#[async_trait]
impl api::Store for Postgres {
    async fn find(&self, request: Request<Named>) -> Result<Response<Found>, Status> {
        let connected = self.connected()?;
        let Connected { client, statements } = &*connected;
        let username = request.into_inner().username;
        let found = self.within(client.query_opt(&statements.find, &[&username])).await?;
        Ok(Response::new(Found { user: found.map(|row| user(&row)) }))
    }

    async fn insert(&self, request: Request<User>) -> Result<Response<Inserted>, Status> {
        let connected = self.connected()?;
        let Connected { client, statements } = &*connected;
        let User { username, hash, email, description, profile_picture, login } =
            request.into_inner();
        let values: [&(dyn ToSql + Sync); 6] =
            [&username, &hash, &email, &description, &profile_picture, &login];
        let inserted = self.within(client.execute(&statements.insert, &values)).await?;
        Ok(Response::new(Inserted { made: inserted == 1 }))
    }

    async fn change(&self, request: Request<Changes>) -> Result<Response<Found>, Status> {
        let connected = self.connected()?;
        let Connected { client, statements } = &*connected;
        let Changes { username, description, profile_picture, login } = request.into_inner();
        let values: [&(dyn ToSql + Sync); 4] = [&username, &description, &profile_picture, &login];
        let changed = self.within(client.query_opt(&statements.change, &values)).await?;
        Ok(Response::new(Found { user: changed.map(|row| user(&row)) }))
    }
}

/// Reads a user; the columns are those of the table, in its order.
fn user(row: &Row) -> User {
    User {
        username: row.get(0),
        hash: row.get(1),
        email: row.get(2),
        description: row.get(3),
        profile_picture: row.get(4),
        login: row.get(5),
    }
}

struct Statements {
    find: Statement,
    insert: Statement,
    change: Statement,
}

impl postgres::Statements for Statements {
    async fn prepare(client: &Client) -> Result<Self, Error> {
        let columns = "username, hash, email, description, profile_picture, login";
        let find = format!("SELECT {columns} FROM users.users WHERE username = $1");
        let insert = format!(
            "INSERT INTO users.users ({columns}) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT DO NOTHING"
        );
        let change = format!(
            "UPDATE users.users SET description = coalesce($2, description),
                 profile_picture = coalesce($3, profile_picture), login = coalesce($4, login)
             WHERE username = $1 RETURNING {columns}"
        );
        Ok(Statements {
            find: client.prepare(&find).await?,
            insert: client.prepare(&insert).await?,
            change: client.prepare(&change).await?,
        })
    }
}
