//! The capacity of a system, estimated from all trials of a search.
//!
//! The bounds that a search ends with rest on the few trials at them. On a machine whose speed differs from
//! trial to trial they follow chance: the lowest load that failed may be one that met a slow moment. All
//! trials together say more. The load at which a trial begins to fail is taken as log-normal around the
//! capacity, so that the share of passes falls with the logarithm of the load along a logistic curve, and a
//! few trials fail at any load. (This is the model of a psychometric function: Wichmann and Hill,
//! *Perception & Psychophysics* 63, 2001; with a posterior on a grid as in Kontsevich and Tyler, *Vision
//! Research* 39, 1999.)

use std::f64::consts::PI;

use crate::search::Seen;

#[cfg(test)]
mod tests;

/// The share of trials that fail at any load, since the machine stalled.
const STALLS: f64 = 0.03;
/// The least and the most that the thresholds of trials are thought to differ (standard deviation of the
/// logarithm), and the number of values that are tried between them, evenly on a logarithmic scale.
const NOISE: (f64, f64) = (0.002, 0.3);
const NOISES: u32 = 10;
/// The most that a threshold is thought to change with the speed of the machine, as an exponent, and the
/// number of values that are tried from 0 on. 1 is a system that only computes.
const MOST_SLOPE: f64 = 2.0;
const SLOPES: u32 = 5;
/// The capacities that are tried lie between the loads and this far beyond them (logarithm).
const BEYOND: f64 = 0.4;
/// The number of capacities that are tried: over all of them, and then over those that are likely.
const COARSE: u32 = 120;
const FINE: u32 = 120;
/// The probability that the fine grid leaves out on each side.
const LEFT_OUT: f64 = 1e-4;

/// A capacity with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The load that half of the trials meet, per second: the median of its posterior distribution.
    pub per_s: f64,
    /// The interval that contains the capacity with the demanded probability.
    pub interval: (f64, f64),
    /// The standard deviation of the logarithm of the load at which a trial begins to fail.
    pub noise: f64,
    /// The exponent with which this load follows the speed of the machine; 0 without speeds.
    pub slope: f64,
}

/// Estimates the capacity from the trials of a search. `None` unless some passed and some failed.
pub fn estimate(seen: &[Seen], probability: f64) -> Option<Estimate> {
    of(seen, &[0.0], |_| 0.0, probability)
}

/// Estimates the capacity at the usual speed of the machine. `speeds` are those of the trials, as multiples
/// of the usual one. `None` as for [`estimate`], or if a speed is not positive.
pub fn at_usual_speed(seen: &[Seen], speeds: &[f64], probability: f64) -> Option<Estimate> {
    assert_eq!(seen.len(), speeds.len(), "each trial has its speed");
    let logs = crate::estimate::logs(speeds)?;
    let slopes: Vec<f64> = spaced((0.0, MOST_SLOPE), SLOPES).collect();
    of(seen, &slopes, |trial| logs[trial], probability)
}

/// A trial as the model sees it: the logarithms of its load and of the machine's speed.
#[derive(Clone, Copy, Debug)]
struct Trial {
    load: f64,
    speed: f64,
    passed: bool,
}

fn of(
    seen: &[Seen],
    slopes: &[f64],
    speed: impl Fn(usize) -> f64,
    probability: f64,
) -> Option<Estimate> {
    assert!(0.0 < probability && probability < 1.0, "a probability");
    let trial = |(index, seen): (usize, &Seen)| Trial {
        load: seen.load.as_per_second().ln(),
        speed: speed(index),
        passed: seen.passed,
    };
    let trials: Vec<Trial> = seen.iter().enumerate().map(trial).collect();
    if trials.iter().all(|trial| trial.passed) || trials.iter().all(|trial| !trial.passed) {
        return None;
    }
    let loads = || trials.iter().map(|trial| trial.load);
    let least = loads().fold(f64::INFINITY, f64::min) - BEYOND;
    let most = loads().fold(f64::NEG_INFINITY, f64::max) + BEYOND;
    let coarse = Posterior::of(&trials, slopes, (least, most), COARSE);
    let step = (most - least) / f64::from(COARSE - 1);
    let likely = (coarse.quantile(LEFT_OUT) - step, coarse.quantile(1.0 - LEFT_OUT) + step);
    let fine = Posterior::of(&trials, slopes, likely, FINE);
    let tail = (1.0 - probability) / 2.0;
    Some(Estimate {
        per_s: fine.quantile(0.5).exp(),
        interval: (fine.quantile(tail).exp(), fine.quantile(1.0 - tail).exp()),
        noise: fine.noise,
        slope: fine.slope,
    })
}

/// The probabilities of the capacities of a grid, and the means of what else is unknown.
struct Posterior {
    /// The logarithms of the capacities.
    grid: Vec<f64>,
    /// The probability that the capacity is at most this one.
    cumulative: Vec<f64>,
    noise: f64,
    slope: f64,
}

impl Posterior {
    fn of(trials: &[Trial], slopes: &[f64], (from, to): (f64, f64), places: u32) -> Posterior {
        let grid: Vec<f64> = spaced((from, to), places).collect();
        let noises = spaced((NOISE.0.ln(), NOISE.1.ln()), NOISES).map(f64::exp);
        let with_slopes = |noise: f64| slopes.iter().map(move |slope| (noise, *slope));
        // What is unknown beside the capacity.
        let unknown: Vec<(f64, f64)> = noises.flat_map(with_slopes).collect();
        let log = |capacity: f64, noise: f64, slope: f64| -> f64 {
            trials.iter().map(|trial| log_likelihood(trial, capacity, noise, slope)).sum()
        };
        let logs: Vec<f64> = grid
            .iter()
            .flat_map(|capacity| {
                unknown.iter().map(|(noise, slope)| log(*capacity, *noise, *slope))
            })
            .collect();
        let best = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - best).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mean_of = |of: fn(&(f64, f64)) -> f64| -> f64 {
            weights
                .iter()
                .zip(unknown.iter().cycle())
                .map(|(weight, at)| weight / total * of(at))
                .sum()
        };
        let (noise, slope) = (mean_of(|(noise, _)| noise.ln()), mean_of(|(_, slope)| *slope));
        let mut below = 0.0;
        let sum = |of_capacity: &[f64]| {
            below += of_capacity.iter().sum::<f64>() / total;
            below
        };
        let cumulative = weights.chunks_exact(unknown.len()).map(sum).collect();
        Posterior { grid, cumulative, noise: noise.exp(), slope }
    }

    /// Returns the capacity below which the true one lies with this probability, between two of the grid.
    fn quantile(&self, probability: f64) -> f64 {
        let after = self.cumulative.partition_point(|below| *below < probability);
        if after == 0 || self.grid.len() <= after {
            return self.grid[after.min(self.grid.len() - 1)];
        }
        let (low, high) = (self.cumulative[after - 1], self.cumulative[after]);
        let share = (probability - low) / (high - low);
        // A point stands for the capacities around it, half a step each way.
        let step = self.grid[after] - self.grid[after - 1];
        self.grid[after - 1] + step * (share + 0.5)
    }
}

/// Returns the logarithm of the probability of a trial's result.
fn log_likelihood(trial: &Trial, capacity: f64, noise: f64, slope: f64) -> f64 {
    let deviations = (capacity + slope * trial.speed - trial.load) / noise;
    // A logistic distribution with a standard deviation of one.
    let passes = (1.0 - STALLS) / (1.0 + (-deviations * PI / 3f64.sqrt()).exp());
    if trial.passed { passes.ln() } else { (1.0 - passes).ln() }
}

/// Returns so many values between two, evenly.
fn spaced((from, to): (f64, f64), count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(move |number| from + (to - from) * f64::from(number) / f64::from(count - 1))
}
