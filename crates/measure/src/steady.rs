//! Steady state: from where on a signal, such as the throughput of each second, changes no more.

use crate::comparison::Better;
use crate::estimate::mean;
use crate::trend::mann_kendall;

#[cfg(test)]
mod tests;

/// The course of a signal from the beginning of a load (the classes of Barrett et al., *OOPSLA* 2017).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Course {
    /// Steady from the beginning.
    Flat,
    /// Steady after so many samples, which were worse.
    WarmUp { samples: usize },
    /// Steady after so many samples, which were better.
    Slowdown { samples: usize },
    /// No steady state within half of the samples, or still a trend after it.
    Unsteady,
}

/// The samples of one batch: their mean hides what is random from one to the next.
const BATCH: usize = 5;
/// The batches in which the rest is searched for a trend.
const PARTS: usize = 10;
/// The significance of a trend that is left.
const TREND: f64 = 0.01;

/// Classifies a signal. `None` if it has fewer than 100 samples: the search for a trend needs ten
/// batches of the half that may remain.
pub fn course(values: &[f64], better: Better) -> Option<Course> {
    if values.len() < 2 * PARTS * BATCH {
        return None;
    }
    let Some(samples) = truncation(values) else { return Some(Course::Unsteady) };
    let (early, rest) = values.split_at(samples);
    if mann_kendall(&[&means(rest, rest.len() / PARTS)[..PARTS]]).is_some_and(|t| t.p < TREND) {
        return Some(Course::Unsteady);
    }
    Some(match (mean(early) < mean(rest), better) {
        _ if early.is_empty() => Course::Flat,
        (true, Better::Higher) | (false, Better::Lower) => Course::WarmUp { samples },
        (false, Better::Higher) | (true, Better::Lower) => Course::Slowdown { samples },
    })
}

/// The fewest samples of a steady signal: in fewer, a trend hides in the noise.
pub const LEAST: usize = 20;

/// The latest samples, which [`is_steady`] considers. In more of them, a trend that has become
/// negligible would still be found.
const LATEST: usize = 40;

/// Returns true if a signal that goes on is steady by now: its latest samples have no trend. Two
/// samples a second with 1 % of noise end within a second of the least time if nothing changes; a
/// signal that begins 40 % too low then lacks less than 1 %, or never becomes steady. A
/// change that is small beside the noise in that time is not seen.
pub fn is_steady(values: &[f64]) -> bool {
    let latest = &values[values.len().saturating_sub(LATEST)..];
    LEAST <= latest.len() && !has_trend(latest)
}

/// Returns true if a signal rises or falls: Mann-Kendall on ten to twenty means, or on all samples if
/// they are fewer.
pub fn has_trend(values: &[f64]) -> bool {
    let parts = means(values, (values.len() / PARTS).max(1));
    mann_kendall(&[&parts]).is_some_and(|trend| trend.p < TREND)
}

/// Returns how many samples to leave out at the beginning: the rule MSER-5 (White, *Simulation* 69,
/// 1997), which minimizes the squared standard error of the mean of the rest, Σ(y − ȳ)²/(n − d)²,
/// over the first half of the batches. `None` if the least is at the edge of that half: then the
/// signal has not become steady early enough to tell.
pub fn truncation(values: &[f64]) -> Option<usize> {
    let batches = means(values, BATCH);
    let most = batches.len() / 2;
    let (mut count, mut middle, mut squares) = (0.0, 0.0, 0.0);
    let mut errors = vec![f64::INFINITY; batches.len()];
    // Welford's method, from the end: the rest grows by one batch at a time.
    for (error, batch) in errors.iter_mut().zip(&batches).rev() {
        count += 1.0;
        let step = batch - middle;
        middle += step / count;
        squares += step * (batch - middle);
        *error = squares / (count * count);
    }
    let best = (0..=most).min_by(|&one, &other| errors[one].total_cmp(&errors[other]))?;
    (best < most).then_some(best * BATCH)
}

/// Returns the means of whole batches of this length.
fn means(values: &[f64], length: usize) -> Vec<f64> {
    values.chunks_exact(length).map(mean).collect()
}
