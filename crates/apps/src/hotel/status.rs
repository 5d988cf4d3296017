//! How a service says that it could not answer. A refusal which the application knows of, such as
//! a hotel without rooms, is an answer and no failure.

use std::fmt;

/// The few reasons for a failed call, named as gRPC names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    InvalidArgument,
    NotFound,
    Unavailable,
}

/// A failed call; the frontend shows its text with status 500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    code: Code,
    description: String,
}

impl Status {
    pub fn new(code: Code, description: impl fmt::Display) -> Self {
        Status { code, description: description.to_string() }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "rpc error: code = {:?} desc = {}", self.code, self.description)
    }
}

/// Whatever the store reports, its caller cannot mend it.
impl From<redb::Error> for Status {
    fn from(error: redb::Error) -> Self {
        Status::new(Code::Unavailable, error)
    }
}
