//! The operations of a session that have not ended, with copies of what they need. Each keeps its
//! number until it ends: reads of the storage carry it.

use std::collections::VecDeque;

use crate::address::Address;
use crate::apply::Known;
use crate::op::Op;
use crate::status::Status;

/// The most operations of a session that wait.
pub(super) const MOST: usize = 4096;

/// The buffers of an operation that has ended are kept for the next one up to this size, and all of
/// them for so many operations.
const MOST_KEPT: usize = 256;
const MOST_UNUSED: usize = 64;

/// The serial of an operation that does not wait any more.
const ENDED: u64 = u64::MAX;

/// The operations that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    ops: Vec<OwnedOp>,
    /// The numbers of those that have ended, whose buffers are used again.
    free: Vec<usize>,
    /// Those that are to be tried again, in order.
    ready: VecDeque<usize>,
    /// Those that need a record from the storage, in order.
    cold: VecDeque<usize>,
    /// The scans that wait for the end of the one before.
    scans: VecDeque<usize>,
    /// The bytes that the operations have brought, and those that were found for them.
    given: usize,
    found: usize,
}

/// The reason to wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reason {
    Others,
    /// The record at this address must be read.
    Cold(Address),
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.ops.len() - self.free.len()
    }

    /// The bytes of memory that they hold.
    pub(super) fn held(&self) -> usize {
        self.ops.capacity() * (size_of::<OwnedOp>() + MOST_KEPT) + self.given + self.found
    }

    /// The bytes that were found in the storage, for operations that have not ended.
    pub(super) fn found_bytes(&self) -> usize {
        self.found
    }

    /// True if so many more operations may wait.
    pub(super) fn has_room_for(&self, more: usize) -> bool {
        self.len() + more <= MOST
    }

    /// Returns the serials of all that wait.
    pub(super) fn serials(&self) -> impl Iterator<Item = u64> {
        self.ops.iter().map(|op| op.serial).filter(|serial| *serial != ENDED)
    }

    /// Keeps a copy of an operation, unless too many wait.
    pub(super) fn keep(&mut self, serial: u64, op: &Op<'_>, reason: Reason) -> Status {
        if self.len() == MOST {
            return Status::Busy;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.ops.push(OwnedOp::default());
            self.ops.len() - 1
        });
        self.ops[number].become_copy(serial, op);
        self.given += self.ops[number].bytes.len();
        self.wait(number, reason);
        Status::Pending
    }

    /// Keeps a record that is to be copied if it is the newest of its key.
    pub(super) fn keep_copy(&mut self, serial: u64, key: &[u8], at: Address) {
        let kept = self.keep(serial, &Op::Read { key }, Reason::Others);
        debug_assert_eq!(kept, Status::Pending, "compaction has few copies at a time");
        if let Some(number) = self.ready.back() {
            self.ops[*number].copied = at;
        }
    }

    /// Lets an operation wait again.
    pub(super) fn wait(&mut self, number: usize, reason: Reason) {
        match reason {
            Reason::Others => self.ready.push_back(number),
            Reason::Cold(from) => {
                self.forget_found(number);
                let op = &mut self.ops[number];
                (op.from, op.at, op.length_to_read) = (from, from, 0);
                op.search = Search::Open;
                self.cold.push_back(number);
            }
        }
    }

    /// The number of operations that may be tried now.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    pub(super) fn next_ready(&mut self) -> Option<usize> {
        self.ready.pop_front()
    }

    /// Returns the next operation that needs a record, and its address.
    pub(super) fn next_cold(&mut self) -> Option<(usize, Address)> {
        let number = self.cold.pop_front()?;
        Some((number, self.ops[number].at))
    }

    /// Lets a scan wait for the end of another one.
    pub(super) fn wait_for_scan(&mut self, number: usize) {
        self.scans.push_back(number);
    }

    /// Returns the next scan that waited for the end of another one.
    pub(super) fn next_scan(&mut self) -> Option<usize> {
        self.scans.pop_front()
    }

    pub(super) fn get(&mut self, number: usize) -> &mut OwnedOp {
        &mut self.ops[number]
    }

    /// The record at this address is next, with this many bytes from its block on; zero if they are
    /// not known.
    pub(super) fn read_on(&mut self, number: usize, at: Address, length: usize) {
        let op = &mut self.ops[number];
        (op.at, op.length_to_read) = (at, length);
        self.cold.push_back(number);
    }

    /// The search in the storage has ended.
    pub(super) fn found(&mut self, number: usize, value: Option<&[u8]>, at: Address) {
        self.forget_found(number);
        let op = &mut self.ops[number];
        op.found_at = at;
        op.search = if value.is_some() { Search::Value } else { Search::Absent };
        op.value.extend_from_slice(value.unwrap_or_default());
        self.found += op.value.len();
        self.ready.push_back(number);
    }

    fn forget_found(&mut self, number: usize) {
        let value = &mut self.ops[number].value;
        self.found -= value.len();
        empty(value);
    }

    /// The blocks with the record that a scan needs were read.
    pub(super) fn found_blocks(&mut self, number: usize, blocks: &[u8]) {
        let at = self.ops[number].at;
        self.found(number, Some(blocks), at);
    }

    /// The storage could not be searched.
    pub(super) fn fail(&mut self, number: usize) {
        self.ops[number].search = Search::Failed;
        self.ready.push_back(number);
    }

    pub(super) fn end(&mut self, number: usize) {
        self.forget_found(number);
        let op = &mut self.ops[number];
        self.given -= op.bytes.len();
        empty(&mut op.bytes);
        empty(&mut op.key);
        op.serial = ENDED;
        self.free.push(number);
        if self.len() == 0 && MOST_UNUSED < self.ops.len() {
            *self = Waiting::default();
        }
    }
}

/// Empties a buffer, and gives back a large one.
fn empty(buffer: &mut Vec<u8>) {
    match buffer.capacity() {
        ..=MOST_KEPT => buffer.clear(),
        _ => *buffer = Vec::new(),
    }
}

/// An operation that owns its key and its bytes.
#[derive(Debug)]
pub(super) struct OwnedOp {
    pub(super) serial: u64,
    code: Code,
    key: Vec<u8>,
    bytes: Vec<u8>,
    offset: u32,
    length: u32,
    /// The record below Head where the search in memory ended, and the one that is read next.
    from: Address,
    at: Address,
    pub(super) length_to_read: usize,
    search: Search,
    value: Vec<u8>,
    found_at: Address,
    /// The record that is to be copied if it is the newest of its key; or none, and this is an
    /// operation.
    copied: Address,
}

/// The state of the search in the storage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Search {
    Open,
    Absent,
    /// The newest value there is in the operation's buffer.
    Value,
    Failed,
}

#[derive(Clone, Copy, Debug)]
enum Code {
    Read,
    Upsert,
    Add,
    Delete,
    ReadAt,
    WriteAt,
    Scan,
}

impl Default for OwnedOp {
    fn default() -> OwnedOp {
        OwnedOp {
            serial: 0,
            code: Code::Read,
            key: Vec::new(),
            bytes: Vec::new(),
            offset: 0,
            length: 0,
            from: Address::NONE,
            at: Address::NONE,
            length_to_read: 0,
            search: Search::Open,
            value: Vec::new(),
            found_at: Address::NONE,
            copied: Address::NONE,
        }
    }
}

impl OwnedOp {
    /// Becomes a copy of an operation; the buffers are used again.
    fn become_copy(&mut self, serial: u64, op: &Op<'_>) {
        self.serial = serial;
        self.copied = Address::NONE;
        self.search = Search::Open;
        self.key.clear();
        self.key.extend_from_slice(op.key());
        self.bytes.clear();
        (self.code, self.offset, self.length) = match *op {
            Op::Read { .. } => (Code::Read, 0, 0),
            Op::Upsert { value, .. } => {
                self.bytes.extend_from_slice(value);
                (Code::Upsert, 0, 0)
            }
            Op::Add { delta, .. } => {
                self.bytes.extend_from_slice(&delta.to_le_bytes());
                (Code::Add, 0, 0)
            }
            Op::Delete { .. } => (Code::Delete, 0, 0),
            Op::ReadAt { offset, length, .. } => (Code::ReadAt, offset, length),
            Op::WriteAt { offset, bytes, .. } => {
                self.bytes.extend_from_slice(bytes);
                (Code::WriteAt, offset, 0)
            }
            Op::Scan { is_behind, count, .. } => (Code::Scan, is_behind.into(), count),
        };
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn at(&self) -> Address {
        self.at
    }

    pub(super) fn op(&self) -> Op<'_> {
        let (key, offset) = (&self.key[..], self.offset);
        match self.code {
            Code::Read => Op::Read { key },
            Code::Upsert => Op::Upsert { key, value: &self.bytes },
            Code::Add => {
                let delta = self.bytes[..].try_into().expect("a delta has eight bytes");
                Op::Add { key, delta: i64::from_le_bytes(delta) }
            }
            Code::Delete => Op::Delete { key },
            Code::ReadAt => Op::ReadAt { key, offset, length: self.length },
            Code::WriteAt => Op::WriteAt { key, offset, bytes: &self.bytes },
            Code::Scan => Op::Scan { key, is_behind: offset != 0, count: self.length },
        }
    }

    pub(super) fn is_scan(&self) -> bool {
        matches!(self.code, Code::Scan)
    }

    /// Returns the blocks that were read for a scan, and the address of the record that they begin with.
    pub(super) fn blocks(&self) -> Option<(Address, &[u8])> {
        (self.search == Search::Value).then_some((self.found_at, &self.value[..]))
    }

    /// Returns what the storage has, if it was searched.
    pub(super) fn known(&self) -> Option<Known<'_>> {
        let value = match self.search {
            Search::Value => Some(&self.value[..]),
            Search::Absent => None,
            Search::Open | Search::Failed => return None,
        };
        Some(Known { from: self.from, value, at: self.found_at })
    }

    /// Returns the record that is to be copied.
    pub(super) fn copied(&self) -> Option<Address> {
        (self.copied != Address::NONE).then_some(self.copied)
    }

    /// True if the storage could not be read.
    pub(super) fn has_failed(&self) -> bool {
        self.search == Search::Failed
    }
}
