//! What one generator measured: the document that `benchwright load --json` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::slo;
use crate::times::Times;

#[cfg(test)]
mod tests;

/// Version 2 (2026-11) judges each objective of `slo` apart, keeps the response times of failed
/// requests and those without lateness, and says whether the target was saturated.
pub const SCHEMA: &str = "benchwright.load/2";
const SCHEMA_1: &str = "benchwright.load/1";

/// One load, from its first connection to the end of its drain.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Load {
    pub schema: String,
    /// The tool and its version, for example `benchwright 0.1.0`.
    pub version: String,
    pub arguments: Vec<String>,
    /// The original as which the engine was started: `wrk`, `wrk2` or `dsb`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub compatibility: Option<String>,
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
    /// Whether the target kept up with an open loop; decided once, here, by the engine. `true`: of
    /// the requests that arrived in the second half of the measurement, and in each half of that
    /// half, fewer than 97 % were answered in the same time, by more than random variation explains. A long
    /// response time alone is not saturation, and the length of the drain changes nothing. Absent for
    /// a closed loop, and where the load was too short, or had too few requests, to tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub saturated: Option<bool>,
    pub generator: Generator,
    pub validity: Validity,
    /// What is to be known about the target: saturation, failures, a backlog at its bound.
    pub findings: Vec<String>,
    /// What weakens the figures without making them invalid, with advice.
    pub warnings: Vec<String>,
    /// Absent if nothing was wanted of the target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slo: Option<slo::Outcome>,
    /// The latencies as wrk reckons them, if we were started as wrk.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wrk: Option<Wrk>,
}

impl Load {
    /// Reads the document that a generator has written, of this version or an older one; the error
    /// says why it cannot be read.
    pub fn read(text: &[u8]) -> Result<Load, String> {
        let load: Load = serde_json::from_slice(text)
            .map_err(|error| format!("its document cannot be read: {error}"))?;
        match [SCHEMA, SCHEMA_1].contains(&load.schema.as_str()) {
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
            compatibility: None,
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
            saturated: None,
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
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Clock {
    /// Which start of which machine they are counted from: the kernel's boot id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub boot: Option<String>,
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
    /// From the intended start to the end, of requests that were answered, well or not, and of
    /// those that were given up. It contains the generator's own lateness, so its quantiles are upper
    /// bounds of the target's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_time: Option<Times>,
    /// The part of them that failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed_response_time: Option<Times>,
    /// The response time of each of the same requests, less its own lateness: its quantiles are
    /// lower bounds. An SLO that is met by `response_time` is met; one that is missed by these times
    /// is missed; what lies between the two is not decided by this load.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_time_less_lateness: Option<Times>,
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

/// Over the measurement: every intended request has exactly one outcome. `intended` = `ok` +
/// `failed`; `failed` counts every outcome but `ok`, so it contains `unfinished`, `dropped` and the
/// answers that were wrong. `completed` counts those that were answered, well or not.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Counts {
    pub intended: u64,
    pub sent: u64,
    pub completed: u64,
    /// Requests that were answered inside the measurement, whenever they were intended: what
    /// `rates_per_s.completed` counts, and whose answers are in `bytes_received`.
    #[serde(default)]
    pub completed_inside: u64,
    pub ok: u64,
    /// Requests that did not succeed, `unfinished` and `dropped` among them.
    pub failed: u64,
    /// The part of `failed` that was neither answered nor given up when the load ended.
    pub unfinished: u64,
    /// The part of `failed` that found the backlog full.
    pub dropped: u64,
    pub reconnects: u64,
    /// What was written and read inside the measurement, whenever the requests were intended.
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

/// Over the measurement. `completed` counts what completed inside it, whenever it was intended: after
/// a warm-up with a backlog it can be higher than `offered`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Rates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<f64>,
    pub offered: f64,
    pub completed: f64,
    /// The completed rate, but at most the offered one: what of the offer the target sustained.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sustained: Option<f64>,
    /// Completions that succeeded, within the SLO if there is one.
    pub goodput: f64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Target {
    pub url: String,
    #[serde(flatten)]
    pub part: Part,
}

/// One interval of the series; `t_s` is its beginning, from the start of the measurement. In a
/// merged document that is the measurement which began first.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Interval {
    pub t_s: f64,
    pub length_s: f64,
    pub offered: u64,
    pub sent: u64,
    /// Requests that were answered in it, whenever they were intended: over its length, the rate that
    /// `rates_per_s.completed` states for the whole measurement.
    pub completed: u64,
    /// Like the times, of requests that were intended in the measurement.
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
    /// TCP's congestion control. Absent where no connection was one of TCP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
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
    /// How much later than asked the kernel woke a shard that slept until shortly before a start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wake_up_delay: Option<Times>,
    /// The share of the measurement in which a shard watched the clock instead of sleeping, of the
    /// shard that did it most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spin_share: Option<f64>,
    /// How much too late a sleeping thread was woken, once for each millisecond of the measurement: a
    /// pause of 20 ms counts 20 times, with what was left of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup: Option<Times>,
    /// Share of the measurement in which the machine did not run the generator for 0.5 ms and more: what
    /// a closed loop lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub paused_share: Option<f64>,
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
    /// The p99 of the response time is more than a tenth above that of the response time less
    /// lateness: it is an upper bound, and the target's own lies between the two.
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

impl Validity {
    /// Returns whether what went wrong can only have made the target look worse: the generator was
    /// late, or its machine was disturbed, and nothing was lost.
    pub fn is_only_slowed(&self) -> bool {
        let mut failed = self.gates.iter().filter(|gate| !gate.passed).peekable();
        failed.peek().is_some() && failed.all(|gate| gate.name == LATE || gate.name == DISTURBED)
    }
}

/// The generator started requests late.
pub const LATE: &str = "late";
/// The machine did not run the generator.
pub const DISTURBED: &str = "disturbed";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Gate {
    /// `late`, `lost` or `disturbed`.
    pub name: String,
    pub passed: bool,
    /// The figure and its bound in words: `lateness p99 12 µs, bound 100 µs`.
    pub figure: String,
}
