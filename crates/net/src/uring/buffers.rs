//! Receive buffers: lent to the kernel, which lends them to us with bytes in them, and given back.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// The size of a buffer: the most bytes received at once on one connection.
const BYTES: usize = 64 * 1024;
/// The number of buffers: a power of two, as the kernel requires. All of them fit in a core's
/// cache, which matters more than their number: with four times the memory in more and smaller
/// buffers, large bodies took twice as much CPU, and small answers the same. If they are all in
/// use, receiving pauses for a turn.
pub(super) const COUNT: u16 = 32;
const QUEUE_BYTES: usize = 4096;
const ALL_BYTES: usize = QUEUE_BYTES + COUNT as usize * BYTES;
/// The only buffer group of a ring.
pub(super) const GROUP: u16 = 0;

/// A buffer, by its number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Buffer(pub(super) u16);

pub(super) struct Buffers {
    /// The queue of buffers for the kernel to take, and behind it the buffers themselves.
    memory: NonNull<u8>,
    /// The end of the queue.
    tail: u16,
}

impl Buffers {
    pub(super) fn new() -> io::Result<Buffers> {
        const { assert!(COUNT as usize * size_of::<BufRingEntry>() <= QUEUE_BYTES) };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, at any address.
        let memory = unsafe { libc::mmap(ptr::null_mut(), ALL_BYTES, access, kind, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).expect("a mapping is never at zero");
        Ok(Buffers { memory, tail: 0 })
    }

    /// Lends all of them to the kernel.
    ///
    /// # Safety
    ///
    /// No operation of the ring may outlive them.
    pub(super) unsafe fn register(&mut self, ring: &IoUring) -> io::Result<()> {
        let address = self.memory.as_ptr() as u64;
        // SAFETY: the mapping begins with room for the entries, on a memory page of its own, and by
        // the caller's promise it lasts.
        unsafe { ring.submitter().register_buf_ring_with_flags(address, COUNT, GROUP, 0)? };
        (0..COUNT).for_each(|number| self.give_back(Buffer(number)));
        Ok(())
    }

    /// The bytes that were received in a buffer.
    pub(super) fn bytes(&self, buffer: Buffer, count: usize) -> &[u8] {
        assert!(
            buffer.0 < COUNT && count <= BYTES,
            "the kernel returns a buffer that it was given"
        );
        // SAFETY: within the mapping, and initialised at the start; the kernel writes to it again
        // only once it was given back, for which it must no longer be borrowed.
        unsafe { std::slice::from_raw_parts(self.address(buffer), count) }
    }

    /// Lends a buffer to the kernel again, which takes it when it is entered.
    pub(super) fn give_back(&mut self, buffer: Buffer) {
        let entries = self.memory.as_ptr().cast::<BufRingEntry>();
        let place = usize::from(self.tail % COUNT);
        let address = self.address(buffer) as u64;
        // SAFETY: an entry of the queue that the kernel does not use now: it has at most as many as
        // there are buffers. The tail, which is a shared part of the first entry, is not touched
        // here.
        let entry = unsafe { &mut *entries.add(place) };
        entry.set_addr(address);
        entry.set_len(BYTES as u32);
        entry.set_bid(buffer.0);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the first of the entries, which always exist; the tail is two aligned bytes in it
        // that both sides only access as a whole.
        let tail = unsafe { &*BufRingEntry::tail(entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }

    fn address(&self, buffer: Buffer) -> *mut u8 {
        // SAFETY: every number that is used is below COUNT.
        unsafe { self.memory.as_ptr().add(QUEUE_BYTES + usize::from(buffer.0) * BYTES) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: our own mapping; nothing borrows from it, and by the promise made with `register`
        // no operation of the kernel uses it.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), ALL_BYTES) };
    }
}
