//! Workloads written in Lua, with wrk's interface, on LuaJIT.
//!
//! [`Program`] is a script file that was read and found to be Lua; a [`ScriptSet`] is all instances of it
//! that a run needs, and each [`Script`] says which request of one script thread is next and learns
//! of its answers. Nothing here opens a connection of the load or knows when a request is due.

mod ahead;
mod batch;
mod collector;
mod machine;
mod network;
mod program;
mod script;
mod script_set;
mod statistics;
mod thread;

#[cfg(test)]
mod support;

pub use network::{Network, Nowhere, Stream, System};
pub use program::{Error, Program};
pub use script::Script;
pub use script_set::{Compatibility, Defaults, ScriptSet, Seed, Stage, Target};
pub use statistics::{Distribution, Errors, Results, Summary};
