//! A key-value store for one process: a latch-free hash index over a log of records, of which the
//! newest part is updated in place.
//!
//! A [`Store`] is shared by threads; each opens a [`Session`] for every stream of operations that it
//! executes. Nothing here reads a clock, starts a thread or calls back: operations that need the
//! storage become pending, and [`Session::poll`] completes them.
#![expect(unexpected_cfgs, reason = "`--cfg loom` is for the model checker")]

mod address;
mod apply;
mod epoch;
mod flush;
mod hash;
mod index;
mod log;
mod memory;
mod op;
mod options;
mod prefetch;
mod replies;
mod segment;
mod session;
mod shared;
mod status;
pub mod storage;
mod store;
mod sync;

pub use op::{FixedCode, FixedOp, MOST_OF_A_KEY, MOST_OF_A_VALUE, Op};
pub use options::{OpenError, Options};
pub use replies::{Completions, Replies};
pub use session::Session;
pub use status::{Outcome, Status};
pub use storage::Storage;
pub use store::Store;
