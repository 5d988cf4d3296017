//! YCSB's keys and distributions, and the batches of guide 5's client.
#![forbid(unsafe_code)]

pub mod bench;
pub mod keys;
