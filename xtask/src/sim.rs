//! The error rates of the method, by simulation: how often each rule of `measure` says something that
//! is not so, under noise as machines have it.
//!
//! Every replication has a seed of its own, which is its number: a printed seed repeats it.

use std::thread;

use measure::Random;

use crate::bench::goal::Goal;
use noise::Noise;

mod comparisons;
mod noise;
mod trends;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask sim method [--quick]

Simulates comparisons and trends under six kinds of noise, and prints how often each rule errs beside
the rate that it promises. It takes minutes; --quick takes seconds, with wider bounds.
";

/// The extent of a simulation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Extent {
    replications: u64,
}

const WHOLE: Extent = Extent { replications: 20_000 };
const QUICK: Extent = Extent { replications: 1_000 };

/// One simulated error rate, and the rate that it must keep.
#[derive(Clone, Debug, PartialEq)]
struct Rate {
    what: String,
    share: f64,
    replications: u64,
    goal: Goal,
    /// The first replications that were on the wrong side.
    seeds: Vec<u64>,
}

/// Runs the words after `sim`; `None` if they are wrong.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    let extent = match words {
        ["method"] => WHOLE,
        ["method", "--quick"] => QUICK,
        _ => return None,
    };
    let mut rates = comparisons::rates(extent);
    rates.extend(trends::rates(extent));
    for rate in &rates {
        println!("{rate}");
    }
    Some(rates.iter().all(Rate::is_met))
}

/// Simulates the replications on all CPUs; counts those for which `found` is true.
fn share(
    what: String,
    extent: Extent,
    goal: Goal,
    found: impl Fn(&mut Random) -> bool + Sync,
) -> Rate {
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let found = &found;
    let is_found = move |seed: &u64| found(&mut Random::new(*seed));
    let mut seeds: Vec<u64> = thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let mine = (part..extent.replications).step_by(threads as usize);
                scope.spawn(move || mine.filter(is_found).collect::<Vec<u64>>())
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("a simulation ends")).collect()
    });
    seeds.sort_unstable();
    let share = seeds.len() as f64 / extent.replications as f64;
    // The interesting ones are those that are rare.
    if 0.5 < share {
        let found: Vec<u64> = std::mem::take(&mut seeds);
        seeds =
            (0..extent.replications).filter(|seed| found.binary_search(seed).is_err()).collect();
    }
    seeds.truncate(3);
    Rate { what, share, replications: extent.replications, goal, seeds }
}

impl Rate {
    /// The error of a share of so many replications: three standard deviations.
    fn error(&self) -> f64 {
        let n = self.replications as f64;
        3.0 * (self.share * (1.0 - self.share) / n).sqrt().max(0.5 / n)
    }

    /// Returns true unless the share is surely on the wrong side of its bound.
    fn is_met(&self) -> bool {
        [-1.0, 0.0, 1.0].iter().any(|sign| self.goal.is_met(self.share + sign * self.error()))
    }
}

/// `compare, no difference, drift, 10 per arm: 4.81 % ± 0.45, must ≤ 0.055 met; seeds 3, 19, 44`.
impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (share, error) = (100.0 * self.share, 100.0 * self.error());
        write!(f, "{}: {share:.2} % ± {error:.2}, {}", self.what, self.goal.verdict(self.share))?;
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        if seeds.is_empty() { Ok(()) } else { write!(f, "; seeds {}", seeds.join(", ")) }
    }
}
