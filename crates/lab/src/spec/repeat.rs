//! The sequence of trials: what is reset between them, how often each load is repeated, and the
//! budget for all of them.

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::literal::one;
use super::{AtLeastOne, Exchange, Written};

/// The way back to the initial state. Without steps the components are restarted.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    #[serde(default)]
    pub between: Between,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<ResetStep>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// Before every trial.
    Trials,
    /// Before the first trial at each load.
    Points,
    /// Only after the smoke test.
    #[default]
    Never,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetStep {
    Http(Exchange),
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Trials at each load.
    pub trials: AtLeastOne,
}

impl Default for Repeat {
    fn default() -> Repeat {
        Repeat { trials: one() }
    }
}

/// The budget of the experiment. Disturbances have a separate one, so that a quiet machine and a
/// disturbed one make the same trials.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// The most trials; those that were not valid are not counted.
    pub trials: AtLeastOne,
    /// The most repetitions of a trial that was not valid, each once the machine is calm.
    pub invalid_attempts: u32,
    /// The longest time of all phases, as planned (not as the clock showed, so that a resumed run
    /// decides alike).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Written<Nanos>>,
    /// The extra time for disturbances: trials that were not valid, and waiting for a calm machine. If
    /// absent, three minutes or the time of four trials, whichever is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Written<Nanos>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { trials: AtLeastOne(100), invalid_attempts: 5, time: None, disturbance: None }
    }
}
