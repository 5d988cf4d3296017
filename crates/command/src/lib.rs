//! The command line: it turns arguments into typed values, wires the crates together and prints.
//!
//! Nothing is measured or decided here.
#![forbid(unsafe_code)]

mod cli;
mod command;
mod habits;
mod needed;
mod program;
mod progress;
mod view;

pub use program::main;
