//! YCSB: its workloads, keys and distributions; and the batches of guide 5's client.
//!
//! A [`Workload`](workload::Workload) is what the properties describe. A [`Stream`](stream::Stream) is one shard's part
//! of its operations, which a binding turns into requests of its protocol. Nothing here reads a clock or a file.
#![forbid(unsafe_code)]

pub mod acknowledged;
pub mod basic;
pub mod bench;
pub mod binding;
pub mod convert;
pub mod drive;
pub mod export;
pub mod keys;
pub mod kv;
#[cfg(test)]
mod laws;
pub mod lengths;
pub mod measurements;
pub mod properties;
pub mod redis;
pub mod settings;
pub mod status;
pub mod stream;
#[cfg(test)]
mod tests;
pub mod workload;
pub mod zipf;
