//! Timelines in Redis, as the original keeps them: a sorted set of posts for each kind and user, by
//! time. Writes go to the primary; reads to its replicas in turn if there are any, otherwise to the
//! primary as well. What was just written is certainly there only if the primary is read: replicas
//! follow it later ([`lag`]).
//!
//! An addition is one transaction: after an error it is in all its timelines or in none. A read that
//! fails at one replica is repeated at the next; one that fails at all of them is an error, never an
//! empty page. Redis' own configuration decides how much it holds and what survives: maxmemory,
//! appendonly and appendfsync; and with replica-serve-stale-data no, a replica without its primary
//! answers nothing. Timelines are not cut at a length.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::bail;
use redis::{Cmd, Pipeline, cmd};
use tonic::{Request, Response, Status, async_trait};

use super::Process;
use super::api::common::{Ids, Nothing};
use super::api::stored::timelines::{Addition, Kind, RangeRequest, Timelines};
use super::bounds::LARGEST_PAGE;
use super::command::RedisArguments;
use crate::kit::health::Needed;
use crate::kit::redis::Link;
use crate::kit::statistics::Statistics;
use crate::kit::timeout;

pub mod lag;
pub mod state;

/// The timelines of one instance.
pub struct Redis {
    primary: Arc<Link>,
    /// Those that answer reads: the replicas, or else the primary.
    readers: Vec<Arc<Link>>,
    next: AtomicUsize,
    statistics: Arc<Statistics>,
}

impl Redis {
    /// Connects to all servers; `None` if the arguments name none.
    pub async fn connect(
        arguments: &RedisArguments,
        process: &Process,
    ) -> anyhow::Result<Option<Arc<Self>>> {
        let RedisArguments { redis, redis_replicas, redis_timeout } = arguments;
        let Some(primary) = redis else { return Ok(None) };
        let link = |server| Link::keep(server, *redis_timeout);
        let primary = link(primary);
        let readers = match &redis_replicas[..] {
            [] => vec![Arc::clone(&primary)],
            replicas => replicas.iter().map(link).collect(),
        };
        let statistics = Arc::clone(&process.statistics);
        let redis = Redis { primary, readers, next: AtomicUsize::new(0), statistics };
        redis.begin(process.arguments.start_within).await?;
        Ok(Some(Arc::new(redis)))
    }

    /// Waits for all servers: a process that is ready can reach each of them.
    async fn begin(&self, within: Duration) -> anyhow::Result<()> {
        let lost = || self.links().find_map(|link| link.lost());
        if !timeout::until(within, || lost().is_none()).await {
            bail!("{}", lost().unwrap_or_default());
        }
        Ok(())
    }

    fn links(&self) -> impl Iterator<Item = &Arc<Link>> {
        [&self.primary].into_iter().chain(&self.readers)
    }

    /// Returns the answer of the first reader that has one, beginning with the next in turn.
    async fn read(&self, command: &Cmd) -> Result<Vec<String>, Status> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let mut failed = Status::unavailable("no Redis to read from");
        for further in 0..self.readers.len() {
            let reader = &self.readers[first.wrapping_add(further) % self.readers.len()];
            match reader.ask(command).await {
                Ok(found) => return Ok(found),
                Err(why) => failed = why,
            }
        }
        Err(failed)
    }
}

impl Needed for Redis {
    fn unhealthy(&self) -> Option<String> {
        let readers = || self.readers.iter().map(|link| link.lost());
        match readers().all(|lost| lost.is_some()) {
            true => readers().flatten().next(),
            false => self.primary.lost(),
        }
    }
}

#[async_trait]
impl Timelines for Redis {
    async fn add(&self, request: Request<Addition>) -> Result<Response<Nothing>, Status> {
        let addition = request.into_inner();
        let member = member(addition.post_id);
        let mut all = Pipeline::with_capacity(addition.user_ids.len());
        all.atomic();
        for user in &addition.user_ids {
            let key = key(addition.kind(), *user);
            all.cmd("ZADD").arg(key).arg("NX").arg(addition.timestamp).arg(&member).ignore();
        }
        if !addition.user_ids.is_empty() {
            let _asked = self.statistics.ask();
            self.primary.ask_all::<()>(&all).await?;
        }
        Ok(Response::new(Nothing {}))
    }

    async fn range(&self, request: Request<RangeRequest>) -> Result<Response<Ids>, Status> {
        let asked = request.get_ref();
        let stop = asked.stop.min(asked.start.saturating_add(LARGEST_PAGE));
        // No timeline is as long as the largest place that Redis knows.
        let places = i64::try_from(asked.start).ok().zip(i64::try_from(stop).ok());
        let Some((start, stop)) = places.filter(|(start, stop)| start < stop) else {
            return Ok(Response::new(Ids::default()));
        };
        let mut command = cmd("ZREVRANGE");
        command.arg(key(asked.kind(), asked.user_id)).arg(start).arg(stop - 1);
        let _asked = self.statistics.ask();
        let members = self.read(&command).await?;
        let ids: Result<Vec<i64>, _> = members.iter().map(|member| member.parse()).collect();
        let foreign = |_| Status::data_loss("a timeline in Redis has members that are not posts");
        Ok(Response::new(Ids { ids: ids.map_err(foreign)? }))
    }
}

/// Returns the name of a user's timeline.
fn key(kind: Kind, user: i64) -> String {
    format!("{}{user}", prefix(kind))
}

fn prefix(kind: Kind) -> &'static str {
    match kind {
        Kind::Home => "home:",
        Kind::User => "user:",
    }
}

/// Returns a post as Redis keeps it. Posts of the same millisecond are ordered by their texts, so all
/// are equally long.
fn member(post: i64) -> String {
    format!("{post:019}")
}
