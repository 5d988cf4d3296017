//! How the originals count: each on its own scale and with its own idea of a percentile.
//!
//! Latencies are whole microseconds, cut; rates are whole requests a second, cut.

use crate::extended::Extended;

pub mod hdr;
pub mod sampler;
pub mod table;
pub mod thread;

pub use hdr::Hdr;
pub use table::Table;

/// A line of the table that all of them print, in µs or requests/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub mean: Extended,
    pub deviation: Extended,
    /// The third column: the maximum, and with DeathStarBench's the 99th percentile.
    pub high: Extended,
    /// The share of values within one deviation of the mean, in %.
    pub within: Extended,
}
