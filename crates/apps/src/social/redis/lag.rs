//! How far the replicas are behind, as their primary knows it: each tells it once a second up to
//! where it has followed. A replica that is behind, or that cannot be asked, is an event.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::cmd;
use tokio::time;

use super::Redis;
use crate::kit::events::Events;
use crate::kit::lock::lock;
use crate::kit::metrics::write_each;
use crate::social::metrics::Metrics;

#[cfg(test)]
mod tests;

const EVERY: Duration = Duration::from_millis(500);

/// The least lag that is an event: a replica that follows has 0 or 1.
const NOTABLE_S: u64 = 3;

/// A replica, as its primary knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lag {
    /// The whole seconds since it told how far it is.
    seconds: u64,
    /// The bytes of changes that it does not have yet, as far as it told.
    bytes: u64,
}

/// The lags of all replicas by their addresses; none while the primary cannot be asked.
#[derive(Debug, Default)]
pub struct Lags(Mutex<BTreeMap<String, Lag>>);

impl Lags {
    pub fn write(&self, out: &mut String) {
        let lags = lock(&self.0);
        if lags.is_empty() {
            return;
        }
        for (name, of) in [
            ("social_redis_replica_lag_seconds", (|lag| lag.seconds) as fn(&Lag) -> u64),
            ("social_redis_replica_behind_bytes", |lag| lag.bytes),
        ] {
            let figures = lags.iter().map(|(replica, lag)| (replica, of(lag)));
            write_each(out, (name, "gauge"), "replica", figures);
        }
    }
}

/// Asks the primary again and again, without end.
pub async fn watch(redis: Arc<Redis>, metrics: Arc<Metrics>, events: Events) {
    let mut noted: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let told: Result<String, _> = redis.primary.ask(cmd("INFO").arg("replication")).await;
        let found = told.map(|told| replicas(&told)).ok();
        let mut states: BTreeMap<String, String> = BTreeMap::new();
        for (address, lag) in found.iter().flatten() {
            states.extend(lag.unusual().map(|state| (address.clone(), state)));
        }
        for link in redis.links() {
            let is_replica = !Arc::ptr_eq(link, &redis.primary);
            let listed = found.as_ref().filter(|_| is_replica);
            let why = link.lost().or_else(|| left(link.address(), listed?));
            states.extend(why.map(|why| (link.address().to_owned(), why)));
        }
        *lock(&metrics.lags.0) = found.unwrap_or_default();
        for address in noted.keys().filter(|address| !states.contains_key(*address)) {
            events.note(address, None);
        }
        for (address, state) in states.iter().filter(|(address, _)| !noted.contains_key(*address)) {
            events.note(address, Some(state));
        }
        noted = states;
        time::sleep(EVERY).await;
    }
}

impl Lag {
    /// Returns the state of a replica that is behind.
    fn unusual(&self) -> Option<String> {
        let Lag { seconds, bytes } = self;
        let is_notable = NOTABLE_S <= *seconds;
        is_notable.then(|| format!("lags: silent for {seconds} s, at least {bytes} bytes behind"))
    }
}

/// Returns the state of a replica that its primary does not list any more. A name may be that of any
/// replica.
fn left(address: &str, listed: &BTreeMap<String, Lag>) -> Option<String> {
    let is_missing = address.parse::<SocketAddr>().is_ok() && !listed.contains_key(address);
    is_missing.then(|| "does not follow its primary".to_owned())
}

/// Reads the replicas in what Redis tells about its replication.
fn replicas(told: &str) -> BTreeMap<String, Lag> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let offset = told.lines().find_map(|line| number(line.strip_prefix("master_repl_offset:")?));
    let replica = |line: &str| {
        let (name, fields) = line.strip_prefix("slave")?.split_once(':')?;
        name.parse::<u32>().ok()?;
        let fields: BTreeMap<&str, &str> =
            fields.trim().split(',').filter_map(|field| field.split_once('=')).collect();
        let field = |name| fields.get(name).and_then(|text| number(text));
        let bytes = offset?.saturating_sub(field("offset")?);
        let address = format!("{}:{}", fields.get("ip")?, fields.get("port")?);
        Some((address, Lag { seconds: field("lag")?, bytes }))
    };
    told.lines().filter_map(replica).collect()
}
