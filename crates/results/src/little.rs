//! Little's law over one load, L = λW: a check of the published times. It needs no histogram, and shows
//! what a mean leaves out.
//!
//! The law holds for any system and any order of service (J. D. C. Little, *Operations Research* 9, 1961;
//! for a finite time: *Operations Research* 59, 2011). All three are of the same requests, however they
//! ended, each from its intended start to its end:
//!
//! - L is the mean number in progress during the measurement. Our generator counts it; in the closed loop
//!   of another generator it is the number of its connections, if all requests were answered: one that
//!   ended without an answer has no time. In another generator's open loop it is unknown.
//! - λ is the rate of the requests that W claims to be the mean of: of ours the answered ones and those
//!   that were given up, of another generator's the answered ones.
//! - W is their published mean.
//!
//! A refusal after milliseconds and a success after seconds both count, so that W of a system that
//! refuses is nearly that of its refusals; [`Means`] has them apart. A request in progress at the beginning
//! or at the end counts in L for its time in the measurement, and in W for its whole time: the law is exact
//! only if both are as much. So of a load that grows, λW is above L.

use measure::Nanos;
use measure::quantity::grouped;
use serde::{Deserialize, Serialize};

use crate::load::{Load, Part};
use crate::times::Times;

#[cfg(test)]
mod tests;

/// The share of L above which the published times do not describe the load.
const LARGE: f64 = 0.1;

/// L, λ and W of one load.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Little {
    /// L, the mean number of requests in progress.
    pub in_progress: f64,
    /// λ, the rate of the requests of which `mean_ns` is the mean.
    pub per_s: f64,
    /// W, their mean response time as published.
    pub mean_ns: u64,
}

impl Little {
    /// Returns the figures of a load; `None` if one of them is unknown, or if nothing was in progress.
    pub fn of(load: &Load) -> Option<Little> {
        let in_progress = load.total.in_progress.filter(|number| 0.0 < *number)?;
        let ours = load.total.response_time.as_ref().map(|times| (times.count, times.mean_ns));
        let printed = || {
            let mean_ns = load.printed_response_times()?.mean_ns?;
            Some((load.total.counts.completed, mean_ns))
        };
        let (count, mean_ns) = ours.or_else(printed)?;
        let is_known = 0 < count && 0.0 < load.measured_s;
        is_known.then(|| Little { in_progress, per_s: count as f64 / load.measured_s, mean_ns })
    }

    /// Returns λW, the requests in progress that the times account for.
    pub fn accounted(&self) -> f64 {
        self.per_s * Nanos(self.mean_ns).as_secs_f64()
    }

    /// Returns the residual |L − λW| / L.
    pub fn residual(&self) -> f64 {
        (self.in_progress - self.accounted()).abs() / self.in_progress
    }

    /// Returns true if the published times do not describe the load.
    pub fn is_large(&self) -> bool {
        LARGE < self.residual()
    }

    /// Returns W by L and λ: the mean time of a request if nothing is left out.
    pub fn mean_by_law(&self) -> Nanos {
        Nanos::from_secs_f64(self.in_progress / self.per_s)
    }

    /// Returns the figures in words: `150 in progress, and 2,900/s × 13.5 ms account for 39.2: 73.9 % apart`.
    pub fn in_words(&self) -> String {
        let Little { in_progress, per_s, mean_ns } = *self;
        format!(
            "{} in progress, and {}/s × {} account for {}: {:.1} % apart",
            grouped(in_progress),
            grouped(per_s),
            Nanos(mean_ns),
            grouped(self.accounted()),
            100.0 * self.residual(),
        )
    }
}

/// Returns the warning about times that do not describe their load. A load that is saturated or ended early
/// needs none: its finding says that its times depend on its length. Nor does a generator whose times
/// account for too much: it adds estimates, of which its own warning tells.
pub fn warning(load: &Load) -> Option<String> {
    let has_grown = load.saturated == Some(true) || load.ended.is_some() || load.partial;
    let little = Little::of(load).filter(|little| little.is_large() && !has_grown)?;
    let is_short = little.accounted() < little.in_progress;
    let why = match (&load.foreign, is_short) {
        (Some(tool), true) => format!(
            "the times of {tool} leave out the rest, and a request took {} on average",
            little.mean_by_law()
        ),
        (Some(_), false) => return None,
        (None, true) => {
            "the rest was of requests that began before the measurement, or that have no \
                         response time"
                .to_owned()
        }
        (None, false) => {
            "more was in progress at the end than at the beginning, so the times depend on \
                          the length of the measurement; measure longer, or after a warm-up"
                .to_owned()
        }
    };
    Some(format!("Little's law: {}; {why}", little.in_words()))
}

/// Returns the mean time of the answers that a generator leaves out of its times, by what L has and its
/// times do not account for; `None` if none is missing, or if L is unknown.
pub fn mean_of_missing(part: &Part, measured_s: f64) -> Option<Nanos> {
    let printed = part.printed.as_ref().filter(|printed| 0 < printed.missing)?;
    // Without any time nothing is accounted for.
    let mean_ns = if printed.count == 0 { Some(0) } else { printed.mean_ns };
    let accounted_s = printed.count as f64 * Nanos(mean_ns?).as_secs_f64();
    let left_s = part.in_progress? * measured_s - accounted_s;
    (0.0 < left_s).then(|| Nanos::from_secs_f64(left_s / printed.missing as f64))
}

/// The mean response times of the requests that succeeded and of those that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    pub succeeded: Nanos,
    pub failed: Nanos,
}

impl Means {
    /// Returns the means of a part; `None` without a response time of each kind.
    pub fn of(part: &Part) -> Option<Means> {
        let (all, failed) = (part.response_time.as_ref()?, part.failed_response_time.as_ref()?);
        let others =
            || [Some(failed), part.unfinished_response_time.as_ref()].into_iter().flatten();
        let count: u64 = others().map(|times| times.count).sum();
        let succeeded = all.count.checked_sub(count).filter(|count| 0 < *count)?;
        let sum = |times: &Times| u128::from(times.mean_ns) * u128::from(times.count);
        let of_succeeded = sum(all).saturating_sub(others().map(sum).sum()) / u128::from(succeeded);
        Some(Means { succeeded: Nanos(of_succeeded as u64), failed: Nanos(failed.mean_ns) })
    }
}
