//! The contents of a simulated file: what reads see, and what a crash would leave.

use measure::Random;

/// The unit that a disk writes as a whole, in bytes.
const SECTOR: u64 = 512;

/// A file: its contents, and how they differ from what is durable.
#[derive(Debug, Default)]
pub(super) struct Inode {
    contents: Vec<u8>,
    durable: Vec<u8>,
    /// Changes that no sync has made durable, in the order of their numbers.
    unsynced: Vec<Change>,
    /// The number of changes so far.
    changes: u64,
}

#[derive(Debug)]
struct Change {
    number: u64,
    kind: Kind,
    /// A sync of it has failed: no later one makes it durable.
    lost: bool,
}

#[derive(Debug)]
enum Kind {
    Write { at: u64, bytes: Vec<u8> },
    Truncate { length: u64 },
}

/// The choice of what survives a crash: nothing, everything, or some or most of it.
#[derive(Debug)]
pub(super) struct Survivors {
    random: Random,
    kept_of_ten: u64,
}

impl Survivors {
    pub(super) fn new(seed: u64) -> Survivors {
        let mut random = Random::part(seed, 1);
        let kept_of_ten = [0, 1, 5, 9, 10][random.below(5) as usize];
        Survivors { random, kept_of_ten }
    }

    pub(super) fn keep(&mut self) -> bool {
        self.random.below(10) < self.kept_of_ten
    }
}

impl Inode {
    pub(super) fn length(&self) -> u64 {
        self.contents.len() as u64
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the number of bytes that were read.
    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> usize {
        let from = self.contents.get(at as usize..).unwrap_or_default();
        let count = from.len().min(into.len());
        into[..count].copy_from_slice(&from[..count]);
        count
    }

    /// Returns how many of the bytes fit if files may grow by `space`.
    pub(super) fn most_written(&self, at: u64, count: usize, space: u64) -> usize {
        let end = self.length().saturating_add(space);
        (count as u64).min(end.saturating_sub(at)) as usize
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) {
        put(&mut self.contents, at, bytes);
        self.note(Kind::Write { at, bytes: bytes.to_vec() });
    }

    pub(super) fn truncate(&mut self, length: u64) {
        self.contents.resize(length as usize, 0);
        self.note(Kind::Truncate { length });
    }

    fn note(&mut self, kind: Kind) {
        self.unsynced.push(Change { number: self.changes, kind, lost: false });
        self.changes += 1;
    }

    /// Makes the changes with lower numbers durable.
    pub(super) fn sync(&mut self, below: u64) {
        let mut left: Vec<Change> = Vec::new();
        for change in self.unsynced.drain(..) {
            if below <= change.number || change.lost {
                left.push(change);
                continue;
            }
            change.kind.apply(&mut self.durable);
            // What was lost before does not come back over it.
            left.retain(|lost| !change.kind.overlaps(&lost.kind));
        }
        self.unsynced = left;
    }

    /// Gives up the changes with lower numbers, as the kernel does after a failure.
    pub(super) fn fail_sync(&mut self, below: u64) {
        for change in self.unsynced.iter_mut().filter(|change| change.number < below) {
            change.lost = true;
        }
    }

    /// Returns what a crash leaves, if these bytes are being written now.
    pub(super) fn after_crash<'a>(
        &self,
        unwritten: impl Iterator<Item = (u64, &'a [u8])>,
        survivors: &mut Survivors,
    ) -> Inode {
        let mut left = self.durable.clone();
        for change in &self.unsynced {
            match &change.kind {
                Kind::Write { at, bytes } => put_some(&mut left, *at, bytes, survivors),
                truncation if survivors.keep() => truncation.apply(&mut left),
                Kind::Truncate { .. } => {}
            }
        }
        for (at, bytes) in unwritten {
            put_some(&mut left, at, bytes, survivors);
        }
        Inode { contents: left.clone(), durable: left, ..Inode::default() }
    }
}

impl Kind {
    fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Kind::Write { at, bytes } => put(contents, *at, bytes),
            Kind::Truncate { length } => contents.resize(*length as usize, 0),
        }
    }

    fn overlaps(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Write { at, bytes }, Kind::Write { at: other, bytes: others }) => {
                *at < other + others.len() as u64 && *other < at + bytes.len() as u64
            }
            _ => true,
        }
    }
}

/// Writes bytes; what lies between the end of the file and them reads as zeros.
fn put(contents: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let (start, end) = (at as usize, at as usize + bytes.len());
    contents.resize(contents.len().max(end), 0);
    contents[start..end].copy_from_slice(bytes);
}

/// Writes those sectors of a write that survive. Its length may survive without its bytes.
fn put_some(contents: &mut Vec<u8>, at: u64, bytes: &[u8], survivors: &mut Survivors) {
    let end = at + bytes.len() as u64;
    if survivors.keep() {
        contents.resize(contents.len().max(end as usize), 0);
    }
    let mut start = at;
    while start < end {
        let next = ((start / SECTOR + 1) * SECTOR).min(end);
        if survivors.keep() {
            put(contents, start, &bytes[(start - at) as usize..(next - at) as usize]);
        }
        start = next;
    }
}
