//! A scan: the records of the buckets in their order, which is that of the hashes.
//!
//! Of each bucket all chains are followed to their ends, since a chain may have several keys; the first
//! record of a key on its chain is its newest one. Then the records of the bucket are sorted. A chain
//! that reaches the storage is followed by one read after the other. Compaction may take away records
//! that were not reached yet, whose copies are at the beginning of the chain: then the bucket is
//! walked again.

use std::ops::Range;

use crate::address::Address;
use crate::apply::Applying;
use crate::hash::Hash;
use crate::log::stored::record_at;
use crate::log::{BLOCK, Info, Refused};
use crate::op::MOST_OF_A_VALUE;
use crate::status::Status;

#[cfg(all(test, not(shuttle)))]
mod tests;

/// The buckets and records at which the scans of one poll look: others wait for the session meanwhile.
pub(super) const STEPS: usize = 16_384;

/// The bytes of records of one bucket that are held.
const MOST_HELD: usize = 4 * MOST_OF_A_VALUE;

/// The scan of a session that is executed. Its buffers are used again by the next one.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The number of the waiting operation; `None` if there is no scan.
    pub(super) number: Option<usize>,
    start: Start,
    wanted: u32,
    /// A hash of the bucket that is next; `None` after the last one.
    next: Option<Hash>,
    bucket: Bucket,
    /// The records so far.
    out: Vec<u8>,
    count: u32,
    /// The next record would make it too long.
    is_full: bool,
}

/// The place at which the records begin.
#[derive(Debug, Default)]
struct Start {
    hash: Hash,
    /// A key of this hash behind which they begin, or nothing.
    behind: Vec<u8>,
}

impl Start {
    fn is_behind(&self, hash: Hash, key: &[u8]) -> bool {
        let is_same = hash == self.hash && !self.behind.is_empty();
        hash.number() < self.hash.number() || is_same && key <= &self.behind[..]
    }
}

/// The bucket that is walked.
#[derive(Debug, Default)]
struct Bucket {
    /// A hash that belongs to it.
    hash: Hash,
    /// Begin of the log when its walk began.
    begin: Option<Address>,
    /// The chains that were not begun.
    chains: Vec<Address>,
    /// The next record of the chain that is followed.
    at: Option<Address>,
    found: Vec<Found>,
    /// The keys and values that were found.
    bytes: Vec<u8>,
}

/// The newest record of a key.
#[derive(Clone, Debug)]
struct Found {
    hash: u64,
    key: Range<usize>,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Is(Range<usize>),
    Tombstone,
    /// It is so far behind that the scan ends before it.
    TooFar,
}

/// The result of an attempt to go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Progress {
    Done,
    Later,
    /// The record at this address must be read from the storage first.
    Cold(Address),
    /// The bytes that were read are not those that were written.
    Failed,
}

impl Scan {
    pub(super) fn begin(&mut self, number: usize, from: Hash, behind: &[u8], wanted: u32) {
        self.start.hash = from;
        self.start.behind.clear();
        self.start.behind.extend_from_slice(behind);
        (self.number, self.wanted, self.next) = (Some(number), wanted, Some(from));
        self.bucket.clear();
        self.out.clear();
        (self.count, self.is_full) = (0, false);
    }

    /// Ends the scan, and appends its records to `out`.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> Status {
        self.number = None;
        out.extend_from_slice(&self.out);
        Status::Ok
    }

    /// Gives the scan up.
    pub(super) fn fail(&mut self) -> Status {
        self.number = None;
        Status::StorageFailed
    }

    /// Goes on, with the blocks that were read for it, and the address of a record in the first.
    pub(super) fn go_on(
        &mut self,
        applying: &Applying<'_>,
        blocks: Option<(Address, &[u8])>,
        steps: &mut usize,
    ) -> Progress {
        loop {
            if *steps == 0 {
                return Progress::Later;
            }
            *steps -= 1;
            if let Some(at) = self.bucket.at {
                match self.bucket.follow(at, &self.start, applying, blocks) {
                    Progress::Done => {}
                    waits => return waits,
                }
                continue;
            }
            if let Some(chain) = self.bucket.chains.pop() {
                self.bucket.at = Some(chain);
                continue;
            }
            self.take_found();
            let Some(hash) = self.next.filter(|_| !self.is_full && self.count < self.wanted) else {
                return Progress::Done;
            };
            self.next = self.bucket.walk(hash, applying);
        }
    }

    /// Takes the records of a bucket that was walked, in their order.
    fn take_found(&mut self) {
        let Bucket { found, bytes, .. } = &mut self.bucket;
        sort(found, bytes);
        for Found { key, value, .. } in found.drain(..) {
            let value = match value {
                Value::Tombstone => continue,
                Value::Is(value) if self.count < self.wanted => value,
                Value::Is(_) | Value::TooFar => {
                    self.is_full = true;
                    break;
                }
            };
            let record = (8 + key.len() + value.len()).next_multiple_of(8);
            if self.count > 0 && self.out.len() + record > MOST_OF_A_VALUE {
                self.is_full = true;
                break;
            }
            let end = self.out.len() + record;
            let head = key.len() as u64 | (value.len() as u64) << 32;
            self.out.extend_from_slice(&head.to_le_bytes());
            self.out.extend_from_slice(&bytes[key]);
            self.out.extend_from_slice(&bytes[value]);
            self.out.resize(end, 0);
            self.count += 1;
        }
        bytes.clear();
    }
}

impl Bucket {
    fn clear(&mut self) {
        (self.at, self.begin) = (None, None);
        self.chains.clear();
        self.found.clear();
        self.bytes.clear();
    }

    /// Begins to walk the bucket of a hash, and returns a hash of the next one.
    fn walk(&mut self, hash: Hash, applying: &Applying<'_>) -> Option<Hash> {
        self.clear();
        (self.hash, self.begin) = (hash, Some(applying.borders.begin));
        applying.index.walk(hash, &mut self.chains)
    }

    /// Looks at the record at an address, and goes to the one before on its chain.
    fn follow(
        &mut self,
        at: Address,
        start: &Start,
        applying: &Applying<'_>,
        blocks: Option<(Address, &[u8])>,
    ) -> Progress {
        if at < applying.borders.begin {
            self.at = None;
            if at != Address::NONE && self.begin != Some(applying.borders.begin) {
                // What was here may have been copied since, to where the walk has been already.
                let hash = self.hash;
                self.walk(hash, applying);
            }
            return Progress::Done;
        }
        let seed = applying.shared.seed;
        let key = self.bytes.len();
        let (info, is_found) = if at < applying.borders.head {
            let is_read = |(first, _): &(Address, _)| first.get() / BLOCK == at.get() / BLOCK;
            let Some((_, blocks)) = blocks.filter(is_read) else { return Progress::Cold(at) };
            let Ok(record) = record_at(blocks, at) else { return Progress::Failed };
            self.bytes.extend_from_slice(record.key);
            let is_found = self.find(key, start, seed, record.info, |out| {
                out.extend_from_slice(record.value);
                Ok(())
            });
            (record.info, is_found)
        } else {
            let record = applying.log.record(at);
            let info = record.info();
            record.read_key(&mut self.bytes);
            (info, self.find(key, start, seed, info, |out| record.read(out)))
        };
        if is_found.is_err() {
            // Others write it.
            return Progress::Later;
        }
        self.at = Some(info.previous());
        Progress::Done
    }

    /// Keeps the record whose key was appended, if it is the first one of its key.
    fn find(
        &mut self,
        key: usize,
        start: &Start,
        seed: u64,
        info: Info,
        value: impl FnOnce(&mut Vec<u8>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let Bucket { found, bytes, .. } = self;
        let key = key..bytes.len();
        let hash = Hash::of(&bytes[key.clone()], seed);
        let is_its = |other: &Found| bytes[other.key.clone()] == bytes[key.clone()];
        let is_before = start.is_behind(hash, &bytes[key.clone()]);
        if info.is_invalid() || is_before || found.iter().any(is_its) {
            bytes.truncate(key.start);
            return Ok(());
        }
        let mut its = Value::Tombstone;
        if !info.is_tombstone() {
            if let Err(refused) = value(bytes) {
                bytes.truncate(key.start);
                return Err(refused);
            }
            its = Value::Is(key.end..bytes.len());
        }
        found.push(Found { hash: hash.number(), key, value: its });
        if bytes.len() > MOST_HELD {
            self.drop_far();
        }
        Ok(())
    }

    /// Drops the values of records behind which a scan ends.
    fn drop_far(&mut self) {
        let Bucket { found, bytes, .. } = self;
        sort(found, bytes);
        let (mut kept, mut live) = (Vec::new(), 0);
        let mut keep = |range: &Range<usize>| {
            let begin = kept.len();
            kept.extend_from_slice(&bytes[range.clone()]);
            begin..kept.len()
        };
        for Found { key, value, .. } in found {
            *key = keep(key);
            if let Value::Is(range) = value {
                let is_too_far = live > MOST_OF_A_VALUE;
                live += range.len();
                *value = if is_too_far { Value::TooFar } else { Value::Is(keep(range)) };
            }
        }
        self.bytes = kept;
    }
}

/// Sorts records by their hashes.
fn sort(found: &mut [Found], bytes: &[u8]) {
    let place = |found: &Found| (found.hash, &bytes[found.key.clone()]);
    found.sort_unstable_by(|one, other| place(one).cmp(&place(other)));
}
