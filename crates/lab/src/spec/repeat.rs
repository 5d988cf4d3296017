//! The sequence of trials: what is reset between them, how often each load is repeated, and the
//! budget for all of them.

use measure::estimate::{self, CONFIDENCE};
use measure::{Nanos, Share};
use results::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::literal::one;
use super::{Action, AtLeastOne, Written, schema};

/// The way back to the initial state. Without steps the components are restarted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// The occasions of a reset.
    #[serde(default)]
    pub between: Between,
    /// The actions that return the system to its initial state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Action>,
}

/// The occasions of a reset.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// Before every trial.
    Trials,
    /// Before the first trial at each load.
    Points,
    /// Before the first trial of each cell, if its system is not restarted anyway.
    Levels,
    /// Only after the smoke test.
    #[default]
    Never,
}

/// The repetitions of trials and searches.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Trials at each load.
    #[serde(default = "one")]
    pub trials: AtLeastOne,
    /// How often each search is made as a whole.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub searches: AtLeastOne,
    /// The order of the trials.
    #[serde(default, skip_serializing_if = "Order::is_listed")]
    pub order: Order,
    /// More trials at each load until a metric is known well enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
}

impl Default for Repeat {
    fn default() -> Repeat {
        Repeat { trials: one(), searches: one(), order: Order::Listed, until: None }
    }
}

impl Repeat {
    /// Returns true if a load with so many trials needs no further one. `values` returns their figures of a
    /// metric, if all have one.
    pub(crate) fn is_complete(
        &self,
        count: usize,
        values: impl FnOnce(Metric) -> Option<Vec<f64>>,
    ) -> bool {
        let count = count as u32;
        let Some(until) = &self.until else { return self.trials.0 <= count };
        if until.max.0 <= count {
            return true;
        }
        let half = || estimate::relative_half_width(&values(until.metric)?, CONFIDENCE);
        let is_narrow = || half().is_some_and(|half| half <= until.ci_rel.0.0);
        self.trials.0.max(Until::FEWEST) <= count && is_narrow()
    }
}

fn is_one(number: &AtLeastOne) -> bool {
    number.0 == 1
}

/// The order of the trials of an experiment with several searches or levels.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One search after the other, in the order of the file.
    #[default]
    Listed,
    /// One search after the other, in a random order.
    Shuffled,
    /// One trial of each search in turn: a drift of the machine meets all of them alike.
    Interleaved,
    /// Blocks of so many trials: in each block every question has equally many, in a random order. A number
    /// that cannot be divided so is rounded down, to one trial of each question at least.
    Blocks(AtLeastOne),
}

impl Order {
    fn is_listed(&self) -> bool {
        *self == Order::Listed
    }
}

/// The precision that ends the repetition at a load.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// A figure of a trial, not of a search.
    #[schemars(schema_with = "schema::metric")]
    pub metric: Metric,
    /// The widest half of the metric's 95 % interval, as a share of its mean.
    pub ci_rel: Written<Share>,
    /// The most trials at each load, at least five: the interval is first judged with the fifth.
    pub max: AtLeastOne,
}

impl Until {
    /// The trials before the interval is judged for the first time. Of fewer the spread is so little known
    /// that an interval which is narrow by chance ends the repetition: of those that began with two trials
    /// 88 to 90 % held the true value, of those that begin with five 92 to 95 %.
    pub(crate) const FEWEST: u32 = 5;
}

/// The budget of the experiment. Disturbances have a separate one, so that a quiet machine and a
/// disturbed one make the same trials.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// The most trials of each search; those that were not valid are not counted.
    pub trials: AtLeastOne,
    /// The most repetitions of a trial that was not valid, each once the machine is calm.
    pub invalid_attempts: u32,
    /// The most of these repetitions that are made since the machine was slow, and for no other reason;
    /// then the trial counts, with a warning.
    pub slow_attempts: u32,
    /// The longest time of all phases, as planned (not as the clock showed, so that a resumed run
    /// decides alike), with the time of opening the connections where it was half a second or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Written<Nanos>>,
    /// The extra time for disturbances: trials that were not valid, and waiting for a calm machine.
    /// They may also take the part of `time` that the trials do not need. If absent, three minutes or
    /// the time of four trials, whichever is longer, for each search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Written<Nanos>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            trials: AtLeastOne(100),
            invalid_attempts: 5,
            slow_attempts: 1,
            time: None,
            disturbance: None,
        }
    }
}
