//! The documents of `benchwright explain` and `benchwright advise`: why a run says what it says, and
//! what to change in the experiment.

use serde::{Deserialize, Serialize};

pub const EXPLANATION: &str = "benchwright.explain/1";
pub const ADVICE: &str = "benchwright.advise/1";

/// The reasons for a verdict.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Explanation {
    pub schema: String,
    /// The trial that is explained; absent for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    pub sentences: Vec<Sentence>,
}

/// One reason, with its figures.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Sentence {
    /// The subject in a word or two: `verdict`, `capacity`, `slo`, `comparison`.
    pub about: String,
    pub text: String,
}

/// The changes that would make an experiment decide sooner or more surely.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Advised {
    pub schema: String,
    /// The most important first; empty if nothing is to be changed.
    pub advice: Vec<Advice>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Advice {
    pub code: Code,
    /// The reason, with its figures.
    pub text: String,
    /// The change of the spec, as `--set` takes it; absent if the machine is to be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Requests fail at every load.
    Failing,
    /// The load and the system share CPUs.
    NotPinned,
    /// Many trials were not valid.
    Disturbed,
    /// Trials have too few requests for their percentile.
    TooFewRequests,
    /// Equal trials rise or fall.
    Trend,
    /// The spread comes from the number of requests.
    NearFloor,
    /// The arms ran one after the other.
    NotInterleaved,
    /// A comparison needs more blocks.
    MoreBlocks,
    /// A target of the spread needs more trials.
    MoreTrials,
    /// A capacity was searched for only once.
    SearchedOnce,
    /// The budget ended the run before its answer.
    Budget,
    /// The range ended below what the system can do, or began above it.
    NotEnclosed,
    /// The connections of the load were its limit.
    FewConnections,
}
