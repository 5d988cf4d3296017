//! What one generator measured: the document that `benchwright load --json` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::times::Times;

#[cfg(test)]
mod tests;

pub const SCHEMA: &str = "benchwright.load/1";

/// One load, from its first connection to the end of its drain.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Load {
    pub schema: String,
    /// The tool and its version, for example `benchwright 0.1.0`.
    pub version: String,
    pub arguments: Vec<String>,
    /// The original as which the engine was started: `wrk`, `wrk2` or `dsb`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flavour: Option<String>,
    pub seed: u64,
    /// Ended before its time: the figures cover what was measured until then.
    pub partial: bool,
    /// Why it ended, if not as planned: `halted`, `overloaded`, `by the workload`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<String>,
    pub pacing: Pacing,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// When the phases began and ended on the host's monotonic clock. Absent on virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// How long the measurement took.
    pub measured_s: f64,
    #[serde(flatten)]
    pub total: Part,
    pub targets: Vec<Target>,
    /// By label of the requests, where they have some.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub labels: BTreeMap<String, Group>,
    /// By segment of the load's shape, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub segments: Vec<Segment>,
    pub series: Vec<Interval>,
    pub generator: Generator,
    pub validity: Validity,
    /// What is to be known about the target: saturation, failures, a backlog at its bound.
    pub findings: Vec<String>,
    /// What weakens the figures without making them invalid, with advice.
    pub warnings: Vec<String>,
    /// Absent if nothing was wanted of the target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slo: Option<Slo>,
    /// The latencies as wrk reckons them, if we were started as wrk.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wrk: Option<Wrk>,
}

impl Load {
    /// The document that a generator has written; the error says why it is none.
    pub fn read(text: &[u8]) -> Result<Load, String> {
        let load: Load = serde_json::from_slice(text)
            .map_err(|error| format!("its document cannot be read: {error}"))?;
        match load.schema == SCHEMA {
            true => Ok(load),
            false => Err(format!("its document is a `{}`, not a `{SCHEMA}`", load.schema)),
        }
    }

    /// A load without a request, about which nothing is known and nothing is wrong: what a document
    /// says that somebody else than the engine makes, but for the fields that it states.
    pub fn empty(version: &str) -> Load {
        Load {
            schema: SCHEMA.to_owned(),
            version: version.to_owned(),
            arguments: Vec::new(),
            flavour: None,
            seed: 0,
            partial: false,
            ended: None,
            pacing: Pacing::Closed { think_ns: 0 },
            connections: None,
            clock: None,
            measured_s: 0.0,
            total: Part::default(),
            targets: Vec::new(),
            labels: BTreeMap::new(),
            segments: Vec::new(),
            series: Vec::new(),
            generator: Generator::default(),
            validity: Validity { valid: true, reasons: Vec::new(), gates: Vec::new() },
            findings: Vec::new(),
            warnings: Vec::new(),
            slo: None,
            wrk: None,
        }
    }
}

/// wrk's latencies before and after it adds those that it believes slow answers to have kept away.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Wrk {
    pub raw: Latencies,
    pub filled: Latencies,
}

/// In whole microseconds, by wrk's ranks.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Latencies {
    pub count: u64,
    pub p50_us: u64,
    pub p75_us: u64,
    pub p90_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
}

/// What was wanted of the target, and whether it was met.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Slo {
    pub text: String,
    pub met: bool,
    /// A sentence for each condition that does not hold.
    pub missed: Vec<String>,
}

/// The figures of some of the requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Group {
    pub completed: u64,
    pub failed: u64,
    pub outcomes: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_time: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Times>,
}

/// A part of the load's shape, from the start of the measurement.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Segment {
    pub name: String,
    pub begin_s: f64,
    pub end_s: f64,
    #[serde(flatten)]
    pub group: Group,
}

/// Who decided when a request starts.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum Pacing {
    Open { arrivals: String },
    Closed { think_ns: u64 },
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Connections {
    pub asked: u64,
    pub reached: u64,
    /// How long it took to open them, before the load began. Absent on virtual time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub opening_s: Option<f64>,
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Clock {
    pub start_ns: u64,
    pub measurement_start_ns: u64,
    pub measurement_end_ns: u64,
    pub end_ns: u64,
}

/// The figures of all targets together, or of one.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Part {
    pub counts: Counts,
    pub rates_per_s: Rates,
    /// Requests by outcome: `ok`, `status`, `timeout`, `connect`, `reset`, `malformed`, `dropped`,
    /// `unfinished`, …; kinds that did not occur are absent.
    pub outcomes: BTreeMap<String, u64>,
    /// Answers by status.
    pub statuses: BTreeMap<String, u64>,
    /// What was wrong with failed requests, by `outcome: reason`, where the outcome does not say it
    /// all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub reasons: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_time: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_delay: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_delay: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_time: Option<Times>,
    /// Of the TLS handshakes, each from the end of connecting.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls_time: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Tls>,
    /// From sending to the first byte of the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_byte_time: Option<Times>,
}

/// How connections were secured, those before the measurement included.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tls {
    pub handshakes: u64,
    /// The share of handshakes that resumed an earlier connection's session.
    pub resumed_share: f64,
    /// What most of them have agreed on, for example `TLS 1.3` and `AES_256_GCM_SHA384`.
    pub version: String,
    pub cipher: String,
}

/// Over the measurement: every intended request has exactly one outcome.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Counts {
    pub intended: u64,
    pub sent: u64,
    pub completed: u64,
    pub ok: u64,
    pub failed: u64,
    pub unfinished: u64,
    pub dropped: u64,
    pub reconnects: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

/// Over the measurement. `completed` counts what completed inside it, whenever it was intended.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Rates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<f64>,
    pub offered: f64,
    pub completed: f64,
    /// Completions that succeeded, within the SLO if there is one.
    pub goodput: f64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Target {
    pub url: String,
    #[serde(flatten)]
    pub part: Part,
}

/// One interval of the series; `t_s` is its beginning, from the start of the measurement.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Interval {
    pub t_s: f64,
    pub length_s: f64,
    pub offered: u64,
    pub sent: u64,
    pub completed: u64,
    pub failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup_max_ns: Option<u64>,
    /// Of the shard that suffered most, like the next: the share in which it was runnable, and
    /// another thread ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_queue_wait: Option<f64>,
    /// The share in which the hypervisor ran somebody else on its CPUs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steal: Option<f64>,
    /// The share in which a CPU quota kept the generator from running.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throttled: Option<f64>,
}

/// What the generator knows of itself and its machine.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Generator {
    /// The kernel's interface to the network, `epoll` or `uring`, and why this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub io_why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<u64>,
    /// The CPUs that the shards were pinned to, as the kernel confirms them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cpus: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// The busiest shard's share of time outside waiting and spinning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_share: Option<f64>,
    /// The share of time that the shard spent in scripts which did most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub script_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup_max_ns: Option<u64>,
    /// The longest turn of a shard's loop: it bounds the error of every `done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_max_ns: Option<u64>,
    /// Share of the measurement in which the hypervisor ran somebody else on our CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// Share of the measurement in which a CPU quota kept us from running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_share: Option<f64>,
    /// Share of the measurement in which a shard was runnable, but another thread ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_queue_wait_share: Option<f64>,
    /// How long what was read in the measurement had lain in the kernel: how long answers waited
    /// for us. Absent unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive_delay: Option<Times>,
    /// What the TCP of the whole host sent in the measurement, and sent again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_retransmitted: Option<u64>,
    /// At least so many local ports were free for connections from one of our addresses to one of a
    /// target's, unless others load it too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub free_ports: Option<u64>,
    /// The generator was late by more than a tenth of the response time's p99 itself, which is
    /// therefore an upper bound.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub p99_at_most: bool,
    /// The completed rate of this closed loop was limited by the generator, not by the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator_bound: Option<bool>,
}

/// Whether the generator and its machine were fit; never whether the target was.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Validity {
    pub valid: bool,
    /// Empty if valid; else a sentence for each gate that was not passed, with its remedy.
    pub reasons: Vec<String>,
    pub gates: Vec<Gate>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Gate {
    /// `late`, `lost` or `disturbed`.
    pub name: String,
    pub passed: bool,
    /// The figure and its bound in words: `lateness p99 12 µs, bound 100 µs`.
    pub figure: String,
}
