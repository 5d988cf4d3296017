//! Processes on this machine: each component has its own control group and process group, and so
//! does the generator. A service that runs elsewhere (`external`) is this backend without
//! components.
//!
//! Nothing is ever left running: every exit path ends in `stop`, the kernel kills the processes of
//! a killed runner, and the next run removes the rest.

pub mod doctor;
pub mod helper;

mod backend;
mod calm;
mod confine;
mod cpus;
mod digests;
mod drive;
mod events;
mod execute;
mod foreign_generator;
mod lock;
mod machine;
mod notes;
mod output;
mod ports;
mod process;
mod processes;
mod reads;
mod ready;
mod remains;
mod replica;
mod run_folder;
mod sockets;
mod speed;
mod versions;
mod watch;

#[cfg(test)]
mod tests;

pub use backend::check;
pub use processes::Local;
