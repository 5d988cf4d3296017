//! The load engine: when, what, where, what for.
//!
//! Start with [`shard`], where one request lives from its intended time to its outcome. The engine
//! knows nothing of trials or experiments, and nothing here performs I/O but through `net`.
#![forbid(unsafe_code)]

pub mod driver;
mod hiccup;
mod idle;
pub mod measurement;
pub mod network;
pub mod observe;
mod outstanding;
pub mod pacing;
pub mod reference;
pub mod shard;
pub mod source;
pub mod validity;
mod watch;

pub use driver::{Done, Driver, Fault, Handshake, Label, Next, Outcome, Slot, Token};
pub use measurement::{Measurement, measure};
pub use network::Network;
pub use pacing::{Distribution, Pacing};
pub use shard::Shard;
pub use source::Think;
