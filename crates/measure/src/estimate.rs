//! Statistical conclusions from samples: distribution-free intervals of quantiles and of shares.

use statrs::distribution::{Binomial, ContinuousCDF, Discrete, DiscreteCDF, StudentsT};

use crate::histogram::{Histogram, Quantile};
use crate::time::Nanos;

#[cfg(test)]
mod tests;

/// The confidence of intervals and verdicts: the usual one of the field.
pub const CONFIDENCE: f64 = 0.95;
/// The fewest samples beyond a quantile that support it: their number varies by a third by chance.
pub const FEWEST_BEYOND: u64 = 10;

/// The reliability of a quantile, by the number of samples beyond it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Support {
    /// Fewer than ten: no conclusion.
    Unsupported,
    /// Ten to a hundred: an indication.
    Indicative,
    /// A hundred and more: fit for a decision.
    Sound,
}

/// Classifies a quantile of `count` samples by how many lie beyond it.
pub fn support(count: u64, quantile: Quantile) -> Support {
    match beyond(count, quantile) {
        0..FEWEST_BEYOND => Support::Unsupported,
        FEWEST_BEYOND..100 => Support::Indicative,
        _ => Support::Sound,
    }
}

/// Returns the fewest samples that support a quantile: ten lie beyond it.
pub fn needed(quantile: Quantile) -> u64 {
    (FEWEST_BEYOND as f64 / (1.0 - quantile.level()) - 1e-6).ceil() as u64
}

/// Returns how many of `count` samples lie beyond the quantile.
pub fn beyond(count: u64, quantile: Quantile) -> u64 {
    // The small term keeps 1 − 0.99 from losing the sample that decimal arithmetic would count.
    ((1.0 - quantile.level()) * count as f64 + 1e-6).floor() as u64
}

/// Returns an interval that contains the true quantile with at least this confidence, whatever the
/// distribution, if the samples are independent: exact order statistics from the binomial
/// distribution (David & Nagaraja, *Order Statistics*, §7.1). `None` if there are too few samples;
/// at 95 % that is below 368 for P99 (its upper end would be infinite).
pub fn quantile_interval(
    histogram: &Histogram,
    quantile: Quantile,
    confidence: f64,
) -> Option<(Nanos, Nanos)> {
    let n = histogram.count();
    let (low, high) = order_statistics(n, quantile, confidence)?;
    let at = |rank: u64| histogram.quantile(Quantile::new(rank as f64 / n as f64)?);
    Some((at(low)?, at(high)?))
}

/// Returns the 1-based ranks whose values enclose the quantile with at least this confidence.
pub fn order_statistics(n: u64, quantile: Quantile, confidence: f64) -> Option<(u64, u64)> {
    assert!(0.0 < confidence && confidence < 1.0, "a confidence is a probability");
    if n == 0 {
        return None;
    }
    let below = Binomial::new(quantile.level(), n).ok()?;
    let tail = (1.0 - confidence) / 2.0;
    // P[at least `rank` samples lie below the quantile] = P[X_(rank) < quantile].
    let low = largest(n, |rank| below.cdf(rank - 1) <= tail)?;
    let high = smallest(n, |rank| below.sf(rank - 1) <= tail)?;
    Some((low, high))
}

/// The verdict of one trial on "at most 1 − level of the requests take longer than the limit".
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Share {
    Pass,
    Fail,
    Undecided,
}

/// Judges `over` of `n` requests beyond a limit against the level, at the given confidence, by the
/// exact binomial tails: pass if so few would be improbable at the bound, fail if so many would be.
pub fn share_within(n: u64, over: u64, level: Quantile, confidence: f64) -> Share {
    assert!(over <= n, "{over} of {n} requests");
    if n == 0 {
        return Share::Undecided;
    }
    let Ok(distribution) = Binomial::new(1.0 - level.level(), n) else { return Share::Undecided };
    let doubt = 1.0 - confidence;
    let at_most = distribution.cdf(over);
    let at_least = distribution.sf(over) + distribution.pmf(over);
    match () {
        () if at_most <= doubt => Share::Pass,
        () if at_least <= doubt => Share::Fail,
        () => Share::Undecided,
    }
}

/// Returns the fewest requests over the limit with which [`share_within`] fails a load of `n`; `None` if
/// no number does.
pub fn fewest_over(n: u64, level: Quantile, confidence: f64) -> Option<u64> {
    smallest(n, |over| share_within(n, over, level, confidence) == Share::Fail)
}

/// The number of requests over a limit from which on a load has missed an objective, whatever follows:
/// the verdict is that of the whole load, only earlier. (Curtailed inspection: Dodge and Romig, *Sampling
/// Inspection Tables*, 1944.)
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Enough {
    /// The response time above which a request is over; `None` counts only failures.
    pub limit: Option<Nanos>,
    pub requests: u64,
}

/// The shortest measurement that may end early: in less, the state of the generator and its machine would
/// not be known.
pub const LEAST_CURTAILED: Nanos = Nanos::SECOND;

/// Returns the largest rank in 1..=n with a property that holds up to some rank.
fn largest(n: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut yes, mut no) = (0, n + 1);
    while 1 < no - yes {
        let middle = yes + (no - yes) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    (0 < yes).then_some(yes)
}

/// Returns the smallest rank in 1..=n with a property that holds from some rank on.
fn smallest(n: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let first = largest(n, |rank| !holds(rank)).map_or(1, |last| last + 1);
    (first <= n).then_some(first)
}

/// Returns half the width of the t interval of positive values on a logarithmic scale, as a share of
/// their geometric mean: e^(t·s/√n) − 1, with Student's t of n − 1 degrees of freedom and s the
/// standard deviation of the logarithms. `None` below two values, or if one is not positive.
pub fn relative_half_width(values: &[f64], confidence: f64) -> Option<f64> {
    assert!(0.0 < confidence && confidence < 1.0, "a confidence is a probability");
    Some(half_width(&logs(values)?, confidence)?.exp_m1())
}

/// The fewest values of which a t interval says something.
const FEWEST: usize = 3;

/// Returns the t interval of the geometric mean. `None` below three values, or if one is not positive.
pub fn interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    if values.len() < FEWEST {
        return None;
    }
    let middle = mean(&logs(values)?).exp();
    let half = relative_half_width(values, confidence)?;
    Some((middle / (1.0 + half), middle * (1.0 + half)))
}

/// Returns the natural logarithms. `None` if a value is not positive and finite.
pub fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let log = |value: &f64| (0.0 < *value && value.is_finite()).then(|| value.ln());
    values.iter().map(log).collect()
}

/// Returns half the width of the t interval of the mean: t·s/√n, with Student's t of n − 1 degrees of
/// freedom. `None` below two values.
pub fn half_width(values: &[f64], confidence: f64) -> Option<f64> {
    let (n, (_, sd)) = (values.len() as f64, moments(values)?);
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    Some(student.inverse_cdf((1.0 + confidence) / 2.0) * sd / n.sqrt())
}

/// Returns the mean and the standard deviation with divisor n − 1. `None` below two values, or if one
/// is not finite.
pub fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if n < 2.0 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some((mean, (squares / (n - 1.0)).sqrt()))
}

/// Returns true if all values are equal. The deviation of their logarithms need not be zero: it is rounded.
pub fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|two| two[0] == two[1])
}

/// Returns the mean of at least one value.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the median; the mean of the middle two if the count is even.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}
