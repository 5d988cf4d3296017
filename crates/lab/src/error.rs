//! The errors of runs.

use crate::backend::Stop;

/// The reason why a run did not come to an answer; finished trials are in the results directory.
#[derive(Debug)]
pub enum Error {
    /// The experiment is not valid: nothing was sent. Exit code 2.
    Question(anyhow::Error),
    /// No trustworthy answer was found. Exit code 3.
    NoAnswer(anyhow::Error),
    /// The user interrupted it before there was a results directory. Exit code 130.
    Interrupted,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Question(error) | Error::NoAnswer(error) => write!(f, "{error:#}"),
            Error::Interrupted => f.write_str("interrupted before anything was started"),
        }
    }
}

impl std::error::Error for Error {}

/// A stop that ends the run.
impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        match stop {
            Stop::Question(error) => Error::Question(error),
            Stop::NoAnswer(error) => Error::NoAnswer(error),
            Stop::Interrupted => Error::Interrupted,
            Stop::Disturbed { cause } => Error::NoAnswer(anyhow::anyhow!(cause)),
            Stop::Died { component, why, last_lines } => {
                let lines: String = last_lines.iter().map(|line| format!("\n    {line}")).collect();
                let output = if lines.is_empty() { "" } else { "\n  its last output:" };
                Error::NoAnswer(anyhow::anyhow!("`{component}` {why}{output}{lines}"))
            }
        }
    }
}

impl From<results::directory::Error> for Error {
    fn from(error: results::directory::Error) -> Error {
        Error::NoAnswer(error.into())
    }
}
