//! A script's `done` after a load of ours, with figures in the form that wrk2's scripts expect.

use std::collections::BTreeMap;

use load::measurement::Measurement;
use load::observe::Part;
use load::{Fault, Outcome};
use measure::{Histogram, Nanos};
use script::{Distribution, Errors, Results, ScriptSet, Summary};

/// Calls `done` for each target. Latencies are response times.
pub(super) fn run(script_set: &ScriptSet, measurement: &Measurement) -> Result<(), Fault> {
    let length = measurement.window.length();
    for (target, part) in measurement.parts.iter().enumerate() {
        if script_set.has_done(target)? {
            let (summary, latency) = (summary(part, length), times(&part.response));
            let requests = rates(measurement);
            script_set.done(target, &Results { summary, latency, requests })?;
        }
    }
    Ok(())
}

fn summary(part: &Part, length: Nanos) -> Summary {
    let outcome = |outcome| part.outcome(outcome);
    Summary {
        duration_us: length.0 / 1000,
        requests: part.answers,
        bytes: part.bytes_received,
        errors: Errors {
            connect: outcome(Outcome::Connect),
            read: outcome(Outcome::Reset) + outcome(Outcome::Malformed),
            write: outcome(Outcome::Write),
            status: part.bad_answers,
            timeout: outcome(Outcome::Timeout),
        },
    }
}

fn times(histogram: &Histogram) -> Distribution {
    let us = |time: Nanos| time.0 as f64 / 1000.0;
    distribution(histogram.buckets().map(|(time, count)| (us(time), count)).collect())
}

/// Returns the distribution of requests per second over the intervals of the load.
fn rates(measurement: &Measurement) -> Distribution {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let measured = measurement.window.length();
    for (_, length, interval) in measurement.intervals().filter(|(begin, ..)| *begin < measured) {
        let rate = interval.completed as f64 / length.as_secs_f64();
        *counts.entry(rate as u64).or_default() += 1;
    }
    distribution(counts.into_iter().map(|(rate, count)| (rate as f64, count)).collect())
}

/// Returns the distribution with its moments as wrk2 computes them: of the recorded values, over n.
fn distribution(values: Vec<(f64, u64)>) -> Distribution {
    let count: u64 = values.iter().map(|(_, count)| count).sum();
    let mean_of = |of: &dyn Fn(f64) -> f64| {
        let sum: f64 = values.iter().map(|&(value, count)| of(value) * count as f64).sum();
        if count == 0 { 0.0 } else { sum / count as f64 }
    };
    let mean = mean_of(&|value| value);
    let stdev = mean_of(&|value| (value - mean).powi(2)).sqrt();
    let edge = |value: Option<&(f64, u64)>| value.map_or(0.0, |(value, _)| *value);
    let (min, max) = (edge(values.first()), edge(values.last()));
    Distribution { values, min, max, mean, stdev }
}
