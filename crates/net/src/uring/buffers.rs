//! Memory for what is received: lent to the kernel, by it to us with bytes in it, and given back.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// What is received at once on one connection.
const BYTES: usize = 16 * 1024;
/// From one buffer to the next. The beginnings, which small answers are all in, lie in different
/// lines of the cache: with a round number they would crowd a few of them.
const STRIDE: usize = BYTES + 256;
/// A power of two, as the kernel wants.
const MOST: u16 = 512;
/// At first only so many, which stay in the cache; more when they did not do.
const FIRST: u16 = 64;
const RING_BYTES: usize = MOST as usize * size_of::<BufRingEntry>();
const ALL_BYTES: usize = RING_BYTES + MOST as usize * STRIDE;
/// The only group of a ring.
pub(super) const GROUP: u16 = 0;

/// A buffer, by its number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Buffer(pub(super) u16);

pub(super) struct Buffers {
    /// The queue of buffers for the kernel to take, and behind it the buffers themselves.
    memory: NonNull<u8>,
    /// Where the queue ends, beyond what was published.
    tail: u16,
    /// Buffers in use; the others were never touched.
    provided: u16,
}

impl Buffers {
    pub(super) fn new() -> io::Result<Buffers> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, at no address in particular.
        let memory = unsafe { libc::mmap(ptr::null_mut(), ALL_BYTES, access, kind, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).expect("a mapping is never at zero");
        Ok(Buffers { memory, tail: 0, provided: 0 })
    }

    /// Shows the ring where they are.
    ///
    /// # Safety
    ///
    /// No operation of the ring may outlive them.
    pub(super) unsafe fn register(&mut self, ring: &IoUring) -> io::Result<()> {
        let address = self.memory.as_ptr() as u64;
        // SAFETY: the mapping begins with room for the entries, on a page of its own, and by the
        // caller's promise it lasts.
        unsafe { ring.submitter().register_buf_ring_with_flags(address, MOST, GROUP, 0)? };
        self.provide_more();
        Ok(())
    }

    /// Doubles the buffers in use, up to the bound: the kernel has found none.
    pub(super) fn provide_more(&mut self) {
        let wanted = (self.provided * 2).clamp(FIRST, MOST);
        for number in self.provided..wanted {
            self.give_back(Buffer(number));
        }
        self.provided = wanted;
        self.publish();
    }

    /// The bytes that were received in a buffer.
    pub(super) fn bytes(&self, buffer: Buffer, count: usize) -> &[u8] {
        assert!(buffer.0 < self.provided && count <= BYTES, "the kernel uses what it was given");
        // SAFETY: within the mapping, and initialised from the beginning; the kernel writes to it
        // again only once it was given back, for which it must no longer be borrowed.
        unsafe { std::slice::from_raw_parts(self.address(buffer), count) }
    }

    /// Queues a buffer for the kernel to be used again.
    pub(super) fn give_back(&mut self, buffer: Buffer) {
        let address = self.address(buffer);
        let place = usize::from(self.tail % MOST);
        // SAFETY: an entry of the queue, which is no longer the kernel's: it holds at most as many
        // as there are buffers. What the kernel shares of the first one, the tail, is not touched.
        let entry = unsafe { &mut *self.memory.as_ptr().cast::<BufRingEntry>().add(place) };
        entry.set_addr(address as u64);
        entry.set_len(BYTES as u32);
        entry.set_bid(buffer.0);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Shows the kernel what was given back.
    pub(super) fn publish(&mut self) {
        let entries: *const BufRingEntry = self.memory.as_ptr().cast();
        // SAFETY: the first of the entries, which exist from the beginning; the tail is two aligned
        // bytes in it that both sides only access as a whole.
        let tail = unsafe { &*BufRingEntry::tail(entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }

    fn address(&self, buffer: Buffer) -> *mut u8 {
        // SAFETY: every number that is used is below MOST.
        unsafe { self.memory.as_ptr().add(RING_BYTES + usize::from(buffer.0) * STRIDE) }
    }

    #[cfg(test)]
    pub(super) fn provided(&self) -> usize {
        usize::from(self.provided)
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: our own mapping; nobody borrows from it, and by the promise made with `register`
        // no operation of the kernel uses it.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), ALL_BYTES) };
    }
}
