//! Large memory, zeroed at first, in huge pages as far as the kernel has them: a random access to
//! gigabytes otherwise misses the translation of the address, too.

use std::io;
use std::ops::{Deref, Range};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

#[cfg(test)]
mod tests;

/// The bytes of a huge page, to which all memory is aligned.
const HUGE: usize = 2 << 20;

const WORD: usize = size_of::<AtomicU64>();

/// Words that threads share. The kernel gives each page when it is first written.
#[derive(Debug)]
pub struct Memory {
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    /// The first aligned word.
    first: NonNull<AtomicU64>,
    length: usize,
}

// SAFETY: the memory belongs to this value alone, and is only reached as atomic words.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Reserves this many words, all zero.
    pub fn zeroed(length: usize) -> io::Result<Memory> {
        let bytes = length.checked_mul(WORD).and_then(|bytes| bytes.checked_add(HUGE));
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let mapped = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapped = NonNull::new(mapped.cast::<u8>()).expect("a mapping is not at address zero");
        let offset = mapped.as_ptr().align_offset(HUGE) % HUGE;
        // SAFETY: the mapping is longer than the words by the bytes of a huge page, so that the
        // offset and the words behind it are within it.
        let first = unsafe { mapped.add(offset) }.cast();
        let memory = Memory { mapped, mapped_bytes: bytes, first, length };
        memory.advise(0..length, libc::MADV_HUGEPAGE);
        Ok(memory)
    }

    /// Returns the memory of these words to the kernel: they are zero from now on. The first and
    /// the last partial page of the range stay as they are, so give whole pages.
    pub fn release(&self, words: Range<usize>) {
        self.advise(words, libc::MADV_DONTNEED);
    }

    /// Huge pages are a wish, and so is that the kernel takes memory back: a refusal is no error.
    fn advise(&self, words: Range<usize>, advice: libc::c_int) {
        assert!(
            words.start <= words.end && words.end <= self.length,
            "the words are of this memory"
        );
        if cfg!(miri) {
            return;
        }
        // SAFETY: the range is within the mapping. Other threads may use its words at the same
        // time: for them they become zero, as by atomic stores.
        unsafe {
            let first = self.first.as_ptr().add(words.start);
            libc::madvise(first.cast(), (words.end - words.start) * WORD, advice);
        }
    }
}

impl Deref for Memory {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has this many aligned words, initialised as zero, until the drop.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `zeroed` with this length; references end with the value.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
    }
}
