//! The pace of a load as texts: distributions of gaps, shapes of the rate, and think times. The
//! generator reads the same texts with the same parsers.

use std::fmt;

use measure::pace;
use serde::{Deserialize, Serialize};

/// The distribution of the gaps between requests: `poisson`, `lognormal:2`, …
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Arrivals(pub pace::Distribution);

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for Arrivals {
    type Error = String;
    fn try_from(text: String) -> Result<Arrivals, String> {
        text.parse().map(Arrivals)
    }
}

impl From<Arrivals> for String {
    fn from(arrivals: Arrivals) -> String {
        arrivals.to_string()
    }
}

/// A rate that changes: `1k/s 30s, ->5k/s 60s, spike 20k/s 2s`
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shape {
    /// The shape as it was written.
    pub text: String,
    pub curve: pace::Shape,
}

impl TryFrom<String> for Shape {
    type Error = String;
    fn try_from(text: String) -> Result<Shape, String> {
        let curve = text.parse()?;
        Ok(Shape { text, curve })
    }
}

impl From<Shape> for String {
    fn from(shape: Shape) -> String {
        shape.text
    }
}

/// The think time of the users of a closed loop: `10ms`, or `exp:10ms` on average.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Think(pub pace::Think);

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            pace::Think::Fixed(length) => f.write_str(&length.written()),
            pace::Think::Exponential { mean } => write!(f, "exp:{}", mean.written()),
        }
    }
}

impl TryFrom<String> for Think {
    type Error = String;
    fn try_from(text: String) -> Result<Think, String> {
        text.parse().map(Think)
    }
}

impl From<Think> for String {
    fn from(think: Think) -> String {
        think.to_string()
    }
}
