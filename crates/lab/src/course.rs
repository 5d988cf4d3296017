//! The words for the course of an experiment, which all that plan, run, watch and judge it share.

use measure::search::Bracket;
use measure::{Nanos, Rate};
use results::journal::{Purpose, Why};

/// The plan for those who watch its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    pub name: String,
    pub seed: u64,
    pub strands: Vec<Outlined>,
    /// The CPUs of the system under test, as far as the spec fixes them.
    pub sut: Vec<u32>,
    /// The CPUs of the generator, as far as the spec fixes them.
    pub load: Vec<u32>,
}

/// One strand of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlined {
    /// Empty in a plan of one strand.
    pub label: String,
    /// Its levels, if there are factors: `replicas=2`.
    pub level: Option<String>,
    /// The name of its search, if there are several.
    pub search: Option<String>,
    /// The fewest and the most trials that it can have.
    pub fewest: u64,
    pub most: u64,
    /// The usual number of trials, if anything is known of it.
    pub usual: Option<u64>,
    /// The usual length of each, with all that is done between two trials.
    pub trial: Nanos,
}

/// The position of a trial in the plan.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Position {
    /// The index of its combination of levels.
    pub cell: usize,
    /// The number of the system under test: different levels may measure the same system.
    pub system: usize,
    /// The index of its question.
    pub question: usize,
}

/// One attempt at a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    pub purpose: Purpose,
    /// The rate of each target; `None` is a closed loop.
    pub asked: Option<Rate>,
    pub repetition: u32,
    /// The number of the attempt: 1, or more if earlier attempts at the same trial gave no answer.
    pub attempt: u32,
    /// The longest wait for a calm machine; `None` begins at once.
    pub await_calm: Option<Nanos>,
    /// The reason of the search for this trial; a sweep has none.
    pub why: Option<Why>,
    /// The bounds of each target's capacity that the search knows; a sweep has none.
    pub bracket: Option<Bracket>,
}

/// One measured execution at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    pub number: u32,
    pub purpose: Purpose,
    /// The rate of each target; `None` is a closed loop, or the spec's shape or trace.
    pub asked: Option<Rate>,
    pub repetition: u32,
    pub attempt: u32,
    pub seed: u64,
    pub place: Position,
}

/// The way a run ended, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    Answered(String),
    /// The service answered no request of any trial as it should.
    Failing(String),
    NoAnswer(String),
    Interrupted,
    /// The run is still going on, or was killed.
    Open,
}

impl Ending {
    /// Returns the reason in words.
    pub fn reason(&self) -> String {
        match self {
            Ending::Answered(why) | Ending::Failing(why) | Ending::NoAnswer(why) => why.clone(),
            Ending::Interrupted => "interrupted".to_owned(),
            Ending::Open => "not ended".to_owned(),
        }
    }
}
