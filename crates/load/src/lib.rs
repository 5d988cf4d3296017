//! The load engine: generates requests on schedule, sends them and measures the responses.
//!
//! Start with [`shard`], which carries each request from its intended time to its outcome. The
//! engine knows nothing of trials or experiments, and all its I/O goes through `net`.
#![forbid(unsafe_code)]

pub mod cell;
mod curtail;
pub mod driver;
pub mod events;
mod hiccup;
mod idle;
pub mod measurement;
pub mod network;
pub mod observe;
mod outstanding;
pub mod pacing;
mod places;
pub mod receiver;
pub mod reference;
pub mod shard;
pub mod source;
pub mod validity;
mod watch;

pub use driver::{
    Done, Driver, Fault, Handshake, Label, Next, Node, Outcome, Session, Slot, Token,
};
pub use measurement::{Measurement, measure};
pub use network::Network;
pub use pacing::Pacing;
pub use shard::Shard;
