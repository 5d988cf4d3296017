//! A key-value store for one process: a latch-free hash index over a log of records, of which the
//! newest part is updated in place.
//!
//! A [`Store`] is shared by threads; each opens a [`Session`] for every stream of operations that it
//! executes: its own, or that of a connection. An operation is a read, an upsert, an addition, a
//! deletion, a read or write of a part of a value, or a scan of many keys. [`Session::batch`] is the fast way:
//!
//! ```
//! use kv::{Op, Options, Replies, Status, Store, storage::Nowhere};
//!
//! let options = Options { buckets: 4096, memory: 16 << 20, ..Options::default() };
//! let store = Store::open(options, &mut Nowhere)?;
//! let mut session = store.session(1).expect("no session has this id");
//! let mut replies = Replies::new(1 << 20);
//! let ops = [Op::Add { key: b"visits", delta: 2 }, Op::Read { key: b"visits" }];
//! assert_eq!(session.batch(&ops, &mut replies), 2);
//! assert_eq!(replies.statuses(), [Status::Ok, Status::Ok]);
//! assert_eq!(replies.value(1), 2_i64.to_le_bytes());
//! # Ok::<(), kv::OpenError>(())
//! ```
//!
//! **Nothing happens by itself.** There is no clock, thread, callback or future. An operation that
//! needs the storage, or that others are in the way of, is *pending*: it is executed, and answered
//! once, by a later [`Session::poll`]. Sessions that poll also write the log and make room, so a
//! thread with a storage polls whenever that has completions or operations are pending.
//!
//! **Each operation on a key is linearizable.** Operations of a session on one key happen in their
//! order, except pending ones: who needs their order waits for them.
//!
//! **Everything has a bound** that is given when the store is opened: the memory of the index and of
//! the log, the log as a whole, the sessions, and their pending operations. At a bound an operation
//! answers [`Status::Full`] or [`Status::Busy`], and changes nothing.
//!
//! **Durability is by checkpoints**, if the options say so. A checkpoint has a consistent cut through
//! all sessions: of each session all operations up to a serial, but those that were pending. A store
//! that is opened has exactly what its newest checkpoint has, and its sessions go on from there:
//! [`Session::durable`] tells which operations survive, so that those behind them can be executed
//! again, each of them once.
#![expect(unexpected_cfgs, reason = "`--cfg shuttle` is for the model checker")]

mod address;
mod apply;
mod checkpoint;
mod compaction;
mod durability;
mod epoch;
#[cfg(all(test, not(shuttle)))]
mod fixture;
mod flush;
mod hash;
mod index;
mod log;
mod memory;
#[cfg(all(test, shuttle))]
mod model;
mod op;
mod options;
mod prefetch;
mod recovery;
mod replies;
mod segment;
mod session;
mod shared;
mod status;
pub mod storage;
mod store;
mod sync;

pub use checkpoint::manifest::Durable;
pub use checkpoint::{Failed, NoCheckpoint};
pub use op::{FixedCode, FixedOp, MOST_OF_A_KEY, MOST_OF_A_VALUE, MOST_SCANNED, Op, Scanned};
pub use options::{Durability, OpenError, Options};
pub use recovery::Recovered;
pub use replies::{Completions, Replies};
pub use session::Session;
pub use status::{Outcome, Status};
pub use storage::Storage;
pub use store::{LogRegions, Store};
