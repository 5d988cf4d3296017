//! Workloads written in Lua, with wrk's interface, on LuaJIT.
//!
//! [`Program`] is a script file that was read and checked to be Lua. A [`ScriptSet`] contains all
//! instances of it that a run needs, and each [`Script`] returns the next request of one script
//! thread and receives its answers. This crate opens no connection of the load, and does not know
//! when a request is due.

mod ahead;
mod batch;
mod bound;
mod collector;
mod end;
mod machine;
mod network;
mod outside;
mod program;
mod script;
mod script_set;
mod stage;
mod statistics;
mod thread;

#[cfg(test)]
mod support;

pub use bound::{Watch, is_endless};
pub use machine::ends_process;
pub use network::{Network, Nowhere, Stream, System};
pub use program::{Error, Program};
pub use script::Script;
pub use script_set::ScriptSet;
pub use stage::{Compatibility, Defaults, Seed, Stage, Target};
pub use statistics::{Distribution, Errors, Results, Summary};
