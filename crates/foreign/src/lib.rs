//! The files of other load generators: bytes in; out come the figures that they have, with what these
//! support. Each format is a module, and [`FORMATS`] lists all of them.
//!
//! Nothing here opens a file or believes one: no bytes make a reader fail otherwise than with an error, and
//! memory grows only up to a bound. Formats with a line for each request are read line by line. A figure that
//! a file does not have is absent, never zero.
#![forbid(unsafe_code)]

pub mod printed;

pub mod fortio;
pub mod hey;
pub mod wrk;

mod format;
mod formats;
mod gatling;
mod ghz;
mod hdr;
mod head;
mod jmeter;
mod json;
mod judge;
mod k6;
mod latencies;
mod locust;
mod merge;
mod oha;
mod ours;
mod samples;
mod table;
mod vegeta;

#[cfg(test)]
mod tests;

pub use format::{Asked, Format, Question, Unit};
pub use formats::{FORMATS, format, list, read};
pub use merge::merged;
pub use samples::both_ends;

pub(crate) use format::{Found, document, text, time};
