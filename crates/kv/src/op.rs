//! Operations, and the bounds of their keys and values.

/// The most bytes of a key; it has at least one.
pub const MOST_OF_A_KEY: usize = 1024;

/// The most bytes of a value; it may be empty.
pub const MOST_OF_A_VALUE: usize = 1 << 20;

/// The most records of a scan.
pub const MOST_SCANNED: u32 = 10_000;

/// An operation on one key. Operations of one session on one key happen in their order, except that
/// those that become pending may happen at any time until they complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Op<'a> {
    Read {
        key: &'a [u8],
    },
    Upsert {
        key: &'a [u8],
        value: &'a [u8],
    },
    /// Adds to a value of eight bytes (a little-endian integer, wrapping) and returns the sum. An
    /// absent key gets the delta as its value.
    Add {
        key: &'a [u8],
        delta: i64,
    },
    Delete {
        key: &'a [u8],
    },
    /// Returns a part of the value, which must have all of it.
    ReadAt {
        key: &'a [u8],
        offset: u32,
        length: u32,
    },
    /// Replaces a part of the value, which must have all of it.
    WriteAt {
        key: &'a [u8],
        offset: u32,
        bytes: &'a [u8],
    },
    /// Returns up to so many records in the order of the hashes of their keys, from that of this key on,
    /// in the form of [`Scanned`]. Each record is read by itself; one that is there all the time is
    /// found. Less than `count`, if what remains has no more, or its next record would make the value
    /// longer than [`MOST_OF_A_VALUE`]: another scan goes on behind the last key.
    Scan {
        key: &'a [u8],
        /// The first record is the next one after this key, also if it is not there.
        is_behind: bool,
        count: u32,
    },
}

/// The records in the value of a scan: their keys and values.
///
/// Of each there are the lengths of its key (2 bytes) and its value (4 bytes, behind two of zero), the
/// key, the value, and zeros up to a multiple of 8.
#[derive(Clone, Copy, Debug)]
pub struct Scanned<'a>(pub &'a [u8]);

impl<'a> Iterator for Scanned<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        let head = u64::from_le_bytes(*head);
        let (key, value) = ((head & 0xffff) as usize, (head >> 32) as usize);
        let (record, padding) = rest.split_at_checked(key + value)?;
        self.0 = padding.get((key + value).next_multiple_of(8) - (key + value)..)?;
        Some(record.split_at(key))
    }
}

/// An operation on a key and a value of eight bytes each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FixedOp {
    pub code: FixedCode,
    /// The key: the little-endian bytes of this number.
    pub key: u64,
    /// The value of an upsert or the delta of an addition; unused by others.
    pub argument: u64,
}

/// The operations that have a fixed form, with their numbers on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum FixedCode {
    /// A value of another length answers `WrongType`.
    Read = 1,
    Upsert = 2,
    Add = 3,
    Delete = 4,
}

impl<'a> Op<'a> {
    pub fn key(&self) -> &'a [u8] {
        match *self {
            Op::Read { key }
            | Op::Upsert { key, .. }
            | Op::Add { key, .. }
            | Op::Delete { key }
            | Op::ReadAt { key, .. }
            | Op::WriteAt { key, .. }
            | Op::Scan { key, .. } => key,
        }
    }
}

impl FixedOp {
    /// Returns the bytes of the key and of the argument.
    pub(crate) fn bytes(&self) -> [[u8; 8]; 2] {
        [self.key.to_le_bytes(), self.argument.to_le_bytes()]
    }

    /// Returns the same operation in its general form, with these bytes.
    pub(crate) fn op<'a>(&self, [key, argument]: &'a [[u8; 8]; 2]) -> Op<'a> {
        match self.code {
            FixedCode::Read => Op::Read { key },
            FixedCode::Upsert => Op::Upsert { key, value: argument },
            FixedCode::Add => Op::Add { key, delta: i64::from_le_bytes(*argument) },
            FixedCode::Delete => Op::Delete { key },
        }
    }
}
