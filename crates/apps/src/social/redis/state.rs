//! The state of the timelines as a whole, for experiments.
//!
//! What is noted of them is the time of their newest post: a reset removes those that are
//! newer, so they must have been composed with a later time. The return is acknowledged once all
//! replicas have followed.

use std::sync::Arc;

use redis::{Cmd, FromRedisValue, cmd, pipe};
use tonic::{Request, Response, Status, async_trait};

use super::{Kind, Redis, prefix};
use crate::social::api::common::Nothing;
use crate::social::api::stored::state::{CountsReply, State};

/// The key of the time of the newest post of the noted state, in milliseconds since 1970.
const NOTED: &str = "noted";

/// The number of keys that are looked at together: Redis serves others in between.
const TOGETHER: usize = 500;

const KINDS: [Kind; 2] = [Kind::Home, Kind::User];

#[async_trait]
impl State for Redis {
    async fn counts(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.counted().await
    }

    async fn snapshot(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.note().await?;
        self.counted().await
    }

    async fn reset(&self, _: Request<Nothing>) -> Result<Response<CountsReply>, Status> {
        self.restore().await?;
        self.counted().await
    }
}

impl Redis {
    /// Counts the timelines; nothing else is here.
    async fn counted(&self) -> Result<Response<CountsReply>, Status> {
        Ok(Response::new(CountsReply {
            home_timeline_entries: self.entries(Kind::Home).await?,
            user_timeline_entries: self.entries(Kind::User).await?,
            ..CountsReply::default()
        }))
    }

    /// Returns the number of posts in all timelines of a kind.
    async fn entries(&self, kind: Kind) -> Result<u64, Status> {
        let lengths: Vec<u64> =
            self.of_each(kind, |key: &str| cmd("ZCARD").arg(key).take()).await?;
        Ok(lengths.iter().sum())
    }

    /// Notes the present state.
    async fn note(&self) -> Result<(), Status> {
        let mut last: f64 = 0.0;
        for kind in KINDS {
            let newest =
                |key: &str| cmd("ZREVRANGE").arg(key).arg(0).arg(0).arg("WITHSCORES").take();
            let newest: Vec<Vec<(String, f64)>> = self.of_each(kind, newest).await?;
            last = newest.iter().flatten().map(|(_, time)| *time).fold(last, f64::max);
        }
        self.primary.ask(cmd("SET").arg(NOTED).arg(last)).await
    }

    /// Returns to the noted state; to the empty one if none was noted.
    async fn restore(&self) -> Result<(), Status> {
        let noted: Option<f64> = self.primary.ask(cmd("GET").arg(NOTED)).await?;
        for kind in KINDS {
            let shorten = |key: &str| match noted {
                Some(last) => {
                    let newer = format!("({last}");
                    cmd("ZREMRANGEBYSCORE").arg(key).arg(newer).arg("+inf").take()
                }
                None => cmd("UNLINK").arg(key).take(),
            };
            let _removed: Vec<u64> = self.of_each(kind, shorten).await?;
        }
        self.followed().await
    }

    /// Waits until the replicas have all that was written before.
    async fn followed(&self) -> Result<(), Status> {
        let replicas = self.readers.iter().filter(|one| !Arc::ptr_eq(one, &self.primary)).count();
        if replicas == 0 {
            return Ok(());
        }
        let timeout = self.primary.timeout().as_millis() as u64;
        let wait = cmd("WAIT").arg(replicas).arg(timeout / 2).take();
        let followed: usize = self.primary.ask(&wait).await?;
        match replicas <= followed {
            true => Ok(()),
            false => Err(Status::unavailable(format!(
                "only {followed} of {replicas} replicas of Redis follow"
            ))),
        }
    }

    /// Returns the answers to a command for each timeline of a kind.
    async fn of_each<T: FromRedisValue>(
        &self,
        kind: Kind,
        command: impl Fn(&str) -> Cmd + Send,
    ) -> Result<Vec<T>, Status> {
        let mut answers = Vec::new();
        for keys in self.keys(kind).await?.chunks(TOGETHER) {
            let mut commands = pipe();
            for key in keys {
                commands.add_command(command(key));
            }
            let more: Vec<T> = self.primary.ask_all(&commands).await?;
            answers.extend(more);
        }
        Ok(answers)
    }

    /// Returns the names of all timelines of a kind, of which there are as many as users.
    async fn keys(&self, kind: Kind) -> Result<Vec<String>, Status> {
        let (mut cursor, mut keys) = (0_u64, Vec::new());
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{}*", prefix(kind))).arg("COUNT").arg(1000);
            let (next, found): (u64, Vec<String>) = self.primary.ask(&scan).await?;
            keys.extend(found);
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        // It may tell a name twice.
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }
}
