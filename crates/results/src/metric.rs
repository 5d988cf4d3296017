//! The figures by which trials and searches are compared and repeated.

use std::fmt;
use std::str::FromStr;

use measure::comparison::Better;
use measure::quantity::grouped;
use measure::{Nanos, Quantile};
use serde::{Deserialize, Serialize};

use crate::journal::{Delivery, Observed, OfLabel};

#[cfg(test)]
mod tests;

/// A figure of a trial, or of a search.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Metric {
    /// The completed rate.
    Completed,
    /// The rate of the requests that ended well and within the SLO.
    Goodput,
    P50,
    P75,
    P90,
    P95,
    P99,
    P999,
    P9999,
    /// Percentiles of the delivery time of events.
    DeliveryP50,
    DeliveryP90,
    DeliveryP99,
    DeliveryP999,
    DeliveryP9999,
    /// The events that were accepted and did not arrive.
    Lost,
    /// The events that arrived more than once.
    Duplicated,
    /// The highest load that met the SLO, which a search finds.
    Capacity,
    /// The highest rate that the system sustained, which a sweep finds.
    MaximumThroughput,
}

/// The rate, per second, that stands for none in a ratio.
const LEAST_RATE: f64 = 1e-3;

enum Unit {
    Time,
    Rate,
    Events,
}

impl Metric {
    pub const ALL: [Metric; 15] = [
        Metric::Completed,
        Metric::Goodput,
        Metric::P50,
        Metric::P90,
        Metric::P99,
        Metric::P999,
        Metric::DeliveryP50,
        Metric::DeliveryP90,
        Metric::DeliveryP99,
        Metric::DeliveryP999,
        Metric::DeliveryP9999,
        Metric::Lost,
        Metric::Duplicated,
        Metric::Capacity,
        Metric::MaximumThroughput,
    ];
    /// The percentiles of the response time that only files of load generators have: trials keep the others.
    pub const OF_FILES: [Metric; 3] = [Metric::P75, Metric::P95, Metric::P9999];
    /// The percentiles of the delivery time, the lowest first.
    pub const OF_DELIVERY: [Metric; 5] = [
        Metric::DeliveryP50,
        Metric::DeliveryP90,
        Metric::DeliveryP99,
        Metric::DeliveryP999,
        Metric::DeliveryP9999,
    ];
    /// The percentiles of the response time, the lowest first.
    pub const PERCENTILES: [Metric; 4] = [Metric::P50, Metric::P90, Metric::P99, Metric::P999];

    pub fn name(self) -> &'static str {
        match self {
            Metric::Completed => "completed",
            Metric::Goodput => "goodput",
            Metric::P50 => "p50",
            Metric::P75 => "p75",
            Metric::P90 => "p90",
            Metric::P95 => "p95",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::P9999 => "p99.99",
            Metric::DeliveryP50 => "delivery_p50",
            Metric::DeliveryP90 => "delivery_p90",
            Metric::DeliveryP99 => "delivery_p99",
            Metric::DeliveryP999 => "delivery_p99.9",
            Metric::DeliveryP9999 => "delivery_p99.99",
            Metric::Lost => "lost",
            Metric::Duplicated => "duplicated",
            Metric::Capacity => "capacity",
            Metric::MaximumThroughput => "maximum_throughput",
        }
    }

    /// Returns the name in a sentence: `maximum throughput`.
    pub fn in_words(self) -> String {
        self.name().replace('_', " ")
    }

    /// Returns true if a whole search has this figure, not a trial.
    pub fn is_of_search(self) -> bool {
        matches!(self, Metric::Capacity | Metric::MaximumThroughput)
    }

    /// Returns true if only a working service has this figure: one that fails is fast, and completes requests, too.
    /// The goodput counts the successes alone, and a search looks at failures itself.
    pub fn is_of_working_service(self) -> bool {
        self != Metric::Goodput && !self.is_of_search()
    }

    /// Returns true if only a load with a receiver of its events has this figure.
    pub fn is_of_delivery(self) -> bool {
        match self {
            Metric::DeliveryP50 | Metric::DeliveryP90 | Metric::DeliveryP99 => true,
            Metric::DeliveryP999 | Metric::DeliveryP9999 => true,
            Metric::Lost | Metric::Duplicated => true,
            Metric::Completed | Metric::Goodput => false,
            Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 => false,
            Metric::P75 | Metric::P95 | Metric::P9999 => false,
            Metric::Capacity | Metric::MaximumThroughput => false,
        }
    }

    /// Returns the unit in which a figure is counted.
    fn unit(self) -> Unit {
        match self {
            Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 => Unit::Time,
            Metric::P75 | Metric::P95 | Metric::P9999 => Unit::Time,
            Metric::DeliveryP50 | Metric::DeliveryP90 | Metric::DeliveryP99 => Unit::Time,
            Metric::DeliveryP999 | Metric::DeliveryP9999 => Unit::Time,
            Metric::Lost | Metric::Duplicated => Unit::Events,
            Metric::Completed | Metric::Goodput => Unit::Rate,
            Metric::Capacity | Metric::MaximumThroughput => Unit::Rate,
        }
    }

    /// Returns the level of a percentile of the response time.
    pub fn quantile(self) -> Option<Quantile> {
        match self {
            Metric::P50 => Some(Quantile::P50),
            Metric::P75 => Some(Quantile::P75),
            Metric::P90 => Some(Quantile::P90),
            Metric::P95 => Some(Quantile::P95),
            Metric::P99 => Some(Quantile::P99),
            Metric::P999 => Some(Quantile::P999),
            Metric::P9999 => Some(Quantile::P9999),
            _ => None,
        }
    }

    /// Returns the level of a percentile of any time.
    pub fn level(self) -> Option<Quantile> {
        match self {
            Metric::DeliveryP50 => Some(Quantile::P50),
            Metric::DeliveryP90 => Some(Quantile::P90),
            Metric::DeliveryP99 => Some(Quantile::P99),
            Metric::DeliveryP999 => Some(Quantile::P999),
            Metric::DeliveryP9999 => Some(Quantile::P9999),
            _ => self.quantile(),
        }
    }

    pub fn better(self) -> Better {
        match self.unit() {
            Unit::Time | Unit::Events => Better::Lower,
            Unit::Rate => Better::Higher,
        }
    }

    /// Returns the figure of a trial: nanoseconds, a rate per second, or a number of events.
    pub fn of(self, observed: &Observed) -> Option<f64> {
        let time = |ns: Option<u64>| ns.map(|ns| ns as f64);
        let delivery = observed.delivery.as_ref();
        let delivered = |of: fn(&Delivery) -> Option<u64>| time(delivery.and_then(of));
        match self {
            Metric::Completed => Some(observed.completed_per_s),
            Metric::Goodput => Some(observed.goodput_per_s),
            Metric::P50 => time(observed.p50_ns),
            Metric::P90 => time(observed.p90_ns),
            Metric::P99 => time(observed.p99_ns),
            Metric::P999 => time(observed.p999_ns),
            Metric::DeliveryP50 => delivered(|delivery| delivery.p50_ns),
            Metric::DeliveryP90 => delivered(|delivery| delivery.p90_ns),
            Metric::DeliveryP99 => delivered(|delivery| delivery.p99_ns),
            Metric::DeliveryP999 => delivered(|delivery| delivery.p999_ns),
            Metric::DeliveryP9999 => delivered(|delivery| delivery.p9999_ns),
            Metric::Lost => delivered(|delivery| Some(delivery.lost)),
            Metric::Duplicated => delivered(|delivery| Some(delivery.duplicated)),
            Metric::P75 | Metric::P95 | Metric::P9999 => None,
            Metric::Capacity | Metric::MaximumThroughput => None,
        }
    }

    /// Reads the name of a metric, also of one that only files of load generators have.
    pub fn of_files(name: &str) -> Result<Metric, String> {
        let found = Metric::OF_FILES.into_iter().find(|metric| metric.name() == name);
        found.map_or_else(|| name.parse(), Ok)
    }

    /// Returns true if the figure of a trial is a lower bound: a percentile of the delivery that falls among
    /// lost events.
    pub fn is_lower_bound(self, observed: &Observed) -> bool {
        let delivery = observed.delivery.as_ref().filter(|_| self.is_of_delivery());
        let from = delivery.and_then(|delivery| delivery.at_least_from_ns);
        let is_time = self.level().is_some();
        from.zip(self.of(observed)).is_some_and(|(from, ns)| is_time && from as f64 <= ns)
    }

    /// Returns a figure as one that has a ratio to any other, since zero has no logarithm: of events one more
    /// than were counted, and of rates at least one in a thousand seconds.
    pub fn for_ratio(self, value: f64) -> f64 {
        match self.unit() {
            Unit::Events => value + 1.0,
            Unit::Rate => value.max(LEAST_RATE),
            Unit::Time => value,
        }
    }

    /// Writes a figure with its unit.
    pub fn written(self, value: f64) -> String {
        match self.unit() {
            Unit::Time => Nanos(value.round() as u64).to_string(),
            Unit::Rate => format!("{}/s", grouped(value)),
            Unit::Events => grouped(value),
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

/// A metric of all requests, or of those with a label: `p99`, `login.p99`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MetricOf {
    pub label: Option<String>,
    pub metric: Metric,
}

impl From<Metric> for MetricOf {
    fn from(metric: Metric) -> MetricOf {
        MetricOf { label: None, metric }
    }
}

impl fmt::Display for MetricOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            Some(label) => write!(f, "{label}.{}", self.metric),
            None => self.metric.fmt(f),
        }
    }
}

impl FromStr for MetricOf {
    type Err = String;

    fn from_str(text: &str) -> Result<MetricOf, String> {
        let of_all = match text.parse::<Metric>() {
            Ok(metric) => return Ok(metric.into()),
            Err(why) => why,
        };
        let of_label = |metric: Metric| {
            let label = text.strip_suffix(metric.name())?.strip_suffix('.')?;
            (!label.is_empty()).then(|| MetricOf { label: Some(label.to_owned()), metric })
        };
        match Metric::ALL.into_iter().find_map(of_label) {
            Some(wanted) if OfLabel::METRICS.contains(&wanted.metric) => Ok(wanted),
            Some(MetricOf { label, metric }) => {
                let label = label.unwrap_or_default();
                Err(format!("there is no {metric} by label; write {label}.p50 or {label}.p99"))
            }
            None => Err(format!("{of_all}; p50 and p99 also of a label, for example login.p99")),
        }
    }
}

impl OfLabel {
    /// The metrics that trials keep by label.
    pub const METRICS: [Metric; 2] = [Metric::P50, Metric::P99];

    /// Returns a percentile of the response time, if it is kept by label.
    pub fn time_ns(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::P50 => self.p50_ns,
            Metric::P99 => self.p99_ns,
            _ => None,
        }
    }
}
