//! The guesses of a first experiment: values that nobody stated, each with its reason.

use std::collections::BTreeMap;

use measure::{Nanos, Rate};
use results::Slo;

use super::Range;
use super::words::Guessed;

#[cfg(test)]
mod tests;

/// The connections, and the longest time of a request, of a service that is not known.
pub const CONNECTIONS: u32 = 64;
pub const TIMEOUT: Nanos = Nanos::from_secs(10);
/// The limit of the p99, as a multiple of the time of a request that is alone, and the least one.
const TIMES: u64 = 10;
const LEAST_LIMIT: Nanos = Nanos::from_millis(20);
const USUAL_LIMIT: Nanos = Nanos::from_millis(100);
/// So many times as much as one connection completes is looked for.
const OF_ONE: f64 = 32.0;
/// The share of the peak of a log up to which is looked.
const OF_PEAK: f64 = 3.0;
const LEAST_RATE: f64 = 1.0;

/// Returns the reasons of the values that are guesses in any first experiment.
pub fn usual() -> BTreeMap<Guessed, String> {
    BTreeMap::from(
        [
            (Guessed::Arrivals, "the requests are those of users who do not wait for each other"),
            (
                Guessed::Connections,
                "enough unless the answer is a bound that names the connections; more if many users have their own",
            ),
            (Guessed::Timeout, "the longest time that a user would wait"),
            (
                Guessed::Phases,
                "enough for a service that is warm after a second; longer if its caches or its compiler need more",
            ),
        ]
        .map(|(of, why)| (of, why.to_owned())),
    )
}

/// Returns the reason of the phases of a load of sessions whose longest one thinks for so long.
pub fn phases_of_sessions(longest: Nanos) -> String {
    format!(
        "the warm-up is as long as the longest session, which thinks for {longest}, and the measurement at least three \
         times as long; a minute each is enough"
    )
}

/// Returns the objectives of a service of which a request that is alone takes this time, with the reason.
pub fn slo(alone: Option<Nanos>) -> (Vec<Slo>, String) {
    let (limit, why) = match alone {
        Some(alone) => {
            let limit = readable((alone * TIMES).max(LEAST_LIMIT));
            let times = format!("{TIMES} times what a request takes that is alone, {alone}");
            match limit <= TIMEOUT {
                true => (limit, format!("{times}, and at least {LEAST_LIMIT}")),
                // A longer one can never be missed.
                false => (TIMEOUT, format!("the timeout, as {times}, is more")),
            }
        }
        None => (USUAL_LIMIT, "what users hardly notice".to_owned()),
    };
    let slo = [format!("p99<={}", limit.written()), "failures<=0.1%".to_owned()];
    let slo = slo.map(|slo| slo.parse().expect("it is a valid objective"));
    (slo.into(), format!("{why}; write what your users need"))
}

/// Returns the loads between which to look, if one connection takes this time for each request, with the reason.
pub fn of_one_connection(alone: Nanos) -> (Range, String) {
    let rate = 1.0 / alone.as_secs_f64().max(1e-6);
    let range = range(rate / 2.0, rate * OF_ONE);
    let why = format!(
        "one connection completes {}, as a request takes {alone} there; half of it makes nothing wait, and \
         {OF_ONE} times as much is more than most services do by several cores",
        Rate::rounded(rate)
    );
    (range, why)
}

/// Returns the loads between which to look, if the service had these rates, with the reason.
pub fn of_rates(median: f64, peak: f64, minutes: u64) -> (Range, String) {
    let why = format!(
        "from the usual minute of the log ({} requests a second) to {OF_PEAK} times its busiest one ({}), of {minutes} \
         minutes with requests",
        measure::quantity::grouped(median),
        measure::quantity::grouped(peak)
    );
    (range(median, peak * OF_PEAK), why)
}

fn range(low: f64, high: f64) -> Range {
    let low = two_digits(low.max(LEAST_RATE));
    let high = two_digits(high.max(low * OF_PEAK));
    let rate = |rate: f64| Rate::per_second(rate).expect("it is at least one");
    Range(rate(low), rate(high))
}

/// Returns a number with the two digits that a guess deserves.
fn two_digits(number: f64) -> f64 {
    let scale = 10f64.powf(number.log10().floor() - 1.0);
    let scale = scale.max(1.0);
    (number / scale).round().max(1.0) * scale
}

/// Returns the next longer time of 1, 2, 5, 10, 20, … milliseconds.
fn readable(time: Nanos) -> Nanos {
    let steps =
        (0..).flat_map(|power| [1, 2, 5].map(|step| Nanos::from_millis(step * 10u64.pow(power))));
    steps.take(18).find(|step| time <= *step).unwrap_or(Nanos::from_secs(60))
}
