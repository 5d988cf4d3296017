//! The built binaries on loopback, as a user meets them.

mod support;

mod errors;
mod experiment;
mod hotel;
mod load;
mod page;
mod replicas;
