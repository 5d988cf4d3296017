//! A session's work with the storage: reads for its pending operations, and writes of pages, which
//! are anybody's.

use net::{Completion, Operation};

use crate::address::Address;
use crate::checkpoint;
use crate::compaction;
use crate::log::BLOCK;
use crate::log::stored::{Corrupt, check, length_of_run, record_at};
use crate::segment::Segment;
use crate::shared::Shared;
use crate::storage::Storage;

use super::waiting::Waiting;

#[cfg(all(test, not(shuttle)))]
mod tests;

/// The most reads of a session in progress.
const MOST_READS: usize = 128;

/// The bytes of a session's reads in progress, and of what they have found and no operation has
/// taken, from which on no further read begins: values may be long.
const MOST_BYTES: usize = 1 << 20;

/// Marks the token of a write; the rest is the number of its first block.
const WRITE: u64 = 1 << 63;

/// The bits of the number of a waiting operation.
const NUMBER_BITS: u32 = 12;

/// The reads and writes of a session.
#[derive(Debug)]
pub(super) struct Cold {
    /// The tokens of this session are this with the number of an operation.
    tokens: u64,
    reading: usize,
    /// The bytes of these reads.
    reading_bytes: usize,
    /// Buffers of one block, while there are reads.
    spare: Vec<Vec<u8>>,
    /// Segments before this one are closed: they are removed, or will be.
    first_segment: u64,
}

/// The next step of a search in the storage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Next<'a> {
    Found(&'a [u8], Address),
    Absent,
    /// The record at this address is next.
    Record(Address),
    /// The record is large: all of these bytes must be read.
    Longer(usize),
}

impl Cold {
    pub(super) fn new(owner: u64) -> Cold {
        let (tokens, spare) = (owner << NUMBER_BITS, Vec::new());
        Cold { tokens, reading: 0, reading_bytes: 0, spare, first_segment: 0 }
    }

    /// The bytes of memory that it holds.
    pub(super) fn held(&self) -> usize {
        self.reading_bytes + self.spare.len() * BLOCK as usize
    }

    /// Takes what the storage has completed.
    pub(super) fn take(
        &mut self,
        shared: &Shared,
        storage: &mut dyn Storage,
        waiting: &mut Waiting,
    ) {
        let tokens = self.tokens;
        let is_own = move |token: u64| token >> NUMBER_BITS == tokens >> NUMBER_BITS;
        while self.reading > 0
            && let Some(completion) = storage.kept(&is_own)
        {
            self.read(shared, completion, waiting);
        }
        while let Some(completion) = storage.next_completion() {
            if completion.token & WRITE != 0 {
                self.written(shared, completion);
            } else if completion.token & checkpoint::TOKEN != 0 {
                shared.end_step(completion, storage);
            } else if completion.token & compaction::TOKEN != 0 {
                shared.compaction.keep(completion);
            } else if is_own(completion.token) {
                self.read(shared, completion, waiting);
            } else if shared.is_open(completion.token >> NUMBER_BITS) {
                storage.keep(completion);
            }
        }
    }

    /// Begins reads for waiting operations.
    pub(super) fn begin_reads(
        &mut self,
        shared: &Shared,
        storage: &mut dyn Storage,
        waiting: &mut Waiting,
    ) {
        let begin = shared.log.borders().begin;
        self.close_old(begin, shared, storage);
        while self.reading < MOST_READS
            && self.reading_bytes + waiting.found_bytes() < MOST_BYTES
            && storage.room() > 0
            && let Some((number, at)) = waiting.next_cold()
        {
            if at < begin {
                // What it was to find has a copy by now, which the next search finds.
                waiting.found(number, None, Address::NONE);
                continue;
            }
            let length = waiting.get(number).length_to_read.max(BLOCK as usize);
            let (segment, offset) = shared.place(at.get() & !(BLOCK - 1));
            let Ok(file) = storage.file(segment.as_str()) else {
                waiting.fail(number);
                continue;
            };
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.resize(length, 0);
            self.reading_bytes += length;
            storage.begin(
                file,
                Operation::Read { at: offset, buffer },
                self.tokens | number as u64,
            );
            self.reading += 1;
        }
    }

    /// Closes the segments before Begin, so that their space is free once they are removed.
    fn close_old(&mut self, begin: Address, shared: &Shared, storage: &mut dyn Storage) {
        let first = begin.get() / shared.segment;
        if self.first_segment < first {
            self.first_segment = first;
            storage.close_before(Segment::new(first).as_str());
        }
    }

    /// Begins to write pages that nobody changes any more.
    pub(super) fn begin_writes(&mut self, shared: &Shared, storage: &mut dyn Storage) {
        while storage.room() > 0
            && let Some(area) = shared.next_area(storage.now())
        {
            let (segment, offset) = shared.place(area.start);
            match storage.file(segment.as_str()) {
                Ok(file) => {
                    let mut bytes = shared.flush.spare();
                    shared.log.seal(area.start, area.end, shared.id, &mut bytes);
                    let token = WRITE | (area.start / BLOCK);
                    storage.begin(file, Operation::Write { at: offset, bytes }, token);
                }
                Err(error) => {
                    shared.flush.put_back(area, &error);
                    return;
                }
            }
        }
    }

    fn written(&mut self, shared: &Shared, completion: Completion) {
        let start = (completion.token & !WRITE) * BLOCK;
        let area = start..start + completion.buffer.len() as u64;
        shared.flush.end(area, &completion.result);
        shared.flush.keep_spare(completion.buffer);
    }

    fn read(&mut self, shared: &Shared, completion: Completion, waiting: &mut Waiting) {
        let number = (completion.token - self.tokens) as usize;
        let Completion { result, buffer, .. } = completion;
        self.reading -= 1;
        self.reading_bytes -= buffer.len();
        let op = waiting.get(number);
        let is_whole = result.is_ok_and(|length| length == buffer.len());
        if op.at() < shared.log.borders().begin {
            // The file may be gone.
            waiting.found(number, None, Address::NONE);
            return self.keep_spare(buffer);
        }
        if op.is_scan() {
            let at = op.at();
            let run = if is_whole { run(&buffer, at, shared) } else { Err(Corrupt) };
            match run {
                Ok(Run::Whole(blocks)) => waiting.found_blocks(number, blocks),
                Ok(Run::Longer(length)) => waiting.read_on(number, at, length),
                Err(Corrupt) => waiting.fail(number),
            }
            return self.keep_spare(buffer);
        }
        let next = if is_whole { search(&buffer, op.key(), op.at(), shared) } else { Err(Corrupt) };
        match next {
            Ok(Next::Found(value, at)) => waiting.found(number, Some(value), at),
            Ok(Next::Absent) => waiting.found(number, None, Address::NONE),
            Ok(Next::Record(at)) => waiting.read_on(number, at, 0),
            Ok(Next::Longer(length)) => {
                let at = op.at();
                waiting.read_on(number, at, length);
            }
            Err(Corrupt) => waiting.fail(number),
        }
        self.keep_spare(buffer);
    }

    fn keep_spare(&mut self, buffer: Vec<u8>) {
        if self.reading == 0 {
            self.spare = Vec::new();
        } else if buffer.capacity() == BLOCK as usize {
            self.spare.push(buffer);
        }
    }
}

/// The blocks that belong together.
enum Run<'a> {
    Whole(&'a [u8]),
    /// All of these bytes must be read.
    Longer(usize),
}

/// Returns the blocks that belong together from the one with an address on, checked.
fn run<'a>(blocks: &'a [u8], at: Address, shared: &Shared) -> Result<Run<'a>, Corrupt> {
    // The header is not checked yet: a length that cannot be is refused, and another is checked
    // together with all that it claims.
    let length = length_of_run(blocks).ok_or(Corrupt)? as usize * BLOCK as usize;
    if length > blocks.len() && length <= shared.page as usize {
        return Ok(Run::Longer(length));
    }
    let blocks = blocks.get(..length).ok_or(Corrupt)?;
    check(blocks, at.get() & !(BLOCK - 1), shared.id)?;
    Ok(Run::Whole(blocks))
}

/// Searches the blocks that were read for a key, from the record at an address on.
fn search<'a>(
    blocks: &'a [u8],
    key: &[u8],
    from: Address,
    shared: &Shared,
) -> Result<Next<'a>, Corrupt> {
    let block = from.get() & !(BLOCK - 1);
    let blocks = match run(blocks, from, shared)? {
        Run::Whole(blocks) => blocks,
        Run::Longer(length) => return Ok(Next::Longer(length)),
    };
    let begin = shared.log.borders().begin;
    let mut at = from;
    loop {
        let record = record_at(blocks, at)?;
        if record.key == key && !record.info.is_invalid() {
            return Ok(match record.info.is_tombstone() {
                true => Next::Absent,
                false => Next::Found(record.value, at),
            });
        }
        let previous = record.info.previous();
        if previous >= at {
            return Err(Corrupt);
        }
        if previous < begin {
            return Ok(Next::Absent);
        }
        if previous.get() < block {
            return Ok(Next::Record(previous));
        }
        at = previous;
    }
}
