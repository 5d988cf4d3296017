//! The capacity of a system, estimated from all trials of a search.
//!
//! The bounds that a search ends with rest on the few trials at them. On a machine whose speed differs from
//! trial to trial they follow chance: the lowest load that failed may be one that met a slow moment. All
//! trials together say more. The load at which a trial begins to fail is taken as log-normal around the
//! capacity, and a few trials fail at any load. So the share of passes falls with the logarithm of the load
//! along a logistic curve. (This is the model of a psychometric function: Wichmann and Hill, *Perception &
//! Psychophysics* 63, 2001; with a posterior on a grid as in Kontsevich and Tyler, *Vision Research* 39,
//! 1999.)
//!
//! Passes and failures hardly tell how noisy the trials are, but their figures do. Near the limit the
//! logarithm of the response time follows that of the load along a line, so a trial that was a tenth over
//! its limit says how far its load was beyond its own capacity. The slope of the line is unknown. Figures
//! away from the limit only count as passes and failures, since there the line is wrong: queues bend, and
//! response times have a floor. That there is no line at all is one more hypothesis, which wins where the
//! figures do not follow the load.

use std::f64::consts::PI;

use crate::quantity::Rate;

#[cfg(test)]
mod tests;

/// The share of trials that fail at any load, since the machine stalled.
const STALLS: f64 = 0.03;
/// The least and the most that the thresholds of trials are thought to differ (standard deviation of the
/// logarithm), and the number of values that are tried between them, evenly on a logarithmic scale.
const NOISE: (f64, f64) = (0.002, 0.3);
const NOISES: u32 = 10;
/// The usual noise of a machine before anything is known, and the standard deviation of its logarithm:
/// machines from 0.5 to 11 % were measured.
const USUAL_NOISE: f64 = 0.05;
const NOISE_SD: f64 = 1.8;
/// The distance from the limit within which figures follow a line (logarithm), below and above it. The
/// response times of a queue leave it sooner below.
const REACH: (f64, f64) = (0.2, 0.35);
/// The slopes that are tried: the growth of the response time's logarithm over that of the load.
const LINES: [f64; 9] = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
/// The most that a threshold is thought to change with the speed of the machine, as an exponent, and the
/// number of values that are tried from 0 on. 1 is a system that only computes.
const MOST_SLOPE: f64 = 2.0;
const SLOPES: u32 = 5;
/// The capacities that are tried lie between the loads and this far beyond them (logarithm), and no two
/// neighbours of the first ones are farther apart than a tenth.
const BEYOND: [f64; 5] = [0.02, 0.05, 0.1, 0.2, 0.4];
const APART: f64 = 0.1;
/// The number of capacities that are tried over the likely ones, with all that is unknown beside them, and
/// then with what is likely of it.
const COARSE: u32 = 40;
const FINE: u32 = 80;
/// The least probability of a trial, so that the product of a few of them is not zero.
const LEAST: f64 = 1e-30;
/// The lead of the best over what is left out, since it is too unlikely (logarithm).
const UNLIKELY: f64 = 9.0;

/// A trial of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    pub load: Rate,
    pub passed: bool,
    /// The logarithm of the response time over its limit; `None` if only the verdict is known.
    pub excess: Option<f64>,
}

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
pub fn estimate(trials: &[Trial], probability: f64) -> Option<Estimate> {
    of(trials, &[0.0], |_| 0.0, probability)
}

/// Estimates the capacity at the usual speed of the machine. `speeds` are those of the trials, as multiples
/// of the usual one. `None` as for [`estimate`], or if a speed is not positive.
pub fn at_usual_speed(trials: &[Trial], speeds: &[f64], probability: f64) -> Option<Estimate> {
    assert_eq!(trials.len(), speeds.len(), "each trial has its speed");
    let logs = crate::estimate::logs(speeds)?;
    let slopes: Vec<f64> = spaced((0.0, MOST_SLOPE), SLOPES).collect();
    of(trials, &slopes, |trial| logs[trial], probability)
}

/// A trial as the model sees it: the logarithms of its load and of the machine's speed.
#[derive(Clone, Copy, Debug)]
struct Point {
    load: f64,
    speed: f64,
    passed: bool,
    figure: Figure,
}

/// The part of a trial beside its verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    Unknown,
    /// The response time over its limit (logarithm), near enough to follow a line.
    Near(f64),
    Far,
}

/// The unknown values beside the capacity.
#[derive(Clone, Copy, Debug)]
struct Unknown {
    noise: f64,
    /// The exponent with which the capacity follows the speed of the machine.
    slope: f64,
    /// The slope of the figures; `None` if they do not follow the load.
    line: Option<f64>,
    /// The logarithm of its probability before the trials, with that of the figures if they follow nothing.
    prior: f64,
}

fn of(
    trials: &[Trial],
    slopes: &[f64],
    speed: impl Fn(usize) -> f64,
    probability: f64,
) -> Option<Estimate> {
    assert!(0.0 < probability && probability < 1.0, "a probability");
    let seen = |(index, trial): (usize, &Trial)| Point {
        load: trial.load.as_per_second().ln(),
        speed: speed(index),
        passed: trial.passed,
        figure: Figure::of(trial),
    };
    let seen: Vec<Point> = trials.iter().enumerate().map(seen).collect();
    if seen.iter().all(|trial| trial.passed) || seen.iter().all(|trial| !trial.passed) {
        return None;
    }
    let unknown = unknown(&seen, slopes);
    let (around, _) = Likelihoods::of(&seen, first_capacities(&seen), unknown.clone()).likely();
    let coarse = spaced(around, COARSE).collect();
    let (likely, unknown) = Likelihoods::of(&seen, coarse, unknown).likely();
    let fine = spaced(likely, FINE).collect();
    let posterior = Posterior::of(Likelihoods::of(&seen, fine, unknown));
    let tail = (1.0 - probability) / 2.0;
    Some(Estimate {
        per_s: posterior.quantile(0.5).exp(),
        interval: (posterior.quantile(tail).exp(), posterior.quantile(1.0 - tail).exp()),
        noise: posterior.noise,
        slope: posterior.slope,
    })
}

impl Figure {
    /// A figure on the other side of the limit than the verdict says nothing: the trial failed by
    /// something else.
    fn of(trial: &Trial) -> Figure {
        match (trial.excess, trial.passed) {
            (Some(excess), true) if excess <= -REACH.0 => Figure::Far,
            (Some(excess), false) if REACH.1 <= excess => Figure::Far,
            (Some(excess), passed) if passed == (excess <= 0.0) => Figure::Near(excess),
            _ => Figure::Unknown,
        }
    }
}

/// Returns what may be, beside the capacity.
fn unknown(trials: &[Point], slopes: &[f64]) -> Vec<Unknown> {
    let is_near = |trial: &Point| matches!(trial.figure, Figure::Near(_));
    // Without a figure near the limit each line says the same as none.
    let lines = match trials.iter().any(is_near) {
        true => {
            let lines = LINES.iter().map(|line| (Some(*line), 0.0));
            lines.chain([(None, log_probability_without_line(trials))]).collect()
        }
        false => vec![(None, 0.0)],
    };
    let mut all = Vec::new();
    for log in spaced((NOISE.0.ln(), NOISE.1.ln()), NOISES) {
        let prior = -0.5 * ((log - USUAL_NOISE.ln()) / NOISE_SD).powi(2);
        for (line, of_figures) in &lines {
            let with = |slope: &f64| Unknown {
                noise: log.exp(),
                slope: *slope,
                line: *line,
                prior: prior + of_figures,
            };
            all.extend(slopes.iter().map(with));
        }
    }
    all
}

/// Returns the logarithm of the probability of all figures, given the verdicts, if they follow nothing:
/// each share of them may be near the limit, and is spread evenly there.
fn log_probability_without_line(trials: &[Point]) -> f64 {
    let of_side = |passed: bool, reach: f64| {
        let figures = || trials.iter().filter(|t| t.passed == passed).map(|t| t.figure);
        let known = figures().filter(|figure| *figure != Figure::Unknown).count();
        let near = figures().filter(|figure| matches!(figure, Figure::Near(_))).count();
        // The mean of the binomial probability of so many near ones over all shares.
        let factorial = |n: usize| (1..=n).map(|factor| (factor as f64).ln()).sum::<f64>();
        factorial(near) + factorial(known - near) - factorial(known + 1) - near as f64 * reach.ln()
    };
    of_side(true, REACH.0) + of_side(false, REACH.1)
}

/// Returns the capacities that are tried first: the loads, and more between and beyond them.
fn first_capacities(trials: &[Point]) -> Vec<f64> {
    let mut loads: Vec<f64> = trials.iter().map(|trial| trial.load).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    let (least, most) = (loads[0], loads[loads.len() - 1]);
    let mut capacities: Vec<f64> = BEYOND.iter().rev().map(|beyond| least - beyond).collect();
    for pair in loads.windows(2) {
        let parts = ((pair[1] - pair[0]) / APART).ceil().max(2.0);
        capacities.extend(spaced((pair[0], pair[1]), parts as u32 + 1).take(parts as usize));
    }
    capacities.push(most);
    capacities.extend(BEYOND.iter().map(|beyond| most + beyond));
    capacities
}

/// The logarithms of how likely the trials are.
struct Likelihoods {
    /// The logarithms of the capacities.
    capacities: Vec<f64>,
    unknown: Vec<Unknown>,
    /// Of each capacity with each of what is unknown beside it.
    logs: Vec<f64>,
}

impl Likelihoods {
    fn of(trials: &[Point], capacities: Vec<f64>, unknown: Vec<Unknown>) -> Likelihoods {
        let log = |capacity: f64, unknown: &Unknown| {
            // One logarithm for several trials: the product of so few cannot vanish.
            let of_some = |some: &[Point]| {
                let one = |trial| probability(trial, capacity, unknown).max(LEAST);
                some.iter().map(one).product::<f64>().ln()
            };
            unknown.prior + trials.chunks(8).map(of_some).sum::<f64>()
        };
        let of_capacity =
            |capacity: &f64| unknown.iter().map(|unknown| log(*capacity, unknown)).collect();
        let logs =
            capacities.iter().flat_map(|capacity| -> Vec<f64> { of_capacity(capacity) }).collect();
        Likelihoods { capacities, unknown, logs }
    }

    fn best(&self) -> f64 {
        self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the bounds of the likely capacities, and what is likely beside them.
    fn likely(self) -> ((f64, f64), Vec<Unknown>) {
        let least = self.best() - UNLIKELY;
        let count = self.unknown.len();
        let of_capacity: Vec<&[f64]> = self.logs.chunks_exact(count).collect();
        let is_likely = |logs: &&[f64]| logs.iter().any(|log| least < *log);
        let first = of_capacity.iter().position(is_likely).expect("the best is likely");
        let last = of_capacity.iter().rposition(is_likely).expect("the best is likely");
        let bounds = (
            self.capacities[first.saturating_sub(1)],
            self.capacities[(last + 1).min(self.capacities.len() - 1)],
        );
        let with = |at: &usize| of_capacity.iter().any(|logs| least < logs[*at]);
        let unknown = (0..count).filter(with).map(|at| self.unknown[at]).collect();
        (bounds, unknown)
    }
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
    fn of(likelihoods: Likelihoods) -> Posterior {
        let best = likelihoods.best();
        let Likelihoods { capacities: grid, unknown, logs } = likelihoods;
        let weights: Vec<f64> = logs.iter().map(|log| (log - best).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mean_of = |of: fn(&Unknown) -> f64| -> f64 {
            weights
                .iter()
                .zip(unknown.iter().cycle())
                .map(|(weight, at)| weight / total * of(at))
                .sum()
        };
        let (noise, slope) = (mean_of(|at| at.noise.ln()), mean_of(|at| at.slope));
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

/// Returns the probability of a trial's result, or its density if its figure follows a line.
fn probability(trial: &Point, capacity: f64, unknown: &Unknown) -> f64 {
    let beyond = trial.load - capacity - unknown.slope * trial.speed;
    // The share of such trials that lie no farther beyond their own capacity than so: a logistic
    // distribution with a standard deviation of the noise.
    let scale = PI / 3f64.sqrt() / unknown.noise;
    let share = |own: f64| 1.0 / (1.0 + ((beyond - own) * scale).exp());
    // A stalled trial lies anywhere above the limit.
    let stalled = if trial.passed { 0.0 } else { STALLS };
    let (usual, stalled) = match (trial.figure, unknown.line) {
        (Figure::Near(excess), Some(line)) => {
            let below = share(excess / line);
            (below * (1.0 - below) * scale / line, stalled * 0.5 / REACH.1)
        }
        (Figure::Far, Some(line)) if trial.passed => (share(-REACH.0 / line), stalled),
        (Figure::Far, Some(line)) => (1.0 - share(REACH.1 / line), stalled * 0.5),
        (_, _) if trial.passed => (share(0.0), stalled),
        (_, _) => (1.0 - share(0.0), stalled),
    };
    (1.0 - STALLS) * usual + stalled
}

/// Returns so many values between two, evenly.
fn spaced((from, to): (f64, f64), count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(move |number| from + (to - from) * f64::from(number) / f64::from(count - 1))
}
