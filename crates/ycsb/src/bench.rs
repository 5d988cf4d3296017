//! The batches of guide 5's client: all keys once, then operations on keys that are drawn or listed.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use load::driver::kv::{Batch, KvWorkload};
use measure::Random;
use wire::kv::{HEADER_BYTES, MOST_COUNT, Opcode};

use self::inserts::Inserts;
use crate::keys::{Block, Distribution, Draws, Share, key, keys};
use crate::stream::Newest;
use crate::zipf::BLOCK;

pub use self::inserts::Inserted;
pub use self::scans::scans;

mod inserts;
mod scans;
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
    /// 95 % read, mostly the newest keys, and 5 % insert.
    D,
    /// 95 % scan, and 5 % insert: these are no batches of fixed operations, but those of [`scans`].
    E,
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
            Mix::D => 'D',
            Mix::E => 'E',
        }
    }

    fn draw(self, random: &mut Random) -> Opcode {
        let is_read = |random: &mut Random, percent| random.below(100) < percent;
        match self {
            Mix::Rmw => Opcode::Add,
            Mix::C => Opcode::Read,
            Mix::A | Mix::F if is_read(random, 50) => Opcode::Read,
            Mix::B | Mix::D if is_read(random, 95) => Opcode::Read,
            Mix::A | Mix::B | Mix::D => Opcode::Upsert,
            Mix::F => Opcode::Add,
            Mix::E => unreachable!("scans are made by another driver"),
        }
    }
}

/// The keys that a server is filled with.
#[derive(Clone, Debug)]
pub enum Keys {
    /// The keys of the numbers below this one.
    Numbered(u64),
    /// Those of a file.
    Listed(Arc<Vec<u64>>),
}

impl Keys {
    pub fn count(&self) -> u64 {
        match self {
            Keys::Numbered(count) => *count,
            Keys::Listed(keys) => keys.len() as u64,
        }
    }

    #[inline]
    fn at(&self, number: u64) -> u64 {
        match self {
            Keys::Numbered(_) => key(number),
            Keys::Listed(keys) => keys[number as usize],
        }
    }
}

/// Appends the keys of a file, whose bytes are a multiple of eight.
pub fn append_keys(bytes: &[u8], keys: &mut Vec<u64>) {
    let (each, rest) = bytes.as_chunks::<8>();
    assert!(rest.is_empty(), "a key has eight bytes");
    keys.extend(each.iter().map(|key| u64::from_le_bytes(*key)));
}

/// The batches of one connection.
#[derive(Debug)]
pub enum Batches {
    Fill(Fill),
    Run(Box<Run>),
}

impl KvWorkload for Batches {
    #[inline]
    fn next(&mut self, batch: &mut Batch) {
        match self {
            Batches::Fill(fill) => fill.next(batch),
            Batches::Run(run) => run.next(batch),
        }
    }

    fn ended(&mut self) {
        match self {
            Batches::Fill(_) => {}
            Batches::Run(run) => run.ended(),
        }
    }

    /// A fill with a gap is none, and a server that is gone may have another address when it is there again: the fill
    /// ends. A run goes on, if the server comes back.
    fn disconnected(&mut self) {
        if let Batches::Fill(fill) = self {
            fill.following = None;
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Batches::Fill(fill) => fill.following.is_none(),
            Batches::Run(run) => run.is_empty,
        }
    }
}

/// Every `step`-th key that the server has, each once.
#[derive(Debug)]
pub struct Fill {
    keys: Keys,
    step: u64,
    share: Share,
    bytes: usize,
    /// The number of the next key.
    following: Option<u64>,
}

impl Fill {
    /// Begins with the key with this number.
    pub fn new(first: u64, step: u64, keys: Keys, share: Share, bytes: usize) -> Fill {
        let mut fill = Fill { keys, step, share, bytes, following: None };
        fill.following = fill.search(first);
        fill
    }

    /// Returns the number of the first key from this one on that the server has.
    fn search(&self, from: u64) -> Option<u64> {
        let mut numbers = (from..self.keys.count()).step_by(self.step as usize);
        numbers.find(|number| self.share.has(self.keys.at(*number)))
    }

    fn next(&mut self, batch: &mut Batch) {
        while let Some(number) = self.following
            && has_room(batch, Opcode::Upsert, self.bytes)
        {
            push(batch, Opcode::Upsert, self.keys.at(number), 0);
            self.following = self.search(number + self.step);
        }
    }
}

/// The keys that operations ask for.
#[derive(Clone, Debug)]
pub enum Requests {
    /// Of those that the server was filled with.
    Drawn(Distribution, Keys),
    /// The newest ones of those that this client knows, which are YCSB's distribution `latest`.
    Latest(Arc<Inserted>),
    /// These, one after the other.
    Listed(Arc<Vec<u64>>, Range<usize>),
}

/// Operations on keys.
#[derive(Debug)]
pub struct Run {
    terms: Terms,
    source: Source,
    /// Draws the kinds of operations.
    kinds: Random,
    drawn: u64,
    /// True if the server has none of the keys.
    is_empty: bool,
    inserts: Option<Inserts>,
    /// For each batch that has not ended, the first insert behind it.
    sent: VecDeque<u64>,
}

/// The terms of a run's operations, of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub mix: Mix,
    pub share: Share,
    pub bytes: usize,
    /// The operations after which the stream begins again.
    pub length: u64,
    /// The seed of the run, and the number of the stream.
    pub seed: (u64, u64),
}

#[derive(Debug)]
enum Source {
    Drawn {
        draws: Draws,
        keys: Keys,
        random: Random,
        block: Drawn,
    },
    Latest {
        inserted: Arc<Inserted>,
        newest: Box<Newest>,
        random: Random,
        /// The number of the newest key, among those of this client, when the batch began.
        last: u64,
    },
    Listed {
        keys: Arc<Vec<u64>>,
        part: Range<usize>,
        next: usize,
    },
}

/// The keys that were drawn together, and the place of the next one.
#[derive(Debug)]
struct Drawn {
    keys: Box<Block>,
    next: usize,
}

impl Drawn {
    fn none() -> Drawn {
        Drawn { keys: Box::new([0; BLOCK]), next: BLOCK }
    }
}

impl Source {
    fn new(requests: Requests, random: Random) -> Source {
        match requests {
            Requests::Drawn(distribution, keys) => {
                let draws = Draws::new(distribution, keys.count());
                Source::Drawn { draws, keys, random, block: Drawn::none() }
            }
            Requests::Latest(inserted) => {
                let (newest, last) = (Box::default(), inserted.last());
                Source::Latest { inserted, newest, random, last }
            }
            Requests::Listed(keys, part) => Source::Listed { next: part.start, keys, part },
        }
    }

    /// True if the server has none of the keys.
    fn is_empty(&self, share: Share) -> bool {
        match self {
            Source::Drawn { keys, .. } => !(0..keys.count()).any(|at| share.has(keys.at(at))),
            Source::Latest { inserted, .. } => !(0..inserted.first()).any(|at| share.has(key(at))),
            Source::Listed { keys, part, .. } => {
                !keys[part.clone()].iter().any(|key| share.has(*key))
            }
        }
    }

    /// Begins the stream again.
    fn begin(&mut self, new: Random) {
        match self {
            Source::Drawn { random, block, .. } => (*random, block.next) = (new, BLOCK),
            Source::Latest { random, .. } => *random = new,
            Source::Listed { part, next, .. } => *next = part.start,
        }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        match self {
            Source::Drawn { draws, keys: from, random, block } => {
                if block.next == BLOCK {
                    let numbers = draws.next(random);
                    *block.keys = match from {
                        Keys::Numbered(_) => keys(&numbers),
                        Keys::Listed(listed) => numbers.map(|number| listed[number as usize]),
                    };
                    block.next = 0;
                }
                block.next += 1;
                block.keys[block.next - 1]
            }
            Source::Latest { inserted, newest, random, last } => {
                key(inserted.number(newest.draw(*last, random.unit())))
            }
            Source::Listed { keys, part, next } => {
                let key = keys[*next];
                *next = if *next + 1 == part.end { part.start } else { *next + 1 };
                key
            }
        }
    }
}

impl Run {
    /// Creates a stream. `inserts` has the place among all connections of one that inserts keys of its own.
    pub fn new(terms: Terms, requests: Requests, inserts: Option<(Arc<Inserted>, usize)>) -> Run {
        let Terms { share, seed, .. } = terms;
        let [kinds, random] = streams(seed);
        let source = Source::new(requests, random);
        let is_empty = source.is_empty(share);
        let inserts = inserts.map(|(inserted, place)| Inserts::new(inserted, place, share));
        if is_empty && let Some(inserts) = &inserts {
            inserts.answered(u64::MAX);
        }
        let (drawn, sent) = (0, VecDeque::new());
        Run { terms, source, kinds, drawn, is_empty, inserts, sent }
    }

    fn next(&mut self, batch: &mut Batch) {
        let Run { terms, source, kinds, drawn, inserts, sent, .. } = self;
        if let Source::Latest { inserted, last, .. } = source {
            *last = inserted.last();
        }
        loop {
            if *drawn == terms.length {
                let [again, random] = streams(terms.seed);
                (*kinds, *drawn) = (again, 0);
                source.begin(random);
            }
            let opcode = terms.mix.draw(kinds);
            if !has_room(batch, opcode, terms.bytes) {
                break;
            }
            let key = match inserts {
                Some(inserts) if opcode == Opcode::Upsert => inserts.next(),
                _ => loop {
                    let key = source.next();
                    if terms.share.has(key) {
                        break key;
                    }
                },
            };
            push(batch, opcode, key, 1);
            *drawn += 1;
        }
        sent.extend(inserts.as_ref().map(Inserts::following));
    }

    fn ended(&mut self) {
        if let (Some(inserts), Some(following)) = (&self.inserts, self.sent.pop_front()) {
            inserts.answered(following);
        }
    }
}

/// The generators of the kinds and of the keys of a stream.
fn streams((seed, stream): (u64, u64)) -> [Random; 2] {
    [0, 1].map(|what| Random::part(seed, 2 * stream + what))
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
