//! One operation on one key: how it finds the record, and whether it changes it or appends another.
//!
//! A record is changed in its place only from ReadOnly on, and copied only below SafeReadOnly, where
//! nobody changes it any more: otherwise a change that happens during the copy would be lost. What
//! may neither be changed nor copied is tried again later. A blind replacement is always allowed:
//! a change in place that happens at the same time counts as before it.

use crate::address::Address;
use crate::hash::Hash;
use crate::index::{Added, Index, Room, Slot};
use crate::log::{Borders, Draft, Info, Limit, Log, Record, Refused, UNIT};
use crate::op::{MOST_OF_A_KEY, MOST_OF_A_VALUE, MOST_SCANNED, Op};
use crate::shared::Shared;
use crate::status::Status;

/// The attempts of an operation while others change the same chain.
const ATTEMPTS: usize = 16;

#[cfg(all(test, shuttle))]
thread_local! {
    /// The canary of the models: a store that copies records which others may still change. All threads of
    /// a model are in one of the system's.
    pub(crate) static COPIES_AT_ONCE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The state of a store, as a session saw it at its last refresh.
#[derive(Debug)]
pub(crate) struct Applying<'a> {
    pub(crate) index: &'a Index,
    pub(crate) log: &'a Log,
    pub(crate) borders: Borders,
    pub(crate) version: u64,
    /// False while a checkpoint makes its cut.
    pub(crate) may_change: bool,
    pub(crate) shared: &'a Shared,
    /// A buffer for values that are copied.
    pub(crate) scratch: &'a mut Vec<u8>,
}

/// The result of a search in the storage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Known<'a> {
    /// The record below Head that the search began with.
    pub(crate) from: Address,
    /// The newest value from there on, if there is one.
    pub(crate) value: Option<&'a [u8]>,
    /// The address of its record.
    pub(crate) at: Address,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    Done(Status),
    /// Others are in the way: the operation is tried again after a refresh.
    Later,
    /// The record at this address must be read from the storage first.
    Cold(Address),
}

/// The newest record of a key.
#[derive(Clone, Copy, Debug)]
enum Found<'a> {
    Live(Record<'a>, Region),
    /// It is in the storage, and has this value.
    Stored(&'a [u8]),
    /// There is none, or a tombstone.
    Absent,
    /// It is not among the records in memory, and may be at this address.
    Cold(Address),
}

/// The place of a record in memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Region {
    Mutable,
    /// Others may still change it, but this session may not.
    Fuzzy,
    ReadOnly,
}

impl<'a> Applying<'a> {
    /// Executes an operation and appends its value to `out`. `known` is what the storage has, if it
    /// was searched for this operation.
    pub(crate) fn apply(
        &mut self,
        hash: Hash,
        op: &Op<'_>,
        known: Option<Known<'_>>,
        out: &mut Vec<u8>,
    ) -> Step {
        if !self.index.owns(hash) {
            return Step::Done(Status::NotOwner);
        }
        if !self.is_valid(op) {
            return Step::Done(Status::WrongType);
        }
        if matches!(op, Op::Scan { .. }) {
            // It is not an operation on one record: the session executes it by itself.
            return Step::Later;
        }
        if !self.may_change && !matches!(op, Op::Read { .. } | Op::ReadAt { .. }) {
            return Step::Later;
        }
        let attempts = (0..ATTEMPTS).find_map(|_| self.attempt(hash, op, known, out));
        attempts.unwrap_or(Step::Later)
    }

    /// Appends a copy of the record at an address, if it is the newest one of its key and in the
    /// storage: compaction takes away its place. `NotFound` if it is not.
    pub(crate) fn copy_if_newest(
        &mut self,
        hash: Hash,
        key: &[u8],
        at: Address,
        known: Option<Known<'_>>,
    ) -> Step {
        if !self.may_change {
            return Step::Later;
        }
        let attempt = |_| {
            let slot = self.index.find(hash);
            let newest = slot.map_or(Address::NONE, |slot| slot.address());
            match self.search(newest, key, known) {
                Found::Cold(address) => Some(Step::Cold(address)),
                Found::Stored(value) if known.is_some_and(|known| known.at == at) => {
                    let draft = Draft { key, value: Some(value) };
                    self.append(&Chain { hash, slot }, &draft, Limit::Copy)
                }
                Found::Stored(_) | Found::Live(..) | Found::Absent => {
                    Some(Step::Done(Status::NotFound))
                }
            }
        };
        (0..ATTEMPTS).find_map(attempt).unwrap_or(Step::Later)
    }

    fn is_valid(&self, op: &Op<'_>) -> bool {
        let key = op.key();
        let key_is_valid = !key.is_empty() && key.len() <= MOST_OF_A_KEY;
        key_is_valid
            && match op {
                Op::Upsert { value, .. } => {
                    let draft = Draft { key, value: Some(value) };
                    value.len() <= MOST_OF_A_VALUE && self.log.has_room_for(&draft)
                }
                Op::Scan { count, .. } => (1..=MOST_SCANNED).contains(count),
                _ => true,
            }
    }

    /// Returns `None` if another attempt may succeed at once.
    fn attempt(
        &mut self,
        hash: Hash,
        op: &Op<'_>,
        known: Option<Known<'_>>,
        out: &mut Vec<u8>,
    ) -> Option<Step> {
        let slot = self.index.find(hash);
        let newest = slot.map_or(Address::NONE, |slot| slot.address());
        let found = self.search(newest, op.key(), known);
        let chain = Chain { hash, slot };
        match *op {
            Op::Read { .. } => read(found, None, out),
            Op::ReadAt { offset, length, .. } => {
                read(found, Some((offset as usize, length as usize)), out)
            }
            Op::Upsert { key, value } => self.upsert(&chain, found, key, value),
            Op::Add { key, delta } => self.add(&chain, found, key, delta, out),
            Op::Delete { key } => self.delete(&chain, found, key),
            Op::WriteAt { key, offset, bytes } => {
                self.write_at(&chain, found, key, offset as usize, bytes)
            }
            Op::Scan { .. } => unreachable!("a scan has no attempts"),
        }
    }

    /// Follows a chain to the newest record of a key.
    fn search<'f>(&self, newest: Address, key: &[u8], known: Option<Known<'f>>) -> Found<'f>
    where
        'a: 'f,
    {
        let mut at = newest;
        loop {
            if at < self.borders.begin {
                return Found::Absent;
            }
            if at < self.borders.head {
                return match known {
                    Some(Known { from, value, .. }) if from == at => {
                        value.map_or(Found::Absent, Found::Stored)
                    }
                    _ => Found::Cold(at),
                };
            }
            let record = self.log.record(at);
            let info = record.info();
            if record.has_key(key) && !info.is_invalid() {
                return match info.is_tombstone() {
                    true => Found::Absent,
                    false => Found::Live(record, self.region(at)),
                };
            }
            at = info.previous();
        }
    }

    fn region(&self, address: Address) -> Region {
        #[cfg(all(test, shuttle))]
        if COPIES_AT_ONCE.get() && address < self.borders.read_only {
            return Region::ReadOnly;
        }
        if address >= self.borders.read_only {
            Region::Mutable
        } else if address >= self.borders.safe_read_only {
            Region::Fuzzy
        } else {
            Region::ReadOnly
        }
    }

    fn upsert(
        &self,
        chain: &Chain<'a>,
        found: Found<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Option<Step> {
        if let Found::Live(record, Region::Mutable) = found {
            match record.replace(value) {
                Err(Refused::Length) => {}
                replaced => return ended(replaced),
            }
        }
        self.append(chain, &Draft { key, value: Some(value) }, Limit::Value)
    }

    fn add(
        &mut self,
        chain: &Chain<'a>,
        found: Found<'_>,
        key: &[u8],
        delta: i64,
        out: &mut Vec<u8>,
    ) -> Option<Step> {
        let sum = match found {
            Found::Live(record, Region::Mutable) => {
                let sum = record.add(delta);
                if let Ok(sum) = sum {
                    out.extend_from_slice(&sum.to_le_bytes());
                }
                return ended(sum.map(|_| ()));
            }
            Found::Live(_, Region::Fuzzy) => return Some(Step::Later),
            Found::Live(_, Region::ReadOnly) | Found::Stored(_) => {
                self.copy(found)?;
                let Ok(old) = <[u8; 8]>::try_from(&self.scratch[..]) else {
                    return Some(Step::Done(Status::WrongType));
                };
                i64::from_le_bytes(old).wrapping_add(delta)
            }
            Found::Absent => delta,
            Found::Cold(address) => return Some(Step::Cold(address)),
        };
        let sum = sum.to_le_bytes();
        let step = self.append(chain, &Draft { key, value: Some(&sum) }, Limit::Value);
        if step == Some(Step::Done(Status::Ok)) {
            out.extend_from_slice(&sum);
        }
        step
    }

    fn write_at(
        &mut self,
        chain: &Chain<'a>,
        found: Found<'_>,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Option<Step> {
        match found {
            Found::Live(record, Region::Mutable) => ended(record.write_at(at, bytes)),
            Found::Live(_, Region::Fuzzy) => Some(Step::Later),
            Found::Live(_, Region::ReadOnly) | Found::Stored(_) => {
                self.copy(found)?;
                let Some(part) = self.scratch.get_mut(at..at + bytes.len()) else {
                    return Some(Step::Done(Status::WrongType));
                };
                part.copy_from_slice(bytes);
                self.append(chain, &Draft { key, value: Some(self.scratch) }, Limit::Value)
            }
            Found::Absent => Some(Step::Done(Status::NotFound)),
            Found::Cold(address) => Some(Step::Cold(address)),
        }
    }

    fn delete(&self, chain: &Chain<'a>, found: Found<'_>, key: &[u8]) -> Option<Step> {
        match found {
            Found::Live(record, Region::Mutable) => {
                if !record.bury() {
                    return Some(Step::Done(Status::NotFound));
                }
                self.shared.note_garbage(UNIT);
                Some(Step::Done(Status::Ok))
            }
            Found::Live(..) | Found::Stored(_) | Found::Cold(_) => {
                let draft = Draft { key, value: None };
                let step = self.append(chain, &draft, Limit::Tombstone);
                if step == Some(Step::Done(Status::Ok)) {
                    self.shared.note_garbage(draft.size());
                }
                step
            }
            Found::Absent => Some(Step::Done(Status::NotFound)),
        }
    }

    /// Copies a value that nobody changes to the scratch buffer.
    fn copy(&mut self, found: Found<'_>) -> Option<()> {
        self.scratch.clear();
        read(found, None, self.scratch).map(|_| ())
    }

    /// Appends a record and makes it the newest of its chain.
    fn append(&self, chain: &Chain<'a>, draft: &Draft<'_>, limit: Limit) -> Option<Step> {
        if !self.index.may_change(chain.hash) {
            return Some(Step::Later);
        }
        // Before the record is made: those of operations that wait would fill the log.
        match chain.slot.map_or_else(|| self.index.room(chain.hash), |_| Room::Now) {
            Room::Now => {}
            Room::Later => return Some(Step::Later),
            Room::None => return Some(Step::Done(Status::Full)),
        }
        let newest = chain.slot.map_or(Address::NONE, |slot| slot.address());
        let previous = if newest < self.borders.begin { Address::NONE } else { newest };
        let info = Info::new(previous, self.version);
        let Some((address, record)) = self.log.append_within(draft, info, limit) else {
            return Some(self.shared.without_room(limit).map_or(Step::Later, Step::Done));
        };
        let added = match chain.slot {
            Some(slot) if slot.replace(address) => Added::Done,
            Some(_) => Added::Exists,
            None => self.index.add(chain.hash, address),
        };
        if added == Added::Done {
            return Some(Step::Done(Status::Ok));
        }
        record.invalidate();
        None
    }
}

/// Appends the value, or a part of it (its begin and length), to `out`.
fn read(found: Found<'_>, part: Option<(usize, usize)>, out: &mut Vec<u8>) -> Option<Step> {
    match (found, part) {
        (Found::Live(record, _), None) => ended(record.read(out)),
        (Found::Live(record, _), Some((at, length))) => ended(record.read_at(at, length, out)),
        (Found::Stored(value), part) => {
            let (at, length) = part.unwrap_or((0, value.len()));
            let part = value.get(at..at + length).ok_or(Refused::Length);
            ended(part.map(|part| out.extend_from_slice(part)))
        }
        (Found::Absent, _) => Some(Step::Done(Status::NotFound)),
        (Found::Cold(address), _) => Some(Step::Cold(address)),
    }
}

/// The chain that a key belongs to.
#[derive(Debug)]
struct Chain<'a> {
    hash: Hash,
    /// Its entry in the index, as it was when the key was searched.
    slot: Option<Slot<'a>>,
}

/// Returns the end of an operation that has read or changed a record, or nothing if others were in
/// the way.
fn ended(result: Result<(), Refused>) -> Option<Step> {
    match result {
        Ok(()) => Some(Step::Done(Status::Ok)),
        Err(Refused::Length) => Some(Step::Done(Status::WrongType)),
        Err(Refused::Contended) => None,
    }
}
