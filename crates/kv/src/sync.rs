//! The atomics of the store. With `--cfg shuttle` they are those of the model checker.

#[cfg(not(shuttle))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};
