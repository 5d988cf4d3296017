//! The layout of a record, and the ways to read and to change it while others do.
//!
//! | word | content |
//! |---|---|
//! | 0 | the address of the previous record of the chain (48 bits), the version (10), flags (6) |
//! | 1 | the length of the key (16), of the value (24), the words that the value may grow to (24) |
//! | 2 | only if `wide`: a sequence, odd while somebody writes the value |
//! | … | the key, then the value, each padded with zeros to whole words |
//!
//! A value of eight bytes is one word, which is read and written at once. All others are *wide*.

use super::words;
use crate::address::{ADDRESS_BITS, Address};
use crate::sync::{AtomicU64, Ordering, fence};

/// Records begin at multiples of this, so that one of 8 + 8 bytes is within a cache line.
pub(crate) const UNIT: u64 = 32;

pub(super) const WORD: u64 = 8;

/// The attempts to read or to write a value while somebody else writes it.
const ATTEMPTS: usize = 64;

/// The first word of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Info(u64);

const VERSION_BITS: u32 = 10;
const VERSIONS: u64 = 1 << VERSION_BITS;
const INVALID: u64 = 1 << (ADDRESS_BITS + VERSION_BITS);
const TOMBSTONE: u64 = INVALID << 1;
const WIDE: u64 = INVALID << 3;

impl Info {
    pub(crate) fn new(previous: Address, version: u64) -> Info {
        Info(previous.get() | (version % VERSIONS) << ADDRESS_BITS)
    }

    #[inline]
    pub(super) fn of_word(word: u64) -> Info {
        Info(word)
    }

    fn of_tombstone(self) -> Info {
        Info(self.0 | TOMBSTONE)
    }

    #[inline]
    pub(crate) fn previous(self) -> Address {
        Address::of_word(self.0)
    }

    /// True if the record was never part of a chain.
    pub(crate) fn is_invalid(self) -> bool {
        self.0 & INVALID != 0
    }

    #[inline]
    pub(crate) fn is_tombstone(self) -> bool {
        self.0 & TOMBSTONE != 0
    }

    #[inline]
    fn is_wide(self) -> bool {
        self.0 & WIDE != 0
    }

    /// The number of words before the key.
    #[inline]
    pub(super) fn header_words(self) -> usize {
        if self.is_wide() { 3 } else { 2 }
    }

    /// True if the record has a value of one word, which its flags do not hide.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (INVALID | TOMBSTONE | WIDE) == 0
    }
}

/// The second word of a record: the sizes of its parts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Shape(u64);

impl Shape {
    /// The shape of a record with a key and a value of eight bytes.
    pub(super) const FIXED: Shape = Shape(8 | 8 << 16 | 1 << 40);

    #[inline]
    pub(super) fn word(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) fn of_word(word: u64) -> Shape {
        Shape(word)
    }

    fn new(key: usize, value: usize, capacity: u64) -> Shape {
        Shape(key as u64 | (value as u64) << 16 | capacity << 40)
    }

    pub(super) fn key_length(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    pub(super) fn value_length(self) -> usize {
        (self.0 >> 16 & 0xff_ffff) as usize
    }

    pub(super) fn capacity(self) -> usize {
        (self.0 >> 40) as usize
    }

    fn with_value_length(self, length: usize) -> Shape {
        Shape::new(self.key_length(), length, self.capacity() as u64)
    }
}

/// A record that is to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) key: &'a [u8],
    /// `None` is a tombstone.
    pub(crate) value: Option<&'a [u8]>,
}

impl Draft<'_> {
    fn is_wide(&self) -> bool {
        self.value.is_some_and(|value| value.len() != WORD as usize)
    }

    /// Returns the bytes that the record takes.
    pub(crate) fn size(&self) -> u64 {
        let header = if self.is_wide() { 3 } else { 2 };
        let words = header + words::needed(self.key.len()) + words::needed(self.value_length());
        (words as u64 * WORD).next_multiple_of(UNIT)
    }

    fn value_length(&self) -> usize {
        self.value.map_or(0, <[u8]>::len)
    }

    fn shape(&self) -> Shape {
        let needed = words::needed(self.value_length()) as u64;
        // A value that may change its length gets what the rounding leaves.
        let before = 3 + words::needed(self.key.len()) as u64;
        let capacity = if self.is_wide() { self.size() / WORD - before } else { needed };
        Shape::new(self.key.len(), self.value_length(), capacity)
    }
}

/// A record in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// Its words, and those behind it.
    words: &'a [AtomicU64],
}

/// The reason why a value was not read or changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refused {
    /// It has another length than the operation needs, or not enough room.
    Length,
    /// Others kept writing.
    Contended,
}

impl<'a> Record<'a> {
    #[inline]
    pub(super) fn new(words: &'a [AtomicU64]) -> Record<'a> {
        Record { words }
    }

    /// Writes a record that nobody can find yet.
    pub(crate) fn write(self, draft: &Draft<'_>, info: Info) {
        let mut info = info;
        let mut rest = &self.words[2..];
        if draft.is_wide() {
            info.0 |= WIDE;
            rest[0].store(0, Ordering::Relaxed);
            rest = &rest[1..];
        }
        if draft.value.is_none() {
            info = info.of_tombstone();
        }
        self.words[1].store(draft.shape().0, Ordering::Relaxed);
        let (key, value) = rest.split_at(words::needed(draft.key.len()));
        words::store(key, draft.key);
        words::store(value, draft.value.unwrap_or_default());
        self.words[0].store(info.0, Ordering::Release);
    }

    #[inline]
    pub(crate) fn info(self) -> Info {
        Info(self.words[0].load(Ordering::Relaxed))
    }

    fn shape(self) -> Shape {
        Shape(self.words[1].load(Ordering::Relaxed))
    }

    /// Hides a record that did not become part of a chain.
    pub(crate) fn invalidate(self) {
        self.words[0].fetch_or(INVALID, Ordering::Release);
    }

    /// Makes the record a tombstone in its place. It never becomes a value again. False if it already was one.
    pub(crate) fn bury(self) -> bool {
        self.words[0].fetch_or(TOMBSTONE, Ordering::AcqRel) & TOMBSTONE == 0
    }

    #[inline]
    pub(crate) fn has_key(self, key: &[u8]) -> bool {
        self.shape().key_length() == key.len() && words::equal(self.key_and_value(), key)
    }

    /// Appends the key to `out`.
    pub(crate) fn read_key(self, out: &mut Vec<u8>) {
        words::load(self.key_and_value(), 0, self.shape().key_length(), out);
    }

    /// Appends the value to `out`.
    pub(crate) fn read(self, out: &mut Vec<u8>) -> Result<(), Refused> {
        self.consistent(out, |record, out| {
            words::load(record.value(), 0, record.shape().value_length(), out);
            Ok(())
        })
    }

    /// Appends a part of the value to `out`.
    pub(crate) fn read_at(
        self,
        at: usize,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        self.consistent(out, |record, out| {
            if at + length > record.shape().value_length() {
                return Err(Refused::Length);
            }
            words::load(record.value(), at, length, out);
            Ok(())
        })
    }

    /// Replaces the value, if the new one has room.
    pub(crate) fn replace(self, value: &[u8]) -> Result<(), Refused> {
        if !self.info().is_wide() {
            let value = value.try_into().map_err(|_| Refused::Length)?;
            self.word().store(u64::from_le_bytes(value), Ordering::Release);
            return Ok(());
        }
        if words::needed(value.len()) > self.shape().capacity() {
            return Err(Refused::Length);
        }
        self.exclusive(|record| {
            let shape = record.shape().with_value_length(value.len());
            record.words[1].store(shape.0, Ordering::Relaxed);
            words::store(record.value(), value);
            Ok(())
        })
    }

    /// Replaces a part of the value.
    pub(crate) fn write_at(self, at: usize, bytes: &[u8]) -> Result<(), Refused> {
        if self.info().is_wide() {
            return self.exclusive(|record| {
                if at + bytes.len() > record.shape().value_length() {
                    return Err(Refused::Length);
                }
                words::store_at(record.value(), at, bytes);
                Ok(())
            });
        }
        if at + bytes.len() > WORD as usize {
            return Err(Refused::Length);
        }
        let patched = |word: u64| {
            let mut value = word.to_le_bytes();
            value[at..at + bytes.len()].copy_from_slice(bytes);
            Some(u64::from_le_bytes(value))
        };
        let patched = self.word().fetch_update(Ordering::AcqRel, Ordering::Relaxed, patched);
        patched.map_or(Err(Refused::Contended), |_| Ok(()))
    }

    /// Adds to a value of eight bytes, and returns the sum.
    pub(crate) fn add(self, delta: i64) -> Result<i64, Refused> {
        let delta = delta.cast_unsigned();
        if !self.info().is_wide() {
            let old = self.word().fetch_add(delta, Ordering::AcqRel);
            return Ok(old.wrapping_add(delta).cast_signed());
        }
        let mut sum = 0;
        self.exclusive(|record| {
            if record.shape().value_length() != WORD as usize {
                return Err(Refused::Length);
            }
            let word = &record.value()[0];
            sum = word.load(Ordering::Relaxed).wrapping_add(delta);
            word.store(sum, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(sum.cast_signed())
    }

    fn key_and_value(self) -> &'a [AtomicU64] {
        &self.words[self.info().header_words()..]
    }

    fn value(self) -> &'a [AtomicU64] {
        let shape = self.shape();
        &self.key_and_value()[words::needed(shape.key_length())..][..shape.capacity()]
    }

    /// Returns the only word of a value that is not wide.
    fn word(self) -> &'a AtomicU64 {
        &self.value()[0]
    }

    fn sequence(self) -> &'a AtomicU64 {
        &self.words[2]
    }

    /// Reads when nobody writes: between two equal even sequences, or again.
    fn consistent(
        self,
        out: &mut Vec<u8>,
        read: impl Fn(Record<'a>, &mut Vec<u8>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        if !self.info().is_wide() {
            return read(self, out);
        }
        let begin = out.len();
        for _ in 0..ATTEMPTS {
            let before = self.sequence().load(Ordering::Acquire);
            if before.is_multiple_of(2) {
                let result = read(self, out);
                fence(Ordering::Acquire);
                if self.sequence().load(Ordering::Relaxed) == before {
                    return result;
                }
                out.truncate(begin);
            }
            std::hint::spin_loop();
        }
        Err(Refused::Contended)
    }

    /// Writes a wide value while no other does.
    fn exclusive(
        self,
        write: impl FnOnce(Record<'a>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        for _ in 0..ATTEMPTS {
            let sequence = self.sequence();
            let before = sequence.load(Ordering::Relaxed) & !1;
            let taken =
                sequence.compare_exchange(before, before + 1, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                // The odd sequence is seen before any word of the value.
                fence(Ordering::Release);
                let result = write(self);
                sequence.store(before + 2, Ordering::Release);
                return result;
            }
            std::hint::spin_loop();
        }
        Err(Refused::Contended)
    }
}
