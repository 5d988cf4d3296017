//! The input and output formats of wrk, wrk2 and DeathStarBench's fork: command lines, statistics,
//! and texts byte for byte, so that programs that start them or parse their output keep working.
//!
//! Pure: this crate sends no request, prints nothing and reads no clock. Where an original is known
//! to mislead we deviate, and a comment at that place states it.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod extended;
pub mod layout;
pub mod statistics;
pub mod units;

#[cfg(test)]
mod samples;
