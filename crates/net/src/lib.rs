//! The source of bytes and time, from connections and files: every system call of the data plane is
//! made here.
//!
//! No protocol is known here. `Simulation` is the same interface on virtual time.
#![expect(unsafe_code, reason = "system calls")]

pub mod clock;
pub mod congestion;
#[cfg(test)]
mod contract;
pub mod cores;
pub mod epoll;
pub mod files;
pub mod host;
pub mod io;
pub mod memory;
pub mod process;
mod rivals;
pub mod simulation;
mod socket;
pub mod sockets;
mod timer;
pub mod uring;
mod wake_up;

pub use epoll::{Epoll, Waker};
pub use files::{Completion, FileId, Files, FolderId, Open, Operation};
pub use io::{Address, Closed, ConnectionId, Endpoint, Event, Io, Listener};
pub use simulation::Simulation;
pub use sockets::{Interface, Sockets};
pub use timer::{Timer, Waited};
pub use uring::Uring;
