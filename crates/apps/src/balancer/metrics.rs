//! The metrics of the application beside those that every process has.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::kit::lock::lock;
use crate::kit::metrics::{self, Basic, Counter, Times, line, write_each, write_family, write_one};
use crate::kit::services;

/// The application has no services that call each other.
#[derive(Clone, Copy, Debug)]
pub enum Service {}

impl services::Service for Service {
    const APPLICATION: &'static str = "balancer";
    const NAMES: &'static [&'static str] = &[];

    fn place(self) -> usize {
        match self {}
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    NoneReady,
    Unreachable,
    Late,
    /// The request cannot be passed on.
    Wrong,
}

const OUTCOMES: [&str; 5] = ["passed", "none_ready", "unreachable", "late", "wrong"];

/// The most replicas that are shown, of all that were ever listed.
const MOST_SHOWN: usize = 1024;

#[derive(Default)]
pub struct Metrics {
    basic: Basic<Service>,
    outcomes: [Counter; OUTCOMES.len()],
    times: Times,
    /// Requests that another replica got because the first could not be connected.
    passed_over: Counter,
    replicas: Mutex<BTreeMap<String, OfReplica>>,
}

#[derive(Clone, Copy, Default)]
struct OfReplica {
    is_ready: bool,
    changes: u64,
    failed_probes: u64,
}

impl Metrics {
    /// Counts a request, and the time until its response was ready.
    pub fn answered(&self, outcome: Outcome, took: Duration) {
        self.outcomes[outcome as usize].add(1);
        self.times.add(took);
    }

    pub fn passed_over(&self) {
        self.passed_over.add(1);
    }

    /// Counts a probe.
    pub fn probed(&self, address: &str, succeeded: bool) {
        self.of(address, |replica| replica.failed_probes += u64::from(!succeeded));
    }

    /// Notes the readiness of a replica.
    pub fn stands(&self, address: &str, is_ready: bool) {
        self.of(address, |replica| {
            replica.changes += u64::from(replica.is_ready != is_ready);
            replica.is_ready = is_ready;
        });
    }

    fn of(&self, address: &str, change: impl FnOnce(&mut OfReplica)) {
        let mut replicas = lock(&self.replicas);
        if MOST_SHOWN <= replicas.len() && !replicas.contains_key(address) {
            return;
        }
        change(replicas.entry(address.to_owned()).or_default());
    }
}

impl metrics::Metrics for Metrics {
    type Service = Service;

    fn basic(&self) -> &Basic<Service> {
        &self.basic
    }

    fn write_own(&self, out: &mut String) {
        let outcomes = &self.outcomes;
        write_family(out, "balancer_requests_total", "outcome", &OUTCOMES, outcomes);
        let name = "balancer_request_duration_seconds";
        line(out, format_args!("# TYPE {name} histogram"));
        self.times.write(out, name, "path=\"any\"");
        write_one(out, ("balancer_passed_over_total", "counter"), self.passed_over.get());
        let replicas = lock(&self.replicas).clone();
        let mut family = |name: &str, kind: &str, of: fn(&OfReplica) -> u64| {
            let figures = replicas.iter().map(|(address, replica)| (address, of(replica)));
            write_each(out, (name, kind), "replica", figures);
        };
        family("balancer_replica_ready", "gauge", |replica| u64::from(replica.is_ready));
        family("balancer_readiness_changes_total", "counter", |replica| replica.changes);
        family("balancer_failed_probes_total", "counter", |replica| replica.failed_probes);
    }
}
