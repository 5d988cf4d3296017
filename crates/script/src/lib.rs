//! Workloads written in Lua, with wrk's interface, on LuaJIT.
//!
//! [`Program`] is a script file that was read and found to be Lua; a [`Script`] is one running
//! instance of it, with globals of its own, and says which request is next. Nothing here opens a
//! connection or knows when a request is due, and no answer ever reaches a script.

mod program;
mod script;
mod single;

pub use program::{Error, Program};
pub use script::{Defaults, Script, Target};
