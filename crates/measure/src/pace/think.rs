//! The think time of the users of a closed loop.

use std::fmt;
use std::str::FromStr;

use crate::{Nanos, Random};

/// The think time of a closed-loop user between a response and the next request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Think {
    Fixed(Nanos),
    Exponential { mean: Nanos },
}

impl Think {
    pub const NONE: Think = Think::Fixed(Nanos::ZERO);

    /// Draws one think time.
    pub fn draw(self, random: &mut Random) -> Nanos {
        match self {
            Think::Fixed(length) => length,
            Think::Exponential { mean } => Nanos(random.exponential(mean.0 as f64) as u64),
        }
    }

    pub fn mean(self) -> Nanos {
        match self {
            Think::Fixed(mean) | Think::Exponential { mean } => mean,
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Think::Fixed(length) => write!(f, "{length}"),
            Think::Exponential { mean } => write!(f, "exp:{mean}"),
        }
    }
}

/// Parses `10ms`, or `exp:10ms` for an exponential distribution with that mean.
impl FromStr for Think {
    type Err = String;

    fn from_str(text: &str) -> Result<Think, String> {
        let length = |text: &str| text.parse::<Nanos>().map_err(|e| e.to_string());
        match text.strip_prefix("exp:") {
            Some(mean) => Ok(Think::Exponential { mean: length(mean)? }),
            None => Ok(Think::Fixed(length(text)?)),
        }
    }
}
