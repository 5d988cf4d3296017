//! Protocol codecs: bytes in, events out.
//!
//! This crate owns no socket, reads no clock and never allocates without a bound. Each decoder
//! takes any slicing of the bytes, and hostile bytes end in an error, never in a panic or in
//! growth.
#![forbid(unsafe_code)]

pub mod http1;
pub mod kv;
pub mod resp;
pub mod url;
