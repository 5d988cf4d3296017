//! The schedule of intended start times.
//!
//! A distribution draws an arrival process of unit rate, and the load's shape stretches its time; a
//! trace lists the times directly. Every shard iterates over the same seeded sequence and takes the
//! arrivals of its own pools, so the merged process is exactly the requested one. Nothing here
//! reads a clock, allocates for an arrival, or changes an intended time.

use std::fmt;
use std::iter::Peekable;

use ::measure::pace::{Distribution, Portion, Shape, Think, UnitProcess, Walk};
use ::measure::{Instant, Nanos, Random};

use crate::driver::Label;

mod trace;

pub use self::trace::Trace;

#[cfg(test)]
mod tests;

/// The trigger of each request: a schedule, or the previous response.
#[derive(Clone, Debug, PartialEq)]
pub enum Pacing {
    Open { load: Offered, sharing: Sharing },
    Closed { think: Think },
}

/// The load that an open loop offers. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub enum Offered {
    /// Gaps of a distribution, around a rate that may change.
    Drawn {
        shape: Shape,
        distribution: Distribution,
    },
    Trace(Trace),
}

/// The division of the load between several targets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sharing {
    /// They take the requests of one arrival process in turn.
    InTurn,
    /// Each has an arrival process of its own with the whole load.
    Each,
}

/// Prints the distribution, or `trace`.
impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offered::Drawn { distribution, .. } => distribution.fmt(f),
            Offered::Trace(_) => f.pad("trace"),
        }
    }
}

impl Offered {
    /// Returns the same load after a warm-up at the shape's first rate. A trace is not changed: its
    /// beginning is the warm-up.
    pub fn after_warm_up(&self, warm_up: Nanos) -> Offered {
        match self {
            Offered::Drawn { shape, distribution } => {
                Offered::Drawn { shape: shape.after_warm_up(warm_up), distribution: *distribution }
            }
            Offered::Trace(_) => self.clone(),
        }
    }

    /// Returns the requests per second, on average between two times after the load's start.
    pub fn mean_rate(&self, from: Nanos, to: Nanos) -> f64 {
        match self {
            Offered::Drawn { shape, .. } => shape.mean_rate(from, to),
            Offered::Trace(_) if to <= from => 0.0,
            Offered::Trace(trace) => {
                let count = trace.count_before(to) - trace.count_before(from);
                count as f64 / to.saturating_sub(from).as_secs_f64()
            }
        }
    }

    /// Returns the largest number of requests in one second, which decides how many shards are
    /// needed.
    pub fn highest_rate(&self) -> f64 {
        match self {
            Offered::Drawn { shape, .. } => shape.highest_rate(),
            Offered::Trace(trace) => trace.highest_rate(),
        }
    }
}

/// The assignment of arrivals to targets, parts of the load, pools and shards.
///
/// The targets of a process take its arrivals in turn, so do the parts of the load with those of
/// each target, and so do the pools of each target with those of their part. Pool k of target u has
/// the number u · `pools` + k, and belongs to the shard of that number modulo `shards`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dealt {
    pub targets: u32,
    /// The part of the load whose arrivals are requested.
    pub part: Portion,
    /// The number of pools of each target in this part.
    pub pools: u32,
    pub shards: u32,
    /// The shard whose arrivals are requested.
    pub shard: u32,
}

/// One request's intended start.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Arrival {
    pub intended: Instant,
    pub target: u32,
    /// The number of the pool, counted over all targets.
    pub pool: u32,
    /// The position in its process, from 0, over all parts and shards.
    pub number: u64,
    /// An index into `Trace::labels` for a trace, otherwise [`Label::NONE`].
    pub label: Label,
}

/// The arrivals of one shard, in the order of their intended times.
#[derive(Clone, Debug)]
pub struct Arrivals {
    times: Times,
    start: Instant,
    end: Instant,
    turn: Turn,
    dealt: Dealt,
}

/// Returns the arrivals of a load on one shard, one stream for each process, from `start` until
/// before `end`.
pub fn arrivals(
    load: &Offered,
    sharing: Sharing,
    dealt: Dealt,
    seed: u64,
    (start, end): (Instant, Instant),
) -> Vec<Peekable<Arrivals>> {
    let Dealt { targets, part, pools, shards, shard } = dealt;
    assert!(0 < targets && 0 < pools && shard < shards, "there is one of each: {dealt:?}");
    let stream = |first: u32, targets: u32| {
        let times = Times::new(load, Random::part(seed, u64::from(first)));
        let turn = Turn::new(first, targets, part, pools);
        // A shard without a pool in it would iterate to the end for nothing.
        let end = if turn.reaches(dealt) { end } else { start };
        Arrivals { times, start, end, turn, dealt }.peekable()
    };
    match sharing {
        Sharing::InTurn => vec![stream(0, targets)],
        Sharing::Each => (0..targets).map(|target| stream(target, 1)).collect(),
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let (time, label) = self.times.next()?;
            let intended = self.start + time;
            if self.end <= intended {
                return None;
            }
            let (number, target, pool) = self.turn.next();
            if let Some(pool) = pool.filter(|pool| pool % self.dealt.shards == self.dealt.shard) {
                return Some(Arrival { intended, target, pool, number, label });
            }
        }
    }
}

/// The position in the round of targets, parts and pools, advanced without divisions: every shard
/// counts every arrival.
#[derive(Clone, Debug)]
struct Turn {
    /// The first of the targets that share the process.
    first: u32,
    targets: u32,
    own: Portion,
    pools: u32,
    number: u64,
    /// The indices of the current target among them, of the current part, and of its current pool.
    place: u32,
    part: u32,
    pool: u32,
}

impl Turn {
    fn new(first: u32, targets: u32, own: Portion, pools: u32) -> Turn {
        Turn { first, targets, own, pools, number: 0, place: 0, part: 0, pool: 0 }
    }

    /// Returns the next arrival's number and target, and its pool if it belongs to the own part.
    fn next(&mut self) -> (u64, u32, Option<u32>) {
        let target = self.first + self.place;
        let is_own = self.part == self.own.index();
        let pool = is_own.then_some(target * self.pools + self.pool);
        let turn = (self.number, target, pool);
        self.number += 1;
        self.place += 1;
        if self.place == self.targets {
            self.place = 0;
            self.part += 1;
            if self.part == self.own.of() {
                self.part = 0;
                self.pool += 1;
                if self.pool == self.pools {
                    self.pool = 0;
                }
            }
        }
        turn
    }

    /// True if a pool of these targets belongs to this shard.
    fn reaches(&self, dealt: Dealt) -> bool {
        let first = self.first * self.pools;
        (first..first + self.targets * self.pools).any(|pool| pool % dealt.shards == dealt.shard)
    }
}

/// The times of one arrival process since the load's start.
#[derive(Clone, Debug)]
enum Times {
    Drawn { process: UnitProcess, walk: Walk },
    Recorded { trace: Trace, next: usize },
}

impl Times {
    fn new(load: &Offered, random: Random) -> Times {
        match load {
            Offered::Drawn { shape, distribution } => Times::Drawn {
                process: UnitProcess::new(*distribution, random),
                walk: Walk::new(shape.clone()),
            },
            Offered::Trace(trace) => Times::Recorded { trace: trace.clone(), next: 0 },
        }
    }

    fn next(&mut self) -> Option<(Nanos, Label)> {
        match self {
            Times::Drawn { process, walk } => Some((walk.time(process.next_time())?, Label::NONE)),
            Times::Recorded { trace, next } => {
                let line = trace.get(*next)?;
                *next += 1;
                Some(line)
            }
        }
    }
}
