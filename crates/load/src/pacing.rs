//! When requests are meant to start.
//!
//! A distribution draws a process of unit rate, and the shape of the load stretches its time; a trace has
//! both written down. Every shard walks the same seeded sequence and takes what falls to its pools,
//! so the merged process is exactly the one asked for. Nothing here reads a clock, allocates for an
//! arrival, or takes an intended time back.

use std::fmt;
use std::iter::Peekable;

use ::measure::{Instant, Nanos, Random};

use crate::driver::Label;
use crate::source::Think;

mod distribution;
mod shape;
mod trace;

use self::distribution::UnitProcess;
use self::shape::Walk;

pub use self::distribution::Distribution;
pub use self::shape::{Segment, Shape};
pub use self::trace::Trace;

#[cfg(test)]
mod tests;

/// Who decides when a request starts: the clock, or the previous answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Pacing {
    Open { load: Offered, sharing: Sharing },
    Closed { think: Think },
}

/// What an open loop offers. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub enum Offered {
    /// Gaps of a distribution, round a rate that may change.
    Drawn {
        shape: Shape,
        distribution: Distribution,
    },
    Trace(Trace),
}

/// What several targets do with the load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sharing {
    /// They take the requests of one arrival process in turn.
    InTurn,
    /// Each has an arrival process of its own with the whole load.
    Each,
}

/// Its law, or `trace`.
impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offered::Drawn { distribution, .. } => distribution.fmt(f),
            Offered::Trace(_) => f.pad("trace"),
        }
    }
}

impl Offered {
    /// The same after a warm-up at the shape's first rate. A trace is what it is: its beginning is
    /// the warm-up.
    pub fn after_warm_up(&self, warm_up: Nanos) -> Offered {
        match self {
            Offered::Drawn { shape, distribution } => {
                Offered::Drawn { shape: shape.after_warm_up(warm_up), distribution: *distribution }
            }
            Offered::Trace(_) => self.clone(),
        }
    }

    /// Requests a second that are asked for between two times after the load's start, on average.
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

    /// The most requests that a second of it asks for, which decides how many shards it needs.
    pub fn highest_rate(&self) -> f64 {
        match self {
            Offered::Drawn { shape, .. } => shape.highest_rate(),
            Offered::Trace(trace) => trace.highest_rate(),
        }
    }
}

/// How arrivals are dealt out, and whose they are.
///
/// Round after round, each target of a process gets one, and from round to round the target's pools
/// take turns. Pool k of target u is pool u · `pools` + k, and lives on the shard of that number
/// modulo `shards`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dealt {
    pub targets: u32,
    /// Of each target.
    pub pools: u32,
    pub shards: u32,
    /// The one whose arrivals are wanted.
    pub shard: u32,
}

/// One request that is meant to start.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Arrival {
    pub intended: Instant,
    pub target: u32,
    /// Counted over all targets.
    pub pool: u32,
    /// 0, 1, 2, … of its process, over all shards.
    pub number: u64,
    /// In a trace an index of `Trace::labels`, otherwise none.
    pub label: Label,
}

/// The arrivals that fall to one shard, in the order of their intended times.
#[derive(Clone, Debug)]
pub struct Arrivals {
    times: Times,
    start: Instant,
    end: Instant,
    turn: Turn,
    dealt: Dealt,
}

/// The arrivals of a load on one shard, one stream a process, from `start` until before `end`.
pub fn arrivals(
    load: &Offered,
    sharing: Sharing,
    dealt: Dealt,
    seed: u64,
    (start, end): (Instant, Instant),
) -> Vec<Peekable<Arrivals>> {
    let Dealt { targets, pools, shards, shard } = dealt;
    assert!(0 < targets && 0 < pools && shard < shards, "there is one of each: {dealt:?}");
    let stream = |first: u32, targets: u32| {
        let times = Times::new(load, Random::part(seed, u64::from(first)));
        let turn = Turn { first, targets, pools, number: 0, place: 0, pool: 0 };
        // Who has no pool in it would walk to its end for nothing.
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
            if pool % self.dealt.shards == self.dealt.shard {
                return Some(Arrival { intended, target, pool, number, label });
            }
        }
    }
}

/// Whose turn it is, counted without dividing: every shard counts every arrival.
#[derive(Clone, Debug)]
struct Turn {
    /// The targets that share the process.
    first: u32,
    targets: u32,
    pools: u32,
    number: u64,
    /// The target's place among them, and which of its pools.
    place: u32,
    pool: u32,
}

impl Turn {
    /// The next arrival's number, target and pool.
    fn next(&mut self) -> (u64, u32, u32) {
        let target = self.first + self.place;
        let turn = (self.number, target, target * self.pools + self.pool);
        self.number += 1;
        self.place += 1;
        if self.place == self.targets {
            self.place = 0;
            self.pool += 1;
            if self.pool == self.pools {
                self.pool = 0;
            }
        }
        turn
    }

    /// Whether a pool of these targets lives on this shard.
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
            Times::Drawn { process, walk } => Some((walk.time(process.next())?, Label::NONE)),
            Times::Recorded { trace, next } => {
                let line = trace.get(*next)?;
                *next += 1;
                Some(line)
            }
        }
    }
}
