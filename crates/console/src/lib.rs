//! The parts of every command: the check of its files, its output and exit code, the signals that end it, and the view on a terminal.
#![forbid(unsafe_code)]

pub mod files;
pub mod output;
pub mod signals;
pub mod view;
