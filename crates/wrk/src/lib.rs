//! What wrk, wrk2 and DeathStarBench's fork of it read and print: their command lines, their
//! statistics, and their texts byte for byte, so that what starts them or reads them keeps working.
//!
//! Pure: nothing here sends a request, prints, or reads a clock. Where an original is known to
//! mislead we deviate, and the place says so.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod extended;
pub mod layout;
pub mod statistics;
pub mod units;

#[cfg(test)]
mod samples;
