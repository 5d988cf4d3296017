//! The source of requests: a schedule (open loop) or the responses (closed loop).

use std::fmt;
use std::iter::Peekable;
use std::str::FromStr;

use ::measure::{Instant, Nanos, Random};

use crate::pacing::{Arrival, Arrivals};

#[derive(Debug)]
pub enum Source {
    Open(Streams),
    Closed { think: Think, random: Random },
}

/// The arrivals of one shard.
#[derive(Debug)]
pub struct Streams {
    streams: Vec<Peekable<Arrivals>>,
    shards: u32,
    /// The number of requests of each stream, over all shards; `None` if only time ends them.
    most: Option<u64>,
}

impl Streams {
    pub fn new(streams: Vec<Peekable<Arrivals>>, shards: u32, most: Option<u64>) -> Streams {
        Streams { streams, shards, most }
    }

    /// Returns the next arrival that is due and before `end`.
    pub(crate) fn next_due(&mut self, now: Instant, end: Instant) -> Option<Arrival> {
        let most = self.most.unwrap_or(u64::MAX);
        let is_due = |arrival: &Arrival| {
            arrival.intended <= now && arrival.intended < end && arrival.number < most
        };
        self.streams.iter_mut().find_map(|stream| stream.next_if(is_due))
    }

    pub(crate) fn next_intended(&mut self) -> Option<Instant> {
        let most = self.most.unwrap_or(u64::MAX);
        let next = self.streams.iter_mut().filter_map(|stream| stream.peek());
        next.filter(|arrival| arrival.number < most).map(|arrival| arrival.intended).min()
    }

    pub(crate) fn is_exhausted(&mut self) -> bool {
        self.most.is_some() && self.next_intended().is_none()
    }

    /// Returns the index of a pool within its shard: pools are distributed to the shards in turn.
    pub(crate) fn place(&self, pool: u32) -> usize {
        (pool / self.shards) as usize
    }
}

/// The think time of a closed-loop user between a response and the next request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Think {
    Fixed(Nanos),
    Exponential { mean: Nanos },
}

impl Think {
    pub const NONE: Think = Think::Fixed(Nanos::ZERO);

    pub(crate) fn draw(self, random: &mut Random) -> Nanos {
        match self {
            Think::Fixed(length) => length,
            Think::Exponential { mean } => Nanos(random.exponential(mean.0 as f64) as u64),
        }
    }

    pub fn mean(self) -> Nanos {
        match self {
            Think::Fixed(mean) | Think::Exponential { mean } => mean,
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Think::Fixed(length) => write!(f, "{length}"),
            Think::Exponential { mean } => write!(f, "exp:{mean}"),
        }
    }
}

/// Parses `10ms`, or `exp:10ms` for an exponential distribution with that mean.
impl FromStr for Think {
    type Err = String;

    fn from_str(text: &str) -> Result<Think, String> {
        let length = |text: &str| text.parse::<Nanos>().map_err(|e| e.to_string());
        match text.strip_prefix("exp:") {
            Some(mean) => Ok(Think::Exponential { mean: length(mean)? }),
            None => Ok(Think::Fixed(length(text)?)),
        }
    }
}
