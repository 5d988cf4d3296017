//! The shape of a distribution of times that shows a timer: flat from a constant on, with a sharp
//! edge one period later. Whatever waits for the next tick of a timer waits for an evenly
//! distributed part of its period.
//!
//! The percentiles of such times repeat superbly, since they are those of the timer: a small spread
//! of the p99 then says nothing about the system.

use crate::histogram::{Histogram, Quantile};
use crate::time::Nanos;

#[cfg(test)]
mod tests;

/// A timer that a distribution shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Timer {
    /// The length of the flat part.
    pub period: Nanos,
    /// The time before it: what everything takes.
    pub constant: Nanos,
}

/// The fewest times whose shape is looked at.
const FEWEST: u64 = 1000;

/// The shortest period that is found: shorter ones are those of wake-ups.
const SHORTEST: Nanos = Nanos::from_millis(1);

/// The largest distance of a quantile from the straight line, as a share of the period, without the
/// part of chance. That of a normal distribution is 6.6 %, and of all others more.
const STRAIGHT: f64 = 0.025;
/// The part of chance, over the square root of the number of times.
const CHANCE: f64 = 0.7;

/// The largest share of times beyond the edge, such as those that missed a tick.
const BEYOND: f64 = 0.05;
/// The place of the edge, in periods.
const EDGE: f64 = 1.05;

impl Timer {
    /// Returns the timer that the times show; `None` if they are not flat, or too few.
    ///
    /// A straight line through the 5th and the 95th percentile stands for the even distribution; all
    /// percentiles between them must lie near it, and few times may lie beyond its end.
    pub fn of(times: &Histogram) -> Option<Timer> {
        if times.count() < FEWEST {
            return None;
        }
        let at = |percent: u32| {
            let quantile = Quantile::new(f64::from(percent) / 100.0)?;
            Some(times.quantile(quantile)?.0 as f64)
        };
        let (low, high) = (at(5)?, at(95)?);
        let period = (high - low) / 0.90;
        let begin = low - 0.05 * period;
        if period < SHORTEST.0 as f64 {
            return None;
        }
        let most = STRAIGHT + CHANCE / (times.count() as f64).sqrt();
        for percent in 5..=95 {
            let line = begin + f64::from(percent) / 100.0 * period;
            if most < (at(percent)? - line).abs() / period {
                return None;
            }
        }
        let edge = Nanos((begin + EDGE * period) as u64);
        let beyond = times.count_above(edge) as f64 / times.count() as f64;
        (beyond <= BEYOND).then_some(Timer {
            period: Nanos(period as u64),
            constant: Nanos(begin.max(0.0) as u64),
        })
    }

    /// Returns the period with two digits, as somebody would have set it.
    pub fn nominal(self) -> Nanos {
        let digits = self.period.0.checked_ilog10().unwrap_or_default();
        let unit = 10_u64.pow(digits.saturating_sub(1));
        Nanos((self.period.0 + unit / 2) / unit * unit)
    }
}
