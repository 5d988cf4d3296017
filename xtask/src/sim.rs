//! The error rates of the method, by simulation: how often each rule of `measure` says something that
//! is not so, under noise as machines have it.
//!
//! Every replication has a seed of its own, which is its number: a printed seed repeats it.

use std::thread;

use measure::Random;

use crate::bench::goal::Goal;
use crate::repository;
use noise::Noise;

mod comparisons;
mod estimates;
mod noise;
mod searches;
mod slowed;
mod trends;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask sim method [--quick | --seed N]
cargo xtask sim ycsb

Simulates the verdicts of comparisons, and trends, under six kinds of noise, and searches for the
capacity of six kinds of systems, also on a machine that slows some trials, and prints how often each
rule errs beside the rate that it promises. It takes minutes; --quick takes seconds, with wider bounds.
--seed repeats one replication of each, as printed.

`sim ycsb` tests the distributions of YCSB against their laws with ten million draws of each of five
seeds.
";

/// The extent of a simulation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Extent {
    /// The seed of the first replication.
    first: u64,
    /// Of each test and trend.
    replications: u64,
    /// Of each verdict, which takes the test many times.
    verdicts: u64,
    /// Of each search.
    searches: u64,
    /// Of each search whose trials are all used for an estimate.
    estimates: u64,
    /// Of that one for which a wrong rule was found: so many that a coverage of 84 % is surely below 93 %.
    hardest: u64,
}

/// Not the seeds with which the rules were chosen, which began with 0: a rule fits those too well.
const FIRST: u64 = 1_000_000;

const WHOLE: Extent =
    Extent { replications: 20_000, verdicts: 5_000, searches: 3_000, estimates: 500, ..QUICK };
const QUICK: Extent = Extent {
    first: FIRST,
    replications: 1_000,
    verdicts: 200,
    searches: 500,
    estimates: 30,
    hardest: 500,
};

/// The seeds that are printed of each line.
const SHOWN_SEEDS: usize = 3;

/// One simulated figure that is not a share of the replications.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    what: String,
    value: f64,
    goal: Goal,
    /// The first replications that were on the wrong side, if it counts some.
    seeds: Vec<u64>,
}

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
        ["method", "--seed", seed] => {
            let first = seed.parse().ok()?;
            Extent { first, replications: 1, verdicts: 1, searches: 1, estimates: 1, hardest: 1 }
        }
        ["ycsb"] => return Some(laws_of_ycsb()),
        _ => return None,
    };
    let mut rates = comparisons::rates(extent);
    let (verdicts, disagreements) = comparisons::verdicts(extent);
    rates.extend(verdicts);
    rates.extend(trends::rates(extent));
    for rate in &rates {
        println!("{rate}");
    }
    let mut figures = vec![disagreements];
    let (of_searches, coverages) = searches::figures(extent);
    figures.extend(of_searches);
    figures.extend(slowed::figures(extent));
    for figure in &figures {
        println!("{figure}");
    }
    for rate in &coverages {
        println!("{rate}");
    }
    let rows = estimates::rows(extent);
    for row in &rows {
        row.figures.iter().for_each(|figure| println!("{figure}"));
        println!("{}", row.coverage);
    }
    let rows_are_met =
        rows.iter().all(|row| row.coverage.is_met() && row.figures.iter().all(Figure::is_met));
    let mut rates = rates.iter().chain(&coverages);
    Some(rows_are_met && rates.all(Rate::is_met) && figures.iter().all(Figure::is_met))
}

/// Runs the tests of the distributions of YCSB with more draws than continuous integration has time for.
fn laws_of_ycsb() -> bool {
    let mut command = repository::cargo();
    command.args(["test", "--locked", "--profile", "tests", "-p", "ycsb", "--lib", "laws::"]);
    repository::succeeds(command.env("BENCHWRIGHT_YCSB_LAWS", "1"))
}

/// Simulates so many replications on all CPUs; returns their results in the order of their seeds, from
/// the first.
fn each<T: Send>(
    first: u64,
    replications: u64,
    simulated: impl Fn(&mut Random) -> T + Sync,
) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let simulated = &simulated;
    let part = |part: u64| {
        let seeds = replications * part / threads..replications * (part + 1) / threads;
        move || seeds.map(|seed| simulated(&mut Random::new(first + seed))).collect::<Vec<T>>()
    };
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|number| scope.spawn(part(number))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("a simulation ends")).collect()
    })
}

/// Simulates the replications on all CPUs; counts those for which `found` is true.
fn share(
    what: String,
    extent: Extent,
    goal: Goal,
    found: impl Fn(&mut Random) -> bool + Sync,
) -> Rate {
    let found = each(extent.first, extent.replications, found);
    Rate::of(what, extent.first, goal, &found)
}

impl Rate {
    /// Counts the replications that are true, the first of which has this seed.
    fn of(what: String, first: u64, goal: Goal, found: &[bool]) -> Rate {
        let of = |wanted: bool| {
            let seeds = (first..).zip(found).filter(move |(_, found)| **found == wanted);
            seeds.map(|(seed, _)| seed)
        };
        let replications = found.len() as u64;
        let share = of(true).count() as f64 / replications as f64;
        // The interesting ones are those that are rare.
        let seeds = of(share <= 0.5).take(SHOWN_SEEDS).collect();
        Rate { what, share, replications, goal, seeds }
    }

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
        f.write_str(&listed(&self.seeds))
    }
}

impl Figure {
    fn of(what: String, value: f64, goal: Goal) -> Figure {
        Figure { what, value, goal, seeds: Vec::new() }
    }

    fn is_met(&self) -> bool {
        self.goal.is_met(self.value)
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:.2}, {}", self.what, self.value, self.goal.verdict(self.value))?;
        f.write_str(&listed(&self.seeds))
    }
}

/// `; seeds 3, 19, 44`; empty if there are none.
fn listed(seeds: &[u64]) -> String {
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    if seeds.is_empty() { String::new() } else { format!("; seeds {}", seeds.join(", ")) }
}
