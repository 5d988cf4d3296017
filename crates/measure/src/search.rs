//! The search for a capacity: the highest load at which more than half of the trials meet the SLO.
//!
//! All strategies are one bisection on the logarithm of the load; they differ in how often a load is
//! tried before it is believed. The next step is a pure function of the trials so far, so a search is
//! continued by reading its journal.
//!
//! The bounds are the *relevant* ones (draft-ietf-bmwg-mlrsearch): the upper bound is the smallest
//! load that failed, and the lower bound is the largest below it that passed. So a pass above a
//! failure never counts.

use std::cmp::Ordering;

use crate::quantity::{FASTEST, Rate};

#[cfg(test)]
mod tests;

/// The failures of an adaptive search's upper bound beyond the passes of its lower one. The first two
/// failures made it a bound, so they are no evidence of their own.
pub const MORE_FAILURES: u32 = 2;
/// The longest step of a search for the first bounds, as a factor.
const LONGEST_STEP: f64 = 4.0;
/// A search that fails at this part of its first load gives up.
const LEAST: f64 = 1e-3;

/// The loads to search, and how surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    pub bounds: Bounds,
    pub strategy: Strategy,
    /// The search ends when the upper bound is this share above the lower one, at most.
    pub precision: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// The capacity is expected between these loads. No other load is tried; the edges are tried only
    /// if the capacity turns out to be there.
    Range(Rate, Rate),
    /// Nothing is known but the first load. The next ones differ by this factor, then by its square,
    /// and so on.
    Unknown { start: Rate, factor: f64 },
}

/// How often a load is tried before it is believed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Strategy {
    /// One pass or else the first to two decides. The bounds that remain in the end are tried again:
    /// the lower one until the first to `confirm`, the upper one until the first to two more. If a
    /// bound falls, the search goes on. A trial of a stalled machine fails at any load, and a wrong
    /// upper bound hides everything above it; a wrong pass happens only near the capacity.
    Adaptive { confirm: u32 },
    /// One trial decides.
    Bisect,
    /// The first to so many passes or failures decides, at every load.
    Mlr { first_to: u32 },
}

/// A trial of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub load: Rate,
    pub passed: bool,
}

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Try { load: Rate, why: Why },
    Found(Bracket),
}

/// The reason of a trial.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Why {
    /// The load is new.
    Explore,
    /// Its trials do not decide yet.
    Confirm,
    /// It is a bound of the answer, and decided with fewer trials than that needs.
    Validate,
    /// The capacity seems to be at the edge of the range, which was not tried.
    Edge,
}

/// The bounds of the capacity that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bracket {
    /// The largest load below the upper bound that passed.
    pub lower: Option<Rate>,
    /// The smallest load that failed.
    pub upper: Option<Rate>,
}

/// Returns the next step after the trials so far, in their order.
pub fn next(search: &Search, seen: &[Judged]) -> Step {
    replay(search, seen).step(search)
}

/// Returns the bounds that are known so far.
pub fn bracket(search: &Search, seen: &[Judged]) -> Bracket {
    replay(search, seen).relevant(Load::so_far)
}

/// Returns the number of trials at the lower and at the upper bound that an answer still needs, if each of them agrees
/// with the trials before it; `None` if it needs more than that.
pub fn unconfirmed(search: &Search, seen: &[Judged]) -> Option<(u64, u64)> {
    let mut tried = replay(search, seen);
    let Bracket { lower, upper } = tried.relevant(Load::so_far);
    let (lower, upper) = (lower?, upper?);
    let (mut of_lower, mut of_upper) = (0, 0);
    while let Step::Try { load, .. } = tried.step(search) {
        let passed = load == lower;
        match () {
            () if passed => of_lower += 1,
            () if load == upper => of_upper += 1,
            () => return None,
        }
        tried.count(&Judged { load, passed }, search);
    }
    Some((of_lower, of_upper))
}

/// Returns the number of trials of a search, until it ends or `passes` returns no verdict.
pub fn trials(search: &Search, mut passes: impl FnMut(Rate) -> Option<bool>) -> u64 {
    let mut tried = Tried::default();
    let mut trials = 0;
    while let Step::Try { load, .. } = tried.step(search)
        && let Some(passed) = passes(load)
    {
        tried.count(&Judged { load, passed }, search);
        trials += 1;
    }
    trials
}

fn replay(search: &Search, seen: &[Judged]) -> Tried {
    let mut tried = Tried::default();
    for one in seen {
        // A load that was chosen as a bound of the answer needs more trials.
        tried.step(search);
        tried.count(one, search);
    }
    tried
}

/// The trials of one load.
#[derive(Clone, Copy, Debug)]
struct Load {
    at: Rate,
    passes: u32,
    failures: u32,
    need: Need,
    why: Why,
}

/// The number of trials that decides about a load.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Need {
    /// One pass, or else the first to two.
    OnePass,
    /// The first to so many.
    FirstTo(u32),
}

impl Load {
    fn passed(&self) -> Option<bool> {
        let first_to = match self.need {
            Need::OnePass if self.failures == 0 => 1,
            Need::OnePass => 2,
            Need::FirstTo(wins) => wins,
        };
        match (first_to <= self.passes, first_to <= self.failures) {
            // A load that is tried more often than it needs is believed by the majority.
            (true, true) => Some(self.failures < self.passes),
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }

    /// Returns the verdict of its trials as they are. A load that was decided, and is tried again since it is
    /// a bound, is one until most of its trials say otherwise.
    fn so_far(&self) -> Option<bool> {
        let majority = || match self.failures.cmp(&self.passes) {
            Ordering::Less => Some(true),
            Ordering::Equal => None,
            Ordering::Greater => Some(false),
        };
        self.passed().or_else(|| majority().filter(|_| self.why == Why::Validate))
    }

    fn per_s(&self) -> f64 {
        self.at.as_per_second()
    }
}

/// The loads in ascending order.
#[derive(Debug, Default)]
struct Tried {
    loads: Vec<Load>,
}

impl Tried {
    fn count(&mut self, seen: &Judged, search: &Search) {
        let at = self.index(seen.load, search.strategy.first_need(), Why::Explore);
        let load = &mut self.loads[at];
        match seen.passed {
            true => load.passes += 1,
            false => load.failures += 1,
        }
    }

    /// Returns the place of a load, which is new if it was not tried.
    fn index(&mut self, at: Rate, need: Need, why: Why) -> usize {
        let order = |load: &Load| load.per_s().total_cmp(&at.as_per_second());
        self.loads.binary_search_by(order).unwrap_or_else(|place| {
            self.loads.insert(place, Load { at, passes: 0, failures: 0, need, why });
            place
        })
    }

    /// Returns the relevant bounds.
    fn relevant(&self, verdict: fn(&Load) -> Option<bool>) -> Bracket {
        let upper = self.loads.iter().position(|load| verdict(load) == Some(false));
        let below = &self.loads[..upper.unwrap_or(self.loads.len())];
        let lower = below.iter().rev().find(|load| verdict(load) == Some(true));
        Bracket { lower: lower.map(|load| load.at), upper: upper.map(|place| self.loads[place].at) }
    }

    fn step(&mut self, search: &Search) -> Step {
        loop {
            if let Some(load) = self.loads.iter().find(|load| load.passed().is_none()) {
                let why = match load.why {
                    Why::Explore if 0 < load.passes + load.failures => Why::Confirm,
                    why => why,
                };
                return Step::Try { load: load.at, why };
            }
            let bracket = self.relevant(Load::passed);
            let chosen = match search.bounds {
                Bounds::Range(from, to) => inside(search, bracket.lower, bracket.upper, from, to),
                Bounds::Unknown { start, factor } => match (bracket.lower, bracket.upper) {
                    (Some(lower), Some(upper)) => between(search, lower, upper),
                    _ => self.outward(start, factor, bracket),
                },
            };
            // One that was tried is decided. A journal of somebody else may have loads outside of the range.
            let is_new =
                |(at, ..): &(Rate, Need, Why)| self.loads.iter().all(|load| load.at != *at);
            match chosen.filter(is_new) {
                Some((load, need, why)) => {
                    self.index(load, need, why);
                }
                None if self.validate(search.strategy) => {}
                None => return Step::Found(bracket),
            }
        }
    }

    /// Demands more trials of the bounds; returns false if they have them.
    fn validate(&mut self, strategy: Strategy) -> bool {
        let Strategy::Adaptive { confirm } = strategy else { return false };
        let Bracket { lower, upper } = self.relevant(Load::passed);
        let mut demands = false;
        for load in &mut self.loads {
            let need = match Some(load.at) {
                at if at == lower => Need::FirstTo(confirm),
                at if at == upper => Need::FirstTo(confirm + MORE_FAILURES),
                _ => continue,
            };
            if load.need < need {
                (load.need, load.why) = (need, Why::Validate);
                demands = true;
            }
        }
        demands
    }

    /// Returns a load beyond those that were tried, while one of the bounds is missing.
    fn outward(&self, start: Rate, factor: f64, bracket: Bracket) -> Option<(Rate, Need, Why)> {
        let per_s: Vec<f64> = self.loads.iter().map(Load::per_s).collect();
        // Each step is as long as all before it, on the logarithmic scale.
        let longer = |ratio: f64| (ratio * ratio).clamp(factor, LONGEST_STEP);
        let load = match (bracket.lower, bracket.upper, &per_s[..]) {
            (_, _, []) => start.as_per_second(),
            (Some(_), _, [.., before, last]) => last * longer(last / before),
            (Some(_), _, [only]) => only * factor,
            (None, _, [first, after, ..]) => first / longer(after / first),
            (None, _, [only]) => only / factor,
        };
        let is_possible = (LEAST * start.as_per_second()..=FASTEST).contains(&load);
        is_possible.then(|| (Rate::rounded(load), Need::OnePass, Why::Explore))
    }
}

impl Strategy {
    fn first_need(self) -> Need {
        match self {
            Strategy::Adaptive { .. } => Need::OnePass,
            Strategy::Bisect => Need::FirstTo(1),
            Strategy::Mlr { first_to } => Need::FirstTo(first_to),
        }
    }
}

/// Returns the next load inside a range.
fn inside(
    search: &Search,
    lower: Option<Rate>,
    upper: Option<Rate>,
    from: Rate,
    to: Rate,
) -> Option<(Rate, Need, Why)> {
    if upper == Some(from) || lower == Some(to) {
        return None;
    }
    let middle = between(search, lower.unwrap_or(from), upper.unwrap_or(to));
    middle.or_else(|| {
        let edge = if lower.is_none() { Some(from) } else { upper.is_none().then_some(to) };
        edge.map(|edge| (edge, search.strategy.first_need(), Why::Edge))
    })
}

/// Returns the geometric middle of the bounds, unless they are near enough.
fn between(search: &Search, lower: Rate, upper: Rate) -> Option<(Rate, Need, Why)> {
    let (low, high) = (lower.as_per_second(), upper.as_per_second());
    let middle = Rate::rounded((low * high).sqrt());
    let is_between = low < middle.as_per_second() && middle.as_per_second() < high;
    let is_wide = low * (1.0 + search.precision) < high;
    (is_wide && is_between).then_some((middle, search.strategy.first_need(), Why::Explore))
}
