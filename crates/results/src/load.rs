//! The measurements of one generator: the document that `benchwright load --json` prints.

use std::collections::BTreeMap;
use std::fmt;

use measure::{Histogram, Quantile};
use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::events::Events;
use crate::failure::Failure;
use crate::printed::{Printed, Since};
use crate::sessions::{Arrivals, Sessions};
use crate::slo::Outcome;
use crate::times::{self, Times};

#[cfg(test)]
mod tests;

/// Version 2 (2026-11) judges each objective of `slo` separately, keeps the response times of
/// failed requests and those without lateness, and states whether the target was saturated.
/// Version 3 (2026-11) does not count unfinished requests as failed, and keeps the rate of those that
/// succeeded.
pub const SCHEMA: &str = "benchwright.load/3";
/// The older versions, in which `failed` contains the unfinished requests.
const OLDER: [&str; 2] = ["benchwright.load/1", "benchwright.load/2"];

/// One load, from its first connection to the end of its drain.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Load {
    pub schema: String,
    /// The tool and its version, for example `benchwright 0.1.0`.
    pub version: String,
    pub arguments: Vec<String>,
    /// The original as which the engine was started: `wrk`, `wrk2` or `dsb`.
    #[serde(skip_serializing_if = "Option::is_none", default, alias = "flavour")]
    pub compatibility: Option<String>,
    /// The name of somebody else's generator that made this load: `wrk`. Then this document holds
    /// what that generator prints, and nothing else; absent if the engine made it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign: Option<String>,
    pub seed: u64,
    /// The part of a load that several generators made, `2/3`; absent if this is the whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub part: Option<String>,
    /// True if the load ended early: the figures cover what was measured until then.
    pub partial: bool,
    /// The reason why it ended, if not as planned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Ended>,
    /// The failures by reason and by requests, the most frequent first. Absent without any, and in earlier documents.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failures: Vec<Failure>,
    pub pacing: Pacing,
    /// The kind of the arrivals of an open loop. Absent in a closed loop, and in earlier documents, where they
    /// are requests.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<Arrivals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// The beginning and end of the phases on the host's monotonic clock. Absent on virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// The duration of the measurement.
    pub measured_s: f64,
    #[serde(flatten)]
    pub total: Part,
    pub targets: Vec<Target>,
    /// The delivery of the events that the requests carried, if a receiver noted them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub events: Option<Events>,
    /// The figures by label of the requests, if they have labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub labels: BTreeMap<String, Group>,
    /// The figures by segment of the load's shape, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub segments: Vec<Segment>,
    pub series: Vec<Interval>,
    /// True if the target did not keep up with an open loop; decided once, here, by the engine: of
    /// the requests that arrived in the second half of the measurement, and in each half of that
    /// half, fewer than 97 % were answered in the same time, by more than random variation
    /// explains. A long response time alone is not saturation, and the length of the drain changes
    /// nothing. If arrivals are sessions, also if those in progress grew in number together with the
    /// requests that wait, by more than the rate of requests did. Absent for a closed loop, and if the
    /// load was too short, or had too few requests, to decide.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub saturated: Option<bool>,
    pub generator: Generator,
    pub validity: Validity,
    /// Notices about the target: saturation, failures, a backlog at its bound.
    pub findings: Vec<String>,
    /// Reasons that weaken the figures without making them invalid, with advice.
    pub warnings: Vec<String>,
    /// The verdict on the objectives; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slo: Option<Outcome>,
    /// The latencies as wrk computes them, if the engine was started as wrk.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wrk: Option<Wrk>,
}

impl Load {
    /// Returns the intervals of the measurement, without the drain.
    pub fn measured(&self) -> impl Iterator<Item = &Interval> {
        self.series.iter().filter(|each| !self.is_drain(each))
    }

    /// Returns true if the interval is the drain, which begins where the measurement ends, and may be much longer than
    /// the others.
    pub fn is_drain(&self, interval: &Interval) -> bool {
        self.measured_s - 1e-6 <= interval.t_s
    }

    /// Reads the document of a generator, of this version or an older one; the error states why it
    /// cannot be read.
    pub fn read(text: &[u8]) -> Result<Load, String> {
        let mut load: Load = serde_json::from_slice(text)
            .map_err(|error| format!("its document cannot be read: {error}"))?;
        match &*load.schema {
            SCHEMA => {}
            older if OLDER.contains(&older) => load.take_unfinished_off_failed(),
            other => return Err(format!("its document is a `{other}`, not a `{SCHEMA}`")),
        }
        bounds::check(text)?;
        Ok(load)
    }

    /// Converts the counts of an older version. Requests are unfinished once the load has ended, so in
    /// the series they are in its last interval.
    fn take_unfinished_off_failed(&mut self) {
        let unfinished = self.total.counts.unfinished;
        let last = self.series.last_mut().into_iter().map(|last| (&mut last.failed, unfinished));
        let targets = self.targets.iter_mut().map(|target| &mut target.part.counts);
        let parts = [&mut self.total.counts].into_iter().chain(targets);
        let parts = parts.map(|counts| (&mut counts.failed, counts.unfinished));
        let segments = self.segments.iter_mut().map(|segment| &mut segment.group);
        let groups = self.labels.values_mut().chain(segments).map(|group| {
            (&mut group.failed, group.outcomes.get(UNFINISHED).copied().unwrap_or_default())
        });
        for (failed, unfinished) in last.chain(parts).chain(groups) {
            *failed = failed.saturating_sub(unfinished);
        }
    }

    /// A load without a request, valid and without any figure: the defaults for a document that is
    /// not created by the engine.
    pub fn empty(version: &str) -> Load {
        Load {
            schema: SCHEMA.to_owned(),
            version: version.to_owned(),
            arguments: Vec::new(),
            compatibility: None,
            foreign: None,
            seed: 0,
            part: None,
            partial: false,
            ended: None,
            failures: Vec::new(),
            pacing: Pacing::Closed { think_ns: 0 },
            arrivals: None,
            connections: None,
            clock: None,
            measured_s: 0.0,
            total: Part::default(),
            targets: Vec::new(),
            events: None,
            labels: BTreeMap::new(),
            segments: Vec::new(),
            series: Vec::new(),
            saturated: None,
            generator: Generator::default(),
            validity: Validity {
                valid: true,
                reasons: Vec::new(),
                gates: Vec::new(),
                unknown: Vec::new(),
            },
            findings: Vec::new(),
            warnings: Vec::new(),
            slo: None,
            wrk: None,
        }
    }

    /// Returns the printed times of another generator, if they are response times: counted from the
    /// intended start, or in a closed loop from sending.
    pub fn printed_response_times(&self) -> Option<&Printed> {
        let is_closed = matches!(self.pacing, Pacing::Closed { .. });
        self.total.printed.as_ref().filter(|printed| match printed.since {
            Since::Intended => true,
            Since::Sent => is_closed,
        })
    }
}

/// The reason why a load ended before its time.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    Halted,
    Overloaded,
    #[serde(rename = "by the workload")]
    ByWorkload,
    /// It had missed its SLO whatever followed.
    #[serde(rename = "slo missed")]
    SloMissed,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ended::Halted => "halted",
            Ended::Overloaded => "overloaded",
            Ended::ByWorkload => "by the workload",
            Ended::SloMissed => "slo missed",
        })
    }
}

/// wrk's latencies before and after it adds the requests that slow answers have prevented.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Wrk {
    pub raw: Latencies,
    pub filled: Latencies,
}

/// Latencies in whole microseconds, by wrk's ranks.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Latencies {
    pub count: u64,
    pub p50_us: u64,
    pub p75_us: u64,
    pub p90_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
}

/// The outcome of a request that had no response when the load ended.
pub const UNFINISHED: &str = "unfinished";

/// The figures of a part of the requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Group {
    pub completed: u64,
    /// As in [`Counts`].
    pub failed: u64,
    pub outcomes: BTreeMap<String, u64>,
    /// As in [`Part`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub reasons: BTreeMap<String, u64>,
    /// The successes by status.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub ok_statuses: BTreeMap<String, u64>,
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

/// The rule by which requests start.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum Pacing {
    Open { arrivals: String },
    Closed { think_ns: u64 },
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Connections {
    pub asked: u64,
    pub reached: u64,
    /// The time that it took to open them, before the load began. Absent on virtual time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub opening_s: Option<f64>,
    /// Those that the generator closed because the target sent bytes on them that belong to no request; absent if
    /// there were none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unasked: Option<u64>,
    /// The share of the measurement in which the target refused them; absent if that was a twentieth or less.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused_share: Option<f64>,
    /// The times that the target closed one after a single response without announcing it; absent if it does not do so
    /// with each response.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub closed_silently: Option<u64>,
}

/// Points in time as nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Clock {
    /// The boot of the machine from which they are counted: the kernel's boot id.
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
    /// The operations that the requests carried; absent where each request is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub operations: Option<Operations>,
    /// The sessions; absent where each request stands alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sessions: Option<Sessions>,
    /// The number of times that the target sent a request elsewhere; absent if it never did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub redirected: Option<u64>,
    /// The mean number of requests in progress during the measurement, each from its intended start to
    /// its end; in the closed loop of another generator, its connections. Absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub in_progress: Option<f64>,
    /// Requests by outcome: `ok`, `status`, `check`, `capture`, `timeout`, `connect`, `reset`, `malformed`, `dropped`,
    /// `unfinished`, …; kinds that did not occur are absent.
    pub outcomes: BTreeMap<String, u64>,
    /// Answers by status.
    pub statuses: BTreeMap<String, u64>,
    /// The reasons of failed requests, by `outcome: reason`, if the outcome alone does not explain
    /// the failure: the status of a response, the rule that it violated, or other details.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub reasons: BTreeMap<String, u64>,
    /// The times from the intended start to the end, of requests that were answered, well or not,
    /// and of those that were given up. It contains the generator's own lateness, so its quantiles
    /// are upper bounds of the target's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_time: Option<Times>,
    /// The response times of the failed ones among them; up to version 2 of the unfinished ones, too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed_response_time: Option<Times>,
    /// The times that the unfinished ones among them had waited: lower bounds of their response times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unfinished_response_time: Option<Times>,
    /// The response time of each of the same requests, minus its own lateness: its quantiles are
    /// lower bounds. An SLO that is met by `response_time` is met; one that is missed by these
    /// times is missed; between the two, this load does not decide.
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
    /// The times that requests waited, as asked for, to be sent together with others, of those that
    /// did: neither lateness nor backlog delay.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batch_delay: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_time: Option<Times>,
    /// The times of the TLS handshakes, each from the end of connecting.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls_time: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Tls>,
    /// The times of the protocol's own handshakes, each from the end of connecting, or of TLS's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setup_time: Option<Times>,
    /// The times from sending to the first byte of the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_byte_time: Option<Times>,
    /// The times that another generator printed, in place of all others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub printed: Option<Printed>,
}

impl Part {
    /// Returns all its times.
    pub fn times_mut(&mut self) -> [&mut Option<Times>; 13] {
        [
            &mut self.response_time,
            &mut self.failed_response_time,
            &mut self.unfinished_response_time,
            &mut self.response_time_less_lateness,
            &mut self.service_time,
            &mut self.start_delay,
            &mut self.lateness,
            &mut self.backlog_delay,
            &mut self.batch_delay,
            &mut self.connect_time,
            &mut self.tls_time,
            &mut self.setup_time,
            &mut self.first_byte_time,
        ]
    }
}

/// The operations of requests that carry several. They share the times of their request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Operations {
    /// The operations of the requests that count and were sent.
    pub count: u64,
    /// The operations that were answered inside the measurement, no matter when their requests were
    /// intended, per second.
    pub completed_per_s: f64,
    /// The operations by outcome, as those of requests: each has exactly one.
    pub outcomes: BTreeMap<String, u64>,
}

/// The TLS properties of the connections, including those before the measurement.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tls {
    pub handshakes: u64,
    /// The share of handshakes that resumed an earlier connection's session.
    pub resumed_share: f64,
    /// The version and cipher that most of them negotiated, for example `TLS 1.3` and
    /// `AES_256_GCM_SHA384`.
    pub version: String,
    pub cipher: String,
}

/// Counts over the measurement: every intended request has exactly one outcome. `intended` = `ok` +
/// `failed` + `unfinished`: a request that still had no response when the load ended did not fail; how it
/// would have ended is not known. `completed` counts the answered requests, well or not.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Counts {
    pub intended: u64,
    pub sent: u64,
    pub completed: u64,
    /// Requests that were answered inside the measurement, no matter when they were intended:
    /// `rates_per_s.completed` counts these, and their answers are in `bytes_received`.
    #[serde(default)]
    pub completed_inside: u64,
    pub ok: u64,
    /// Requests that ended badly: a wrong answer, none in time or a lost connection, or `dropped`.
    pub failed: u64,
    /// Requests that were neither answered nor given up when the load ended.
    pub unfinished: u64,
    /// The part of `failed` that found the backlog full.
    pub dropped: u64,
    pub reconnects: u64,
    /// Bytes written and read inside the measurement, no matter when the requests were intended.
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

/// Rates over the measurement. `completed` counts what completed inside it, no matter when it was
/// intended: after a warm-up with a backlog it can be higher than `offered`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Rates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<f64>,
    pub offered: f64,
    pub completed: f64,
    /// The completed rate, but at most the offered one: the part of the offer that the target
    /// sustained.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sustained: Option<f64>,
    /// The successes that completed inside the measurement, whatever their response times; absent up to
    /// version 2.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub succeeded: Option<f64>,
    /// The part of them within the SLO, or all of them without one.
    pub goodput: f64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Target {
    pub url: String,
    /// The path of all requests; absent if the workload chooses the path of each.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    #[serde(flatten)]
    pub part: Part,
}

/// One interval of the series; `t_s` is its beginning, from the start of the measurement. In a
/// merged document that is the measurement that began first.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Interval {
    pub t_s: f64,
    pub length_s: f64,
    pub offered: u64,
    pub sent: u64,
    /// Requests that were answered in it, no matter when they were intended: divided by its length,
    /// the rate that `rates_per_s.completed` states for the whole measurement.
    pub completed: u64,
    /// The operations of these requests; absent where each request is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub operations: Option<u64>,
    /// Failures as in [`Counts`], like the times, of requests that were intended in the measurement.
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
    /// The response times that ended in it, encoded like [`Times::histogram`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_histogram: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<u64>,
    /// The mean number of requests that waited for a response; `outstanding` is the highest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outstanding_mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<u64>,
    /// The lateness of the requests that ended in it, encoded like [`Times::histogram`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lateness_histogram: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup_max_ns: Option<u64>,
    /// The share in which a shard was runnable, but another thread ran. This and the next are of
    /// the shard that was affected most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_queue_wait: Option<f64>,
    /// The share in which the hypervisor ran others on its CPUs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steal: Option<f64>,
    /// The share in which a CPU quota kept the generator from running, at most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throttled: Option<f64>,
}

impl Interval {
    /// Sets the histograms and the figures that are computed from them. Those of an empty histogram are
    /// absent.
    pub fn set_times(&mut self, response: &Histogram, lateness: &Histogram) {
        let quantile = |q| response.quantile(q).map(|time| time.0);
        self.p50_ns = quantile(Quantile::P50);
        self.p90_ns = quantile(Quantile::P90);
        self.p99_ns = quantile(Quantile::P99);
        self.p999_ns = quantile(Quantile::P999);
        self.max_ns = response.max().map(|time| time.0);
        self.lateness_p99_ns = lateness.quantile(Quantile::P99).map(|time| time.0);
        let encoded = |times: &Histogram| (0 < times.count()).then(|| times::encode(times));
        self.response_histogram = encoded(response);
        self.lateness_histogram = encoded(lateness);
    }

    /// The response times and the lateness. `None` if a histogram is unreadable, or if an older version
    /// wrote figures without histograms.
    pub fn times(&self) -> Option<(Histogram, Histogram)> {
        let lateness = read(self.lateness_histogram.as_ref(), self.lateness_p99_ns)?;
        Some((self.response_times()?, lateness))
    }

    /// The response times alone; `None` likewise.
    pub fn response_times(&self) -> Option<Histogram> {
        read(self.response_histogram.as_ref(), self.max_ns)
    }
}

/// Reads a histogram. Without any, there were no times if the figure is absent, too.
fn read(text: Option<&String>, figure: Option<u64>) -> Option<Histogram> {
    match text {
        Some(text) => times::decode(text),
        None => figure.is_none().then(Histogram::new),
    }
}

/// The generator's measurements of itself and its machine.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Generator {
    /// The kernel's interface to the network, `epoll` or `uring`, and the reason for this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub io_why: Option<String>,
    /// TCP's congestion control. Absent if no connection used TCP.
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
    /// The share of time spent in scripts, of the shard that spent most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub script_share: Option<f64>,
    /// The delay with which the kernel woke a shard that slept until shortly before a start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wake_up_delay: Option<Times>,
    /// The share of the measurement in which a shard watched the clock instead of sleeping, of the
    /// shard that did it most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spin_share: Option<f64>,
    /// The delay with which a sleeping thread was woken, once for each millisecond of the
    /// measurement: a pause of 20 ms counts 20 times, each time with the rest of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup: Option<Times>,
    /// Share of the measurement in which the machine did not run the generator for 0.5 ms or
    /// longer: the time that a closed loop lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub paused_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup_max_ns: Option<u64>,
    /// The longest turn of a shard's loop: it bounds the error of every `done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_max_ns: Option<u64>,
    /// Share of the measurement in which the hypervisor ran others on our CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// Share of the measurement in which a CPU quota kept us from running, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_share: Option<f64>,
    /// Share of the measurement in which a shard was runnable, but another thread ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_queue_wait_share: Option<f64>,
    /// The time that bytes read in the measurement had waited in the kernel: the time that answers
    /// waited for us. Absent unless it was requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive_delay: Option<Times>,
    /// The TCP segments that the whole host sent in the measurement, and sent again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_retransmitted: Option<u64>,
    /// The smallest number of local ports that were free for connections from one of our addresses
    /// to one of a target's, unless other programs load it, too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub free_ports: Option<u64>,
    /// True if the p99 of the response time is more than a tenth above that of the response time
    /// less lateness: it is an upper bound, and the target's own is between the two.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub p99_at_most: bool,
    /// True if the generator's own work, not the target, limited the load. Absent of an open loop otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator_bound: Option<bool>,
}

/// The fitness of the generator and its machine; never of the target.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Validity {
    pub valid: bool,
    /// Empty if valid; otherwise a sentence for each gate that was not passed, with its remedy.
    pub reasons: Vec<String>,
    pub gates: Vec<Gate>,
    /// The gates that cannot be judged, since the generator does not measure what they need.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<Unknown>,
}

impl Validity {
    /// True if the failed gates can only have made the target look worse: the generator was late or
    /// busy, or its machine was disturbed, and nothing was lost.
    pub fn is_only_slowed(&self) -> bool {
        self.is_refused_only_by(&[GateName::Late, GateName::Disturbed, GateName::Busy])
    }

    /// True if this gate failed.
    pub fn is_refused_by(&self, gate: GateName) -> bool {
        self.gates.iter().any(|one| !one.passed && one.name == gate)
    }

    /// True if a gate failed, and all that did are of these.
    pub fn is_refused_only_by(&self, gates: &[GateName]) -> bool {
        let mut failed = self.gates.iter().filter(|gate| !gate.passed).peekable();
        failed.peek().is_some() && failed.all(|gate| gates.contains(&gate.name))
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateName {
    /// The generator started requests late.
    Late,
    /// It lost requests or had no means to send them.
    Lost,
    /// The machine did not run the generator.
    Disturbed,
    /// The generator was so busy that it limited a closed loop; an open loop has no such gate.
    Busy,
}

impl fmt::Display for GateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GateName::Late => "late",
            GateName::Lost => "lost",
            GateName::Disturbed => "disturbed",
            GateName::Busy => "busy",
        })
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Gate {
    pub name: GateName,
    pub passed: bool,
    /// The figure and its bound in words: `lateness p99 12 µs, bound 100 µs`.
    pub figure: String,
}

/// A gate that was not judged.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Unknown {
    pub name: GateName,
    /// The missing figure in words: `wrk does not measure how late it sends requests`.
    pub why: String,
}
