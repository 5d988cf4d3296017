//! The median and the range of several figures.

use std::fmt;

use measure::estimate;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    pub(super) median: f64,
    least: f64,
    most: f64,
}

impl Summary {
    /// Summarizes at least one figure.
    pub(super) fn of(figures: &[f64]) -> Summary {
        Summary {
            median: estimate::median(figures).expect("there is a figure"),
            least: figures.iter().copied().fold(f64::INFINITY, f64::min),
            most: figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// `median 1.122 (1.034 … 1.187)`.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "median {:.3} ({:.3} … {:.3})", self.median, self.least, self.most)
    }
}
