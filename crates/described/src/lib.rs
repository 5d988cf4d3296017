//! The requests that a service gets, from what describes it: an OpenAPI document, a HAR of a browser, or an access
//! log. Bytes in; out come requests with their weights, the rate if the source has one, and a mix of them as text.
//!
//! Nothing here opens a file or sends anything, and nothing that is read is believed: no bytes make a reader fail
//! otherwise than with an error, memory grows only up to a bound, and no text of a source leaves its line. A value
//! that the source does not state is a guess, and says so. A secret becomes a reference to a variable of the
//! environment.
#![forbid(unsafe_code)]

mod body;
mod described;
mod fold;
mod har;
mod kind;
mod line;
mod log;
mod openapi;
mod read;
mod references;
mod schema;
mod secret;
mod target;
mod words;
mod written;

#[cfg(test)]
mod tests;

pub use described::{Described, Rates, Request, Wanted};
pub use kind::{Kind, detect};
pub use read::read;
pub use words::one_line;
pub use written::{Mix, mix};
