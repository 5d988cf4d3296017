//! The source of requests: a schedule (open loop) or the responses (closed loop).

use std::iter::Peekable;

use ::measure::pace::Think;
use ::measure::{Instant, Random};

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
