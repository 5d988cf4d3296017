//! The server of the key-value store: shards that own connections, and execute whole batches.
//!
//! A shard is a thread with its own event loop. A batch is executed by the shard that has read it, and
//! no queue lies between shards. The store is shared by all of them.
#![forbid(unsafe_code)]

pub mod bounds;
mod connection;
pub mod counts;
mod desk;
pub mod operator;
pub mod server;
mod session;
mod sessions;
mod shard;
