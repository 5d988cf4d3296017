//! The lease of a run: who measures on which nodes. Another run on the same nodes would disturb it.
//!
//! Each run has a Lease of its own, which names its nodes and is renewed while the runner lives. A
//! run whose lease is older, and shares a node, comes first; the other is refused with the holder's
//! name. A lease that was not renewed belongs to a runner that was killed, and so does one whose
//! process on this machine is dead: what such a run left is removed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::{self, Api, Error};
use crate::objects::{MANAGER, RUN};

#[cfg(test)]
mod tests;

/// The annotation with the nodes of a run, separated by commas.
const NODES: &str = "benchwright.dev/nodes";
/// The annotation with the process that holds a lease: `BOOT/PID-START`.
const PROCESS: &str = "benchwright.dev/process";
/// The time after which a lease that was not renewed has expired.
const LASTS_S: u64 = 60;
const RENEW_EVERY: Duration = Duration::from_secs(10);

/// The identity of a run for its lease.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub run: String,
    pub namespace: String,
    pub nodes: BTreeSet<String>,
    /// The runner in words: `host bench, process 4711`.
    pub holder: String,
    /// The process as it is compared on the same machine: `BOOT/PID-START`.
    pub process: String,
}

impl Claim {
    fn name(&self) -> String {
        format!("run-{}", self.run)
    }

    fn object(&self, now: &str) -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self.name(),
                "namespace": self.namespace,
                "labels": {"app.kubernetes.io/managed-by": MANAGER, RUN: self.run},
                "annotations": {
                    NODES: self.nodes.iter().map(String::as_str).collect::<Vec<_>>().join(","),
                    PROCESS: self.process,
                },
            },
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": LASTS_S,
                "renewTime": now,
            },
        })
    }
}

/// Returns true if the run of a lease still measures; `is_dead` says of a process of this machine
/// that it has ended, and is false for those of other machines.
pub fn is_alive(lease: &Value, now_s: u64, is_dead: &dyn Fn(&str) -> bool) -> bool {
    let process = lease["metadata"]["annotations"][PROCESS].as_str().unwrap_or_default();
    if is_dead(process) {
        return false;
    }
    let renewed = lease["spec"]["renewTime"].as_str().and_then(seconds_of).unwrap_or(0);
    let lasts = lease["spec"]["leaseDurationSeconds"].as_u64().unwrap_or(LASTS_S);
    now_s < renewed + lasts
}

/// Returns the identity of the run that a lease belongs to.
pub fn run_of(lease: &Value) -> &str {
    lease["metadata"]["labels"][RUN].as_str().unwrap_or_default()
}

/// Returns the holder of an older lease that shares a node with this one, and the shared nodes.
pub fn in_the_way(own: &Value, others: &[Value]) -> Option<(String, Vec<String>)> {
    let nodes = |lease: &Value| -> BTreeSet<String> {
        let list = lease["metadata"]["annotations"][NODES].as_str().unwrap_or_default();
        list.split(',').filter(|node| !node.is_empty()).map(str::to_owned).collect()
    };
    // The server's time of creation has seconds; of two in the same one, the name decides.
    let age = |lease: &Value| {
        let text = |field: &str| lease["metadata"][field].as_str().unwrap_or_default().to_owned();
        (text("creationTimestamp"), text("name"))
    };
    let mine = nodes(own);
    let older = others.iter().filter(|other| age(other) < age(own));
    let mut shared = older.filter_map(|other| {
        let shared: Vec<String> = mine.intersection(&nodes(other)).cloned().collect();
        (!shared.is_empty()).then(|| {
            (other["spec"]["holderIdentity"].as_str().unwrap_or("another run").to_owned(), shared)
        })
    });
    shared.next()
}

/// A lease that is renewed until this is dropped, and then removed.
pub struct Held {
    end: Option<Sender<()>>,
    renewing: Option<JoinHandle<()>>,
}

/// Takes the lease of a run; returns the holder in words if other runs have its nodes.
pub fn take(
    api: &Arc<Api>,
    claim: Claim,
    now_s: fn() -> u64,
    is_dead: &dyn Fn(&str) -> bool,
) -> Result<Result<Held, String>, Error> {
    let own = api.apply(&claim.object(&time_of(now_s())))?;
    let all = api.list_ours("Lease", Some(&claim.namespace))?;
    let others: Vec<Value> = all
        .into_iter()
        .filter(|lease| run_of(lease) != claim.run && is_alive(lease, now_s(), is_dead))
        .collect();
    let path = api::one("Lease", &claim.namespace, &claim.name());
    if let Some((holder, nodes)) = in_the_way(&own, &others) {
        api.delete(&path)?;
        return Ok(Err(format!("{holder} measures on {}", nodes.join(", "))));
    }
    let (end, ended) = mpsc::channel();
    let api = Arc::clone(api);
    let renewing = std::thread::spawn(move || {
        while ended.recv_timeout(RENEW_EVERY) == Err(RecvTimeoutError::Timeout) {
            // If the server is away for a minute, the lease is renewed once it is back.
            let _ = api.apply(&claim.object(&time_of(now_s())));
        }
        let _ = api.delete(&path);
    });
    Ok(Ok(Held { end: Some(end), renewing: Some(renewing) }))
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(renewing) = self.renewing.take() {
            // It has ended in any case.
            let _ = renewing.join();
        }
    }
}

/// Returns a time as the API writes it: `2026-11-23T02:57:09.000000Z`.
pub fn time_of(unix_s: u64) -> String {
    let time = i64::try_from(unix_s).ok().and_then(|second| Timestamp::from_second(second).ok());
    time.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}

/// Reads a time as the API writes it, as seconds since 1970; `None` if it is not one.
pub fn seconds_of(text: &str) -> Option<u64> {
    u64::try_from(text.parse::<Timestamp>().ok()?.as_second()).ok()
}
