//! The distributions of the gaps between intended times.
//!
//! A distribution is drawn at unit rate: its gaps have the mean 1, and their sum is the
//! *operational time*, the number of requests so far. The load's shape converts that to
//! nanoseconds, so that every distribution works with every shape.

use std::fmt;
use std::str::FromStr;

use crate::Random;

#[cfg(test)]
mod tests;

/// The distribution of the gaps. Their mean, m, is 1/rate in each case.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Equal gaps: intended time i is start + i·m, without drift.
    Constant,
    /// Independent users: exponential gaps.
    #[default]
    Poisson,
    /// Uniformly distributed gaps between 0 and 2m.
    UniformGap,
    /// Many short gaps and a few long ones; `cv` is their standard deviation divided by their mean.
    Lognormal { cv: f64 },
    /// Equal gaps with random variation: N(m, cv·m), redrawn while outside [0, 2m].
    ///
    /// The truncation is symmetric, so the mean stays m; the deviation falls below cv·m (by 0.05 %
    /// at the default of 0.25, to 0.54 m at 1). Clamping to the ends would keep the mean too, but
    /// would produce simultaneous requests and gaps of exactly 2m, which a normal distribution does
    /// not have.
    Normal { cv: f64 },
    /// `n` requests at once, every n·m.
    Bursts { n: u32 },
    /// Gaps of K·m/E\[K\] with P(K) ∝ K⁻³ and K ≤ 100, as in DeathStarBench: five of six are equal
    /// and short, few are very long.
    Zipf,
}

/// The largest coefficient of variation: beyond it most draws of a normal distribution would be
/// rejected, and a million gaps would not show the mean of a lognormal one.
const WIDEST: f64 = 10.0;

/// Parses the distribution's name, or a name that wrk's descendants use for it.
impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Distribution, String> {
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let distribution = match (name, parameter) {
            ("constant" | "uniform" | "fixed", None) => Some(Distribution::Constant),
            ("poisson" | "exponential" | "exp", None) => Some(Distribution::Poisson),
            ("uniform-gap", None) => Some(Distribution::UniformGap),
            ("lognormal", None) => Some(Distribution::Lognormal { cv: 1.0 }),
            ("lognormal", Some(cv)) => variation(cv).map(|cv| Distribution::Lognormal { cv }),
            ("normal" | "norm", None) => Some(Distribution::Normal { cv: 0.25 }),
            ("normal" | "norm", Some(cv)) => variation(cv).map(|cv| Distribution::Normal { cv }),
            ("bursts", Some(n)) => {
                n.parse().ok().filter(|&n| 0 < n).map(|n| Distribution::Bursts { n })
            }
            ("zipf", None) => Some(Distribution::Zipf),
            _ => None,
        };
        distribution.ok_or_else(|| {
            format!(
                "`{text}` is not a valid arrival distribution; write constant, poisson, \
                 uniform-gap, lognormal[:cv], normal[:cv] (cv above 0, at most {WIDEST}), \
                 bursts:n (n from 1) or zipf"
            )
        })
    }
}

fn variation(text: &str) -> Option<f64> {
    text.parse().ok().filter(|&cv| 0.0 < cv && cv <= WIDEST)
}

/// Prints the name with its parameter, in the form that is parsed.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Constant => f.pad("constant"),
            Distribution::Poisson => f.pad("poisson"),
            Distribution::UniformGap => f.pad("uniform-gap"),
            Distribution::Lognormal { cv } => f.pad(&format!("lognormal:{cv}")),
            Distribution::Normal { cv } => f.pad(&format!("normal:{cv}")),
            Distribution::Bursts { n } => f.pad(&format!("bursts:{n}")),
            Distribution::Zipf => f.pad("zipf"),
        }
    }
}

/// The process of a distribution at unit rate, kept as a real number so that rounding errors do not
/// add up.
#[derive(Clone, Debug)]
pub struct UnitProcess {
    gap: Gap,
    random: Random,
    drawn: u64,
    elapsed: f64,
}

/// A distribution with its precomputed parameters.
#[derive(Clone, Copy, Debug)]
enum Gap {
    Regular,
    Bursts { n: u64 },
    Exponential,
    Uniform,
    Lognormal { location: f64, scale: f64 },
    Normal { cv: f64 },
    Zipf,
}

impl UnitProcess {
    pub fn new(distribution: Distribution, random: Random) -> UnitProcess {
        let gap = match distribution {
            Distribution::Constant => Gap::Regular,
            Distribution::Bursts { n } => Gap::Bursts { n: u64::from(n) },
            Distribution::Poisson => Gap::Exponential,
            Distribution::UniformGap => Gap::Uniform,
            Distribution::Lognormal { cv } => {
                let variance = (cv * cv).ln_1p();
                Gap::Lognormal { location: -variance / 2.0, scale: variance.sqrt() }
            }
            Distribution::Normal { cv } => Gap::Normal { cv },
            Distribution::Zipf => Gap::Zipf,
        };
        UnitProcess { gap, random, drawn: 0, elapsed: 0.0 }
    }

    /// Returns the operational time of the next request. Regular processes start at zero, the
    /// others after a first gap.
    pub fn next_time(&mut self) -> f64 {
        let number = self.drawn;
        self.drawn += 1;
        let random = &mut self.random;
        let gap = match self.gap {
            Gap::Regular => return number as f64,
            Gap::Bursts { n } => return (number - number % n) as f64,
            Gap::Exponential => random.exponential(1.0),
            Gap::Uniform => 2.0 * random.unit(),
            Gap::Lognormal { location, scale } => (location + scale * random.normal()).exp(),
            Gap::Normal { cv } => normal(random, cv),
            Gap::Zipf => zipf(random),
        };
        self.elapsed += gap;
        self.elapsed
    }
}

/// Draws a gap with mean 1, between 0 and 2.
fn normal(random: &mut Random, cv: f64) -> f64 {
    loop {
        let gap = 1.0 + cv * random.normal();
        if (0.0..=2.0).contains(&gap) {
            return gap;
        }
    }
}

/// The largest K of the zipf distribution.
const MOST: usize = 100;
/// The cumulative distribution: P(K ≤ k), at index k − 1.
static ZIPF: [f64; MOST] = zipf_table().0;
/// The mean of K before scaling.
const ZIPF_MEAN: f64 = zipf_table().1;

/// Draws a gap with mean 1. Five of six searches end at the first entry.
fn zipf(random: &mut Random) -> f64 {
    let drawn = random.unit();
    let k = ZIPF.iter().position(|&below| drawn < below).unwrap_or(MOST - 1) + 1;
    k as f64 / ZIPF_MEAN
}

const fn zipf_table() -> ([f64; MOST], f64) {
    let (mut table, mut total, mut weighted) = ([0.0; MOST], 0.0, 0.0);
    let mut k = 1;
    while k <= MOST {
        let weight = 1.0 / (k * k * k) as f64;
        total += weight;
        weighted += weight * k as f64;
        table[k - 1] = total;
        k += 1;
    }
    k = 0;
    while k < MOST {
        table[k] /= total;
        k += 1;
    }
    (table, weighted / total)
}
