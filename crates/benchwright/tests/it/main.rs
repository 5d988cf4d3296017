//! The built binaries on loopback, as a user meets them.

mod peer;
mod support;

mod answers;
mod errors;
mod experiment;
mod hotel;
mod load;
mod page;
mod replicas;
mod results;
