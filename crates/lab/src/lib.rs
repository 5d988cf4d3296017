//! Experiments: reads a spec, searches loads, runs and judges trials. Every finished trial is in
//! the journal before the next begins.
//!
//! Nothing here makes load: the generator is a separate process. Nothing here sends requests to the
//! system under test while a trial measures.
#![forbid(unsafe_code)]

pub mod spec;

pub mod course;
pub mod experiment;
pub mod plan;
pub mod search;
pub mod system;
pub mod trial;

pub mod calm;
pub mod doctor;
pub mod judge;
pub mod limits;
pub mod monitor;
pub mod queued;
pub mod seconds;
pub mod speed;
pub mod statistics;

pub mod advice;
pub mod answer;
pub mod asked;
pub mod comparison;
pub mod explanation;
pub mod past;
pub mod progress;
mod scaling;
pub mod wishes;

pub mod backend;
mod error;

#[cfg(test)]
mod for_tests;
pub mod host;
mod http;
pub mod runtime;

pub use backend::Host;
pub use error::Error;
