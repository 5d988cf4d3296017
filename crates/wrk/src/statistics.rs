//! The originals' statistics: each has its own scale and its own definition of a percentile.
//!
//! Latencies are whole microseconds and rates whole requests a second, both rounded down.

use crate::extended::Extended;

pub mod hdr;
pub mod sampler;
pub mod table;
pub mod thread;

pub use hdr::Hdr;
pub use table::Table;

/// A row of the table that all of them print, in µs or requests/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub mean: Extended,
    pub deviation: Extended,
    /// The third column: the maximum, or for DeathStarBench's fork the 99th percentile.
    pub high: Extended,
    /// The share of values within one deviation of the mean, in %.
    pub within: Extended,
}
