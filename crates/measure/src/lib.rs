//! The vocabulary of measurement: time, rates, randomness, histograms, statistics.
//!
//! Pure: nothing here performs I/O or reads a clock. Every figure in the product comes from here.
#![forbid(unsafe_code)]

pub mod balance;
pub mod estimate;
pub mod histogram;
pub mod quantity;
pub mod random;
pub mod series;
pub mod time;

pub use balance::Balance;
pub use histogram::{Histogram, Quantile};
pub use quantity::{Bytes, Rate, Share};
pub use random::Random;
pub use time::{Instant, Nanos};
