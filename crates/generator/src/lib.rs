//! The front end of the generator: from typed options to a plan, a run and a document. Each command that
//! makes, receives or joins loads is one file here; the others are the steps that they share.
#![forbid(unsafe_code)]

pub mod fields;
pub mod join;
pub mod load;
pub mod merge;
pub mod mix_check;
pub mod options;
pub mod receive;
pub mod reference;
pub mod wrk;
pub mod ycsb;

mod csv;
mod document;
mod events;
mod guard;
mod hlog;
mod known;
mod live;
mod outputs;
mod plan;
mod ports;
mod samples;
mod secret;
mod self_test;
mod start;
mod target;
mod text;
mod tls;
mod verdict;
mod workload;
