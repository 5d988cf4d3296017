//! The batches of guide 5's client: all keys once, then operations on keys that are drawn.

use load::driver::kv::{Batch, KvWorkload};
use measure::Random;
use wire::kv::{HEADER_BYTES, MOST_COUNT, Opcode};

use crate::keys::{Distribution, Share, key};

#[cfg(test)]
mod tests;

/// The operations of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mix {
    /// Every operation adds to a value, and returns the sum: a read-modify-write.
    Rmw,
    /// A half reads, a half writes.
    A,
    /// 95 % read, 5 % write.
    B,
    /// All read.
    C,
    /// A half reads, a half adds.
    F,
}

impl Mix {
    /// The name of YCSB's workload.
    pub fn workload(self) -> char {
        match self {
            Mix::Rmw | Mix::F => 'F',
            Mix::A => 'A',
            Mix::B => 'B',
            Mix::C => 'C',
        }
    }

    fn draw(self, random: &mut Random) -> Opcode {
        let is_read = |random: &mut Random, percent| random.below(100) < percent;
        match self {
            Mix::Rmw => Opcode::Add,
            Mix::C => Opcode::Read,
            Mix::A if is_read(random, 50) => Opcode::Read,
            Mix::B if is_read(random, 95) => Opcode::Read,
            Mix::F if is_read(random, 50) => Opcode::Read,
            Mix::A | Mix::B => Opcode::Upsert,
            Mix::F => Opcode::Add,
        }
    }
}

/// The batches of one connection.
#[derive(Debug)]
pub enum Batches {
    Fill(Fill),
    Run(Run),
}

impl KvWorkload for Batches {
    #[inline]
    fn next(&mut self, batch: &mut Batch) {
        match self {
            Batches::Fill(fill) => fill.next(batch),
            Batches::Run(run) => run.next(batch),
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Batches::Fill(fill) => fill.following.is_none(),
            Batches::Run(_) => false,
        }
    }

    /// A fill with a gap is none, and a server that is gone may have another address when it is there again: the fill
    /// ends. A run goes on, if the server comes back.
    fn disconnected(&mut self) {
        if let Batches::Fill(fill) = self {
            fill.following = None;
        }
    }
}

/// Every `step`-th key that the server has, each once.
#[derive(Debug)]
pub struct Fill {
    keys: u64,
    step: u64,
    share: Share,
    bytes: usize,
    /// The number of the next key.
    following: Option<u64>,
}

impl Fill {
    /// Begins with the key with this number.
    pub fn new(first: u64, step: u64, keys: u64, share: Share, bytes: usize) -> Fill {
        let mut fill = Fill { keys, step, share, bytes, following: None };
        fill.following = fill.search(first);
        fill
    }

    /// Returns the number of the first key from this one on that the server has.
    fn search(&self, from: u64) -> Option<u64> {
        let mut numbers = (from..self.keys).step_by(self.step as usize);
        numbers.find(|number| self.share.has(key(*number)))
    }

    fn next(&mut self, batch: &mut Batch) {
        while let Some(number) = self.following
            && has_room(batch, Opcode::Upsert, self.bytes)
        {
            push(batch, Opcode::Upsert, key(number), 0);
            self.following = self.search(number + self.step);
        }
    }
}

/// Operations on keys that are drawn.
#[derive(Debug)]
pub struct Run {
    pub mix: Mix,
    pub distribution: Distribution,
    pub keys: u64,
    pub share: Share,
    pub bytes: usize,
    /// The operations after which the stream begins again.
    pub length: u64,
    pub seed: (u64, u64),
    random: Random,
    drawn: u64,
}

impl Run {
    /// Creates the stream with this number of a seed.
    pub fn new(
        (mix, distribution): (Mix, Distribution),
        keys: u64,
        share: Share,
        bytes: usize,
        length: u64,
        seed: (u64, u64),
    ) -> Run {
        let random = Random::part(seed.0, seed.1);
        Run { mix, distribution, keys, share, bytes, length, seed, random, drawn: 0 }
    }

    fn next(&mut self, batch: &mut Batch) {
        loop {
            if self.drawn == self.length {
                (self.random, self.drawn) = (Random::part(self.seed.0, self.seed.1), 0);
            }
            let opcode = self.mix.draw(&mut self.random);
            if !has_room(batch, opcode, self.bytes) {
                return;
            }
            let key = loop {
                let key = key(self.distribution.draw(self.keys, &mut self.random));
                if self.share.has(key) {
                    break key;
                }
            };
            push(batch, opcode, key, 1);
            self.drawn += 1;
        }
    }
}

/// True if a further operation fits into a frame of so many bytes; the first always does.
#[inline]
fn has_room(batch: &Batch, opcode: Opcode, bytes: usize) -> bool {
    let count = batch.opcodes.len() + 1;
    let values = batch.values.len() + usize::from(opcode != Opcode::Read);
    let frame = HEADER_BYTES + count.next_multiple_of(8) + 8 * (count + values);
    count == 1 || frame <= bytes && count <= MOST_COUNT
}

#[inline]
fn push(batch: &mut Batch, opcode: Opcode, key: u64, value: u64) {
    batch.opcodes.push(opcode as u8);
    batch.keys.push(key);
    if opcode != Opcode::Read {
        batch.values.push(value);
    }
}
