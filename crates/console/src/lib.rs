//! The parts of every command: its output and exit code, the signals that end it, and the view on a terminal.
#![forbid(unsafe_code)]

pub mod output;
pub mod signals;
pub mod view;
