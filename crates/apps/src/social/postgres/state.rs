//! The tables and the state as a whole: to create, to count, to note it, and to return to it. Each is
//! one transaction on a connection of its own.

use tokio_postgres::{Client, Error, IsolationLevel, Transaction};
use tonic::{Request, Response, Status, async_trait};

use super::Postgres;
use crate::social::api::common::Nothing;
use crate::social::api::stored::state::{CountsReply, State};

/// An arbitrary number: only our processes take this lock, which belongs to one database.
const PREPARING: i64 = 0x736f_6369_616c;

/// Waits for all writes in progress, and keeps new ones waiting to the end of the transaction: so each
/// of them is either in the noted state or removed by the return to it. The order is that of the
/// statements that write into two of them.
const HOLD_WRITES: &str = "LOCK TABLE social.unfollows, social.follows, social.users, social.urls,
     social.posts IN SHARE ROW EXCLUSIVE MODE";

const NOTE: &str = "DELETE FROM social.unfollows; UPDATE social.state SET epoch = epoch + 1";

/// Faster than to delete many rows.
const EMPTY: &str =
    "TRUNCATE social.unfollows, social.follows, social.users, social.urls, social.posts";

/// Removes the rows of the present epoch, and returns the noted ones that were removed in it.
const RETURN: &str = "
    DELETE FROM social.users USING social.state WHERE users.epoch = state.epoch;
    DELETE FROM social.follows USING social.state WHERE follows.epoch = state.epoch;
    DELETE FROM social.urls USING social.state WHERE urls.epoch = state.epoch;
    DELETE FROM social.posts USING social.state WHERE posts.epoch = state.epoch;
    INSERT INTO social.follows SELECT * FROM social.unfollows;
    DELETE FROM social.unfollows";

const COUNT: &str = "SELECT (SELECT count(*) FROM social.follows),
     (SELECT count(*) FROM social.posts), (SELECT count(*) FROM social.urls),
     (SELECT count(*) FROM social.users)";

/// Creates the tables that are missing, one process after the other.
pub(super) async fn prepare(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&PREPARING]).await?;
    transaction.batch_execute(include_str!("schema.sql")).await?;
    transaction.commit().await
}

async fn counts(client: &mut Client) -> Result<CountsReply, Error> {
    let view = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let transaction = view.read_only(true).start().await?;
    counted(&transaction).await
}

async fn snapshot(client: &mut Client) -> Result<CountsReply, Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(HOLD_WRITES).await?;
    transaction.batch_execute(NOTE).await?;
    let counts = counted(&transaction).await?;
    transaction.commit().await?;
    Ok(counts)
}

async fn reset(client: &mut Client) -> Result<CountsReply, Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(HOLD_WRITES).await?;
    let epoch: i64 = transaction.query_one("SELECT epoch FROM social.state", &[]).await?.get(0);
    transaction.batch_execute(if epoch == 0 { EMPTY } else { RETURN }).await?;
    let counts = counted(&transaction).await?;
    transaction.commit().await?;
    Ok(counts)
}

/// Counts the rows as of one moment; timelines are elsewhere.
async fn counted(transaction: &Transaction<'_>) -> Result<CountsReply, Error> {
    let row = transaction.query_one(COUNT, &[]).await?;
    let count = |column: usize| row.get::<_, i64>(column).unsigned_abs();
    Ok(CountsReply {
        follows: count(0),
        posts: count(1),
        urls: count(2),
        users: count(3),
        ..CountsReply::default()
    })
}

#[async_trait]
impl State for Postgres {
    async fn counts(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.within(self.administration.run(counts)).await.map(Response::new)
    }

    async fn snapshot(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.within(self.administration.run(snapshot)).await.map(Response::new)
    }

    async fn reset(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.within(self.administration.run(reset)).await.map(Response::new)
    }
}
