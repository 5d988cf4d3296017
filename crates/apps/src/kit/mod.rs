//! The parts that every application needs: how a process begins and ends, what it serves, the calls
//! between processes, and what a process tells about itself. Nothing here knows an application.

pub mod process;

pub mod arguments;
pub mod services;

pub mod answer;
pub mod client;
pub mod page;
pub mod query;
pub mod serve;

pub mod rpc;

pub mod folder;
pub mod memcached;
pub mod postgres;
pub mod redis;
pub mod source;
pub mod store;
pub mod writer;

pub mod hashing;
pub mod jwt;

pub mod events;
pub mod health;
pub mod metrics;
pub mod statistics;

pub mod exit;
pub mod terminal;

pub(crate) mod lock;
pub(crate) mod timeout;
