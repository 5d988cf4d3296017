//! The lines by which a generator speaks to the program that started it, on stderr: its progress
//! (`benchwright load --progress lines`), and its clock and start (`--start stdin`). One JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// One line.
#[expect(clippy::large_enum_variant, reason = "one is read, used and dropped at a time")]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Said {
    /// Its connections are open, and it waits to be told when to begin. Times are those of its clock, in
    /// nanoseconds.
    Ready { now_ns: u64 },
    /// The time, for which it was asked.
    Clock { now_ns: u64 },
    /// It begins at `start_ns` of its clock.
    Start { now_ns: u64, start_ns: u64 },
    #[serde(rename = "not understood")]
    NotUnderstood { now_ns: u64, why: String },
    #[serde(untagged)]
    Tick(Tick),
}

impl Said {
    /// Reads a line; `None` if it is for people.
    pub fn read(line: &str) -> Option<Said> {
        serde_json::from_str(line).ok()
    }
}

/// The progress of a load in one interval.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Tick {
    pub phase: Phase,
    /// Seconds since the measurement began; zero in the warm-up.
    #[serde(default)]
    pub elapsed_s: f64,
    pub asked_per_s: Option<f64>,
    pub offered_per_s: Option<f64>,
    /// Responses that arrived in the interval, whenever they were requested; the same figure as in
    /// the document's series and in `rates_per_s.completed`.
    pub completed_per_s: Option<f64>,
    /// The operations of these; absent where each request is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations_per_s: Option<f64>,
    /// The response times of the interval.
    #[serde(flatten)]
    pub last: Quantiles,
    /// The response times since the measurement began.
    #[serde(default)]
    pub whole: Quantiles,
    pub lateness_p99_ns: Option<u64>,
    /// The most requests without a response at one time.
    pub in_flight: Option<u64>,
    #[serde(default)]
    pub failed: u64,
    /// The failed requests of the interval by their outcome.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// The requests of the interval by label, in the order of the mix; absent if none has a label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Labelled>,
}

/// The requests with one label that ended in an interval.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Labelled {
    pub label: String,
    /// As in [`Tick`], but of requests that count.
    pub completed_per_s: f64,
    pub failed: u64,
    /// The mean response time; absent if no request has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
}

impl Labelled {
    fn add(&mut self, other: &Labelled) {
        let (own, others) = (self.completed_per_s, other.completed_per_s);
        self.mean_ns = match (self.mean_ns, other.mean_ns) {
            (Some(mean), Some(of_other)) if 0.0 < own + others => {
                Some(((mean as f64 * own + of_other as f64 * others) / (own + others)) as u64)
            }
            (mean, of_other) => mean.or(of_other),
        };
        self.completed_per_s += others;
        self.failed += other.failed;
    }
}

/// Adds the figures by label of another generator.
fn together(mut all: Vec<Labelled>, others: &[Labelled]) -> Vec<Labelled> {
    for other in others {
        match all.iter_mut().find(|one| one.label == other.label) {
            Some(one) => one.add(other),
            None => all.push(other.clone()),
        }
    }
    all
}

/// A phase of a load.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    WarmUp,
    Measurement,
    Drain,
}

impl Phase {
    /// Returns the name in a line, and in metrics: `warm_up`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::WarmUp => "warm_up",
            Phase::Measurement => "measurement",
            Phase::Drain => "drain",
        }
    }

    /// Returns what the generator does, in words: `warming up`.
    pub fn in_words(self) -> &'static str {
        match self {
            Phase::WarmUp => "warming up",
            Phase::Measurement => "measuring",
            Phase::Drain => "draining",
        }
    }
}

/// Response times in nanoseconds; absent if no request ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Quantiles {
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p999_ns: Option<u64>,
}

impl Quantiles {
    /// Returns the higher one of each.
    fn worst(self, other: Quantiles) -> Quantiles {
        Quantiles {
            p50_ns: self.p50_ns.max(other.p50_ns),
            p99_ns: self.p99_ns.max(other.p99_ns),
            p999_ns: self.p999_ns.max(other.p999_ns),
        }
    }
}

impl Tick {
    /// Returns the progress of all generators of a load: sums of rates, and the worst quantiles.
    pub fn together<'a>(ticks: impl Iterator<Item = &'a Tick>) -> Tick {
        let sum = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        ticks.fold(Tick::default(), |all, tick| Tick {
            phase: tick.phase,
            elapsed_s: all.elapsed_s.max(tick.elapsed_s),
            asked_per_s: sum(all.asked_per_s, tick.asked_per_s),
            offered_per_s: sum(all.offered_per_s, tick.offered_per_s),
            completed_per_s: sum(all.completed_per_s, tick.completed_per_s),
            operations_per_s: sum(all.operations_per_s, tick.operations_per_s),
            last: all.last.worst(tick.last),
            whole: all.whole.worst(tick.whole),
            lateness_p99_ns: all.lateness_p99_ns.max(tick.lateness_p99_ns),
            in_flight: match (all.in_flight, tick.in_flight) {
                (Some(all), Some(one)) => Some(all + one),
                (all, one) => all.or(one),
            },
            failed: all.failed + tick.failed,
            errors: tick.errors.iter().fold(all.errors, |mut errors, (class, count)| {
                *errors.entry(class.clone()).or_default() += count;
                errors
            }),
            labels: together(all.labels, &tick.labels),
        })
    }
}
