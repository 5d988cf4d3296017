//! The parts of a trial's time.

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::Written;

/// The parts of a trial's time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Rest before the load, after a reset.
    #[serde(default = "nothing")]
    pub settle: Written<Nanos>,
    /// Load that is recorded but not counted.
    #[serde(default)]
    pub warm_up: WarmUp,
    pub measure: Measure,
    /// How long outstanding requests are waited for.
    #[serde(default = "a_second")]
    pub drain: Written<Nanos>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    pub fixed: Written<Nanos>,
}

impl Default for WarmUp {
    fn default() -> WarmUp {
        WarmUp { fixed: a_second() }
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenMeasure")]
pub struct Measure {
    pub time: Written<Nanos>,
    /// How many samples must lie beyond the highest quantile of an SLO for it to be sound.
    pub min_tail_samples: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMeasure {
    time: Written<Nanos>,
    min_tail_samples: Option<u64>,
}

impl TryFrom<WrittenMeasure> for Measure {
    type Error = &'static str;
    fn try_from(written: WrittenMeasure) -> Result<Measure, &'static str> {
        match *written.time {
            Nanos::ZERO => Err("a measurement takes time; write for example time: 5s"),
            _ => Ok(Measure {
                time: written.time,
                min_tail_samples: written.min_tail_samples.unwrap_or(100),
            }),
        }
    }
}

fn nothing() -> Written<Nanos> {
    Written(Nanos::ZERO)
}

fn a_second() -> Written<Nanos> {
    Written(Nanos::SECOND)
}
