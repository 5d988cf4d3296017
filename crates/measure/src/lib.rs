//! The basic types of measurement: time, rates, randomness, histograms, statistics.
//!
//! Nothing here performs I/O or reads a clock. Every number in the product comes from these types.
#![forbid(unsafe_code)]

pub mod balance;
pub mod bounds;
pub mod capacity;
pub mod civil;
pub mod comparison;
pub mod cpus;
pub mod estimate;
pub mod histogram;
pub mod number;
pub mod offset;
pub mod pace;
pub mod quantity;
pub mod quota;
pub mod random;
pub mod scaling;
pub mod search;
pub mod series;
pub mod spread;
pub mod steady;
pub mod store;
pub mod time;
pub mod timer;
pub mod trend;

pub use balance::Balance;
pub use civil::Civil;
pub use histogram::{Histogram, Quantile};
pub use offset::Offset;
pub use quantity::{Bytes, Rate, Share};
pub use random::Random;
pub use time::{Instant, Nanos};
