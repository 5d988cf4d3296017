//! The atomics of the store. With `--cfg loom` they are those of the model checker.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};
