//! When requests are meant to start.

use std::fmt;
use std::iter::Peekable;
use std::str::FromStr;

use ::measure::{Instant, Nanos, Random, Rate};

use crate::driver::Label;
use crate::source::Think;

#[cfg(test)]
mod tests;

/// Who decides when a request starts: the clock, or the previous answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    Open { rate: Rate, law: Law, sharing: Sharing },
    Closed { think: Think },
}

/// The law of the gaps between intended times.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Law {
    /// Independent users: exponential gaps.
    #[default]
    Poisson,
    /// A metronome: intended time i is start + i/rate, without drift.
    Constant,
}

/// What several targets do with the rate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sharing {
    /// They take the requests of one arrival process in turn.
    InTurn,
    /// Each has an arrival process of its own with the whole rate.
    Each,
}

impl Law {
    pub fn name(self) -> &'static str {
        match self {
            Law::Poisson => "poisson",
            Law::Constant => "constant",
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Law {
    type Err = String;

    fn from_str(text: &str) -> Result<Law, String> {
        match text {
            "poisson" | "exponential" => Ok(Law::Poisson),
            "constant" | "uniform" => Ok(Law::Constant),
            _ => Err(format!("`{text}` is no arrival law; there are `poisson` and `constant`")),
        }
    }
}

/// Which of several shards this is, and how many lanes each target has over all of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dealt {
    pub targets: u32,
    pub lanes: u32,
    pub shards: u32,
    pub shard: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arrival {
    pub intended: Instant,
    pub target: u32,
    pub lane: u32,
    pub number: u64,
    pub label: Label,
}

/// The intended times that fall to one shard, each with its target.
///
/// Every shard walks the same seeded sequence and takes each `shards`-th round of targets, so the
/// merged process is exactly the one asked for, whatever the number of shards.
#[derive(Clone, Debug)]
pub struct Arrivals {
    process: Process,
    first_target: u32,
    targets: u32,
    dealt: Dealt,
    /// Arrivals drawn so far, by all shards.
    drawn: u64,
    end: Instant,
}

/// The arrivals of a load, one stream a process, until `end`.
pub fn arrivals(
    (rate, law, sharing): (Rate, Law, Sharing),
    dealt: Dealt,
    seed: u64,
    (start, end): (Instant, Instant),
) -> Vec<Peekable<Arrivals>> {
    let stream = |first_target: u32, targets: u32| {
        let random = Random::part(seed, u64::from(first_target));
        let process = Process::new(law, rate, start, random);
        Arrivals { process, first_target, targets, dealt, drawn: 0, end }.peekable()
    };
    match sharing {
        Sharing::InTurn => vec![stream(0, dealt.targets)],
        Sharing::Each => (0..dealt.targets).map(|target| stream(target, 1)).collect(),
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let intended = self.process.next();
            if self.end <= intended {
                return None;
            }
            let (round, place) =
                (self.drawn / u64::from(self.targets), self.drawn % u64::from(self.targets));
            let number = self.drawn;
            self.drawn += 1;
            let target = self.first_target + place as u32;
            let lane = target * self.dealt.lanes + (round % u64::from(self.dealt.lanes)) as u32;
            if lane % self.dealt.shards == self.dealt.shard {
                return Some(Arrival { intended, target, lane, number, label: Label::NONE });
            }
        }
    }
}

/// One arrival process, in nanoseconds since its start, kept as a real number so that rounding
/// does not add up.
#[derive(Clone, Debug)]
struct Process {
    law: Law,
    gap_ns: f64,
    start: Instant,
    count: u64,
    elapsed_ns: f64,
    random: Random,
}

impl Process {
    fn new(law: Law, rate: Rate, start: Instant, random: Random) -> Process {
        Process { law, gap_ns: rate.gap_ns(), start, count: 0, elapsed_ns: 0.0, random }
    }

    fn next(&mut self) -> Instant {
        let elapsed_ns = match self.law {
            Law::Constant => self.count as f64 * self.gap_ns,
            Law::Poisson => {
                self.elapsed_ns += self.random.exponential(self.gap_ns);
                self.elapsed_ns
            }
        };
        self.count += 1;
        self.start + Nanos(elapsed_ns as u64)
    }
}
