//! The words of the index and of the log. Everything in them is atomic, so that what threads do at
//! the same time may be wrong, but never undefined.

#[cfg(not(shuttle))]
pub(crate) use net::memory::Memory;

#[cfg(shuttle)]
pub(crate) use for_shuttle::Memory;

#[cfg(shuttle)]
mod for_shuttle {
    use std::io;
    use std::ops::{Deref, Range};

    use shuttle::sync::atomic::AtomicU64;

    /// The same with the words of the model checker.
    #[derive(Debug)]
    pub(crate) struct Memory(Vec<AtomicU64>);

    impl Memory {
        pub(crate) fn zeroed(length: usize) -> io::Result<Memory> {
            Ok(Memory((0..length).map(|_| AtomicU64::new(0)).collect()))
        }

        pub(crate) fn release(&self, _: Range<usize>) {}
    }

    impl Deref for Memory {
        type Target = [AtomicU64];

        fn deref(&self) -> &[AtomicU64] {
            &self.0
        }
    }
}
