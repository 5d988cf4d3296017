//! The figures by which trials and searches are compared and repeated.

use std::fmt;
use std::str::FromStr;

use measure::comparison::Better;
use measure::quantity::grouped;
use measure::{Nanos, Quantile};
use serde::{Deserialize, Serialize};

use crate::journal::Observed;

/// A figure of a trial, or of a search.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Metric {
    /// The completed rate.
    Completed,
    /// The rate of the requests that ended well and within the SLO.
    Goodput,
    P50,
    P90,
    P99,
    P999,
    /// The highest load that met the SLO, which a search finds.
    Capacity,
    /// The highest rate that the system sustained, which a sweep finds.
    MaximumThroughput,
}

impl Metric {
    pub const ALL: [Metric; 8] = [
        Metric::Completed,
        Metric::Goodput,
        Metric::P50,
        Metric::P90,
        Metric::P99,
        Metric::P999,
        Metric::Capacity,
        Metric::MaximumThroughput,
    ];
    /// The percentiles of the response time, the lowest first.
    pub const PERCENTILES: [Metric; 4] = [Metric::P50, Metric::P90, Metric::P99, Metric::P999];

    pub fn name(self) -> &'static str {
        match self {
            Metric::Completed => "completed",
            Metric::Goodput => "goodput",
            Metric::P50 => "p50",
            Metric::P90 => "p90",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::Capacity => "capacity",
            Metric::MaximumThroughput => "maximum_throughput",
        }
    }

    /// Returns true if a whole search has this figure, not a trial.
    pub fn is_of_search(self) -> bool {
        matches!(self, Metric::Capacity | Metric::MaximumThroughput)
    }

    /// Returns the level of a percentile of the response time.
    pub fn quantile(self) -> Option<Quantile> {
        match self {
            Metric::P50 => Some(Quantile::P50),
            Metric::P90 => Some(Quantile::P90),
            Metric::P99 => Some(Quantile::P99),
            Metric::P999 => Some(Quantile::P999),
            Metric::Completed | Metric::Goodput => None,
            Metric::Capacity | Metric::MaximumThroughput => None,
        }
    }

    pub fn better(self) -> Better {
        match self.quantile() {
            Some(_) => Better::Lower,
            None => Better::Higher,
        }
    }

    /// Returns the figure of a trial: nanoseconds, or a rate per second.
    pub fn of(self, observed: &Observed) -> Option<f64> {
        let time = |ns: Option<u64>| ns.map(|ns| ns as f64);
        match self {
            Metric::Completed => Some(observed.completed_per_s),
            Metric::Goodput => Some(observed.goodput_per_s),
            Metric::P50 => time(observed.p50_ns),
            Metric::P90 => time(observed.p90_ns),
            Metric::P99 => time(observed.p99_ns),
            Metric::P999 => time(observed.p999_ns),
            Metric::Capacity | Metric::MaximumThroughput => None,
        }
    }

    /// Writes a figure with its unit.
    pub fn written(self, value: f64) -> String {
        match self.quantile() {
            Some(_) => Nanos(value.round() as u64).to_string(),
            None => format!("{}/s", grouped(value)),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Metric> for &'static str {
    fn from(metric: Metric) -> &'static str {
        metric.name()
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(name: &str) -> Result<Metric, String> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Metric::ALL.into_iter().map(Metric::name).collect();
            format!("`{name}` is not a metric; write one of {}", names.join(", "))
        })
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(name: String) -> Result<Metric, String> {
        name.parse()
    }
}
