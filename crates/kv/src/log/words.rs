//! Bytes in atomic words, in little-endian order; the last word is padded with zeros.

use crate::sync::{AtomicU64, Ordering};

const WORD: usize = 8;

/// Returns the number of words for this many bytes.
#[inline]
pub(super) fn needed(bytes: usize) -> usize {
    bytes.div_ceil(WORD)
}

/// Stores bytes from the first word on.
pub(super) fn store(words: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks();
    let words = &words[..needed(bytes.len())];
    for (word, bytes) in words.iter().zip(whole) {
        word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
    }
    if !rest.is_empty() {
        words[whole.len()].store(padded(rest), Ordering::Relaxed);
    }
}

/// Stores bytes from the byte `at` on, and keeps all others. Nobody else may write meanwhile.
pub(super) fn store_at(words: &[AtomicU64], at: usize, bytes: &[u8]) {
    for (at, byte) in (at..).zip(bytes) {
        let (word, shift) = (&words[at / WORD], at % WORD * 8);
        let kept = word.load(Ordering::Relaxed) & !(0xff << shift);
        word.store(kept | u64::from(*byte) << shift, Ordering::Relaxed);
    }
}

/// Appends `length` bytes from the byte `at` on to `out`.
pub(super) fn load(words: &[AtomicU64], at: usize, length: usize, out: &mut Vec<u8>) {
    let end = at + length;
    let begin = at / WORD;
    let first = out.len();
    for word in &words[begin..needed(end)] {
        out.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
    }
    // What belongs to the first and the last word, but not to the part.
    out.truncate(first + end - begin * WORD);
    if !at.is_multiple_of(WORD) {
        out.drain(first..first + at % WORD);
    }
}

/// True if the words begin with these bytes and their padding.
#[inline]
pub(super) fn equal(words: &[AtomicU64], bytes: &[u8]) -> bool {
    let (whole, rest) = bytes.as_chunks();
    let words = &words[..needed(bytes.len())];
    let same = words
        .iter()
        .zip(whole)
        .all(|(word, bytes)| word.load(Ordering::Relaxed) == u64::from_le_bytes(*bytes));
    same && (rest.is_empty() || words[whole.len()].load(Ordering::Relaxed) == padded(rest))
}

fn padded(rest: &[u8]) -> u64 {
    let mut word = [0; WORD];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}
