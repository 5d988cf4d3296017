//! The exit code of a process that ends by itself. A server ends with 0, or with 3 and an error.

use std::fmt;

/// An error and its exit code; any other error of a process is [`Code::NoAnswer`].
#[derive(Debug)]
pub struct Exit {
    pub code: Code,
    pub error: anyhow::Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Done, and the answer is no.
    No = 1,
    /// The arguments are wrong: nothing was sent.
    Question = 2,
    /// There is no trustworthy answer.
    NoAnswer = 3,
    /// Interrupted; what was done is kept.
    Interrupted = 130,
}

impl Exit {
    pub fn no(why: impl fmt::Display) -> Self {
        Exit { code: Code::No, error: anyhow::anyhow!("{why}") }
    }

    pub fn question(error: anyhow::Error) -> Self {
        Exit { code: Code::Question, error }
    }

    pub fn no_answer(why: impl fmt::Display) -> Self {
        Exit { code: Code::NoAnswer, error: anyhow::anyhow!("{why}") }
    }

    pub fn interrupted(why: impl fmt::Display) -> Self {
        Exit { code: Code::Interrupted, error: anyhow::anyhow!("{why}") }
    }

    /// Returns the code for an error that a process ends with.
    pub fn code_of(error: &anyhow::Error) -> u8 {
        error.downcast_ref::<Exit>().map_or(Code::NoAnswer, |exit| exit.code) as u8
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl std::error::Error for Exit {}
