//! The reference applications: the systems that Benchwright measures in its own experiments.
//!
//! They share no code with the instrument, so that a fault in one cannot hide a fault in the other.
//! Nothing here generates load or judges a result.

#![forbid(unsafe_code)]

mod application;

pub mod kit;

pub mod balancer;
pub mod channel;
pub mod hotel;
pub mod neighbour;
pub mod social;
pub mod users;

pub use application::Application;
