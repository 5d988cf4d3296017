//! Requests of several parts, each with a reply of its own.

use net::Closed;

use super::{Label, Lost, Outcome, Step, Token};

/// The outcome of one or more replies, with details of a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Verdict {
    pub outcome: Outcome,
    pub why: &'static str,
}

impl Verdict {
    pub const OK: Verdict = Verdict { outcome: Outcome::Ok, why: "" };

    pub fn status(why: &'static str) -> Verdict {
        Verdict { outcome: Outcome::Status, why }
    }

    pub fn check(why: &'static str) -> Verdict {
        Verdict { outcome: Outcome::Check, why }
    }

    /// The verdict on a request with this token that was sent, and whose connection was lost before its answer.
    pub fn lost(lost: Lost, token: Token) -> Verdict {
        let (outcome, why) = match lost {
            Lost::TooLate(late) if late == token => (Outcome::Timeout, "no response in time"),
            Lost::TooLate(_) => (
                Outcome::Reset,
                "its connection was given up, as another request had no response in time",
            ),
            Lost::By(Closed::WhileWriting) => {
                (Outcome::Write, "the server closed the connection while a request was written")
            }
            Lost::By(_) => (Outcome::Reset, "the server closed the connection"),
            Lost::ByUs => (Outcome::Reset, "its connection was given up"),
            Lost::For(outcome, why) => (outcome, why),
        };
        Verdict { outcome, why }
    }

    /// The first of the two that is not ok.
    #[must_use]
    pub fn or_else(self, next: Verdict) -> Verdict {
        if self.outcome == Outcome::Ok { next } else { self }
    }
}

/// The steps of one request.
#[derive(Debug)]
pub struct Steps<'a> {
    token: Token,
    reported: &'a mut Vec<Step>,
}

impl<'a> Steps<'a> {
    pub fn new(token: Token, reported: &'a mut Vec<Step>) -> Steps<'a> {
        Steps { token, reported }
    }

    /// Reports a step that has just ended.
    pub fn ended(&mut self, label: Label, outcome: Outcome) {
        let Steps { token, ref mut reported } = *self;
        reported.push(Step { token, label, outcome, operations: 0 });
    }
}
