//! The goal of a figure, and its result.

use std::fmt;

use super::summary::Summary;

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// The figure is only printed.
    None,
    AtLeast(Bounds),
    AtMost(Bounds),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    must: f64,
    stretch: Option<f64>,
}

/// One line of a bench's results.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) what: String,
    /// The figure of each attempt, in order.
    pub(super) figures: Vec<f64>,
    /// Other figures that help to judge it.
    pub(super) beside: String,
    pub(super) goal: Goal,
}

impl Goal {
    pub(crate) const fn most(must: f64) -> Goal {
        Goal::AtMost(Bounds { must, stretch: None })
    }

    pub(crate) const fn least(must: f64) -> Goal {
        Goal::AtLeast(Bounds { must, stretch: None })
    }

    pub(crate) const fn at_least(must: f64, stretch: f64) -> Goal {
        Goal::AtLeast(Bounds { must, stretch: Some(stretch) })
    }

    pub(crate) const fn at_most(must: f64, stretch: f64) -> Goal {
        Goal::AtMost(Bounds { must, stretch: Some(stretch) })
    }

    /// Returns true if the figure meets the required bound.
    pub(crate) fn is_met(self, figure: f64) -> bool {
        match self {
            Goal::None => true,
            Goal::AtLeast(bounds) | Goal::AtMost(bounds) => self.keeps(figure, bounds.must),
        }
    }

    /// Returns true if the figure is on the right side of a bound.
    fn keeps(self, figure: f64, bound: f64) -> bool {
        match self {
            Goal::AtMost(_) => figure <= bound,
            Goal::AtLeast(_) | Goal::None => bound <= figure,
        }
    }

    /// Returns for example `must ≥ 1.3 met, stretch ≥ 1.5 missed`.
    pub(crate) fn verdict(self, figure: f64) -> String {
        let (sign, bounds) = match self {
            Goal::None => return "printed".to_owned(),
            Goal::AtLeast(bounds) => ('≥', bounds),
            Goal::AtMost(bounds) => ('≤', bounds),
        };
        let word = |bound| if self.keeps(figure, bound) { "met" } else { "missed" };
        let mut text = format!("must {sign} {} {}", bounds.must, word(bounds.must));
        if let Some(stretch) = bounds.stretch {
            text.push_str(&format!(", stretch {sign} {stretch} {}", word(stretch)));
        }
        text
    }
}

impl Finding {
    pub(super) fn summary(&self) -> Summary {
        Summary::of(&self.figures)
    }

    pub(super) fn is_met(&self) -> bool {
        self.goal.is_met(self.summary().median)
    }

    pub(super) fn verdict(&self) -> String {
        self.goal.verdict(self.summary().median)
    }
}

/// `nginx, 64 connections: median 1.122 (1.034 … 1.187): must ≥ 1 met, stretch ≥ 1.15 missed`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.what, self.summary(), self.verdict())
    }
}
