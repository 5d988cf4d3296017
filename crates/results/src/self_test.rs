//! The generator's test of itself: the document of `benchwright load --self-test`, and the part
//! that later loads on the same machine use.

use serde::{Deserialize, Serialize};

pub const SCHEMA: &str = "benchwright.self-test/1";

/// A test of the generator against a server with known delays.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SelfTest {
    pub schema: String,
    /// The tool and its version, for example `benchwright 0.1.0`.
    pub version: String,
    /// The processor, the number of CPUs and the kernel: the figures are valid for these.
    pub machine: String,
    pub seed: u64,
    /// True if enough attempts were valid, and all valid ones agree with the server.
    pub passed: bool,
    /// Absent if generator and server had to share one CPU.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpus: Option<Cpus>,
    pub attempts: Vec<Attempt>,
    pub stall: Stall,
    pub maximum: Maximum,
    pub punctuality: Punctuality,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Cpus {
    pub generator: u32,
    pub server: u32,
}

/// A comparison of one load with the server's own log of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Attempt {
    /// The distribution of the server's delays.
    #[serde(alias = "law")]
    pub distribution: String,
    pub arrivals: String,
    pub valid: bool,
    /// The reasons why it was invalid.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reasons: Vec<String>,
    /// True if both sides saw the same requests, in the same order, at the same gaps and for the
    /// same time. Nothing follows from this if the attempt is not valid.
    pub agrees: bool,
    pub intended: u64,
    pub completed: u64,
    /// The number of requests in the server's log.
    pub logged: u64,
    pub out_of_order: u64,
    /// The mean gap between two requests: by the intended times, and by the server's log.
    pub gap_ns: u64,
    pub logged_gap_ns: u64,
    /// A hundredth of it, and the longest possible transit time of the first or the last request.
    pub gap_tolerance_ns: u64,
    pub quantiles: Vec<Comparison>,
}

/// A quantile of the response time on both sides.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Comparison {
    /// `p50`, `p90` or `p99`.
    pub level: String,
    pub measured_ns: u64,
    pub logged_ns: u64,
    pub difference_ns: u64,
    /// A hundredth of the logged value, and twice the floor.
    pub tolerance_ns: u64,
    /// The time that the same load takes without any delay.
    pub floor_ns: u64,
}

impl Comparison {
    pub fn agrees(&self) -> bool {
        self.difference_ns <= self.tolerance_ns
    }
}

/// The results of an open and a closed loop against a server that stalls once.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Stall {
    pub stall_ns: u64,
    pub measured_ns: u64,
    pub rate_per_s: f64,
    pub connections: u64,
    /// True if the gates of both runs were passed.
    pub valid: bool,
    /// True if the open loop's response time shows the stall, and no other time does.
    pub agrees: bool,
    pub open_response_p99_ns: u64,
    pub open_service_p99_ns: u64,
    pub closed_response_p99_ns: u64,
}

/// One shard that sends as fast as it can.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Maximum {
    pub completed_per_s: f64,
    pub connections: u64,
    /// The shard's share of time outside waiting: near 1, the generator was the limit; otherwise
    /// the server was, and the generator's own maximum is higher.
    pub busy_share: f64,
    pub valid: bool,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Punctuality {
    pub rate_per_s: f64,
    pub valid: bool,
    pub lateness_p50_ns: u64,
    pub lateness_p99_ns: u64,
    pub hiccup_p99_ns: u64,
    /// The time that one reading of the clock takes.
    pub clock_ns: f64,
}
