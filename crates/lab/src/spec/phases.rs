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
    #[serde(default)]
    pub measure: Measure,
    /// The longest time that the generator waits for outstanding requests.
    #[serde(default = "a_second")]
    pub drain: Written<Nanos>,
    /// Rest of the system between trials.
    #[serde(default, skip_serializing_if = "CoolDown::is_none")]
    pub cool_down: CoolDown,
}

/// The rest before a trial: `{trials: 10s, levels: 3min}`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoolDown {
    /// After the trial before.
    pub trials: Written<Nanos>,
    /// The same where the level changes: after the new level is deployed.
    pub levels: Written<Nanos>,
}

impl Default for CoolDown {
    fn default() -> CoolDown {
        CoolDown { trials: nothing(), levels: nothing() }
    }
}

impl CoolDown {
    fn is_none(&self) -> bool {
        *self == CoolDown::default()
    }
}

impl Default for Phases {
    fn default() -> Phases {
        Phases {
            settle: nothing(),
            warm_up: WarmUp::default(),
            measure: Measure::default(),
            drain: a_second(),
            cool_down: CoolDown::default(),
        }
    }
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
    /// The number of samples that must lie beyond the highest quantile of an SLO for it to be
    /// sound.
    pub min_tail_samples: u64,
}

impl Default for Measure {
    fn default() -> Measure {
        Measure { time: Written(Nanos::from_secs(10)), min_tail_samples: 100 }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMeasure {
    time: Option<Written<Nanos>>,
    min_tail_samples: Option<u64>,
}

impl TryFrom<WrittenMeasure> for Measure {
    type Error = &'static str;
    fn try_from(written: WrittenMeasure) -> Result<Measure, &'static str> {
        let default = Measure::default();
        let time = written.time.unwrap_or(default.time);
        let min_tail_samples = written.min_tail_samples.unwrap_or(default.min_tail_samples);
        match *time {
            Nanos::ZERO => Err("a measurement takes time; write for example time: 5s"),
            _ => Ok(Measure { time, min_tail_samples }),
        }
    }
}

fn nothing() -> Written<Nanos> {
    Written(Nanos::ZERO)
}

fn a_second() -> Written<Nanos> {
    Written(Nanos::SECOND)
}
