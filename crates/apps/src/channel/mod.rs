//! An event channel, as a Channel of Knative with its Subscriptions: CloudEvents in over HTTP, an
//! append-only log, and a push of each event to every subscriber.
//!
//! An event is sent again until its subscriber takes it, its retries are used up or its failure is
//! final; then it goes to the dead letter sink. So it arrives at least once, or the channel counts
//! it as dropped. Deliberate differences from Knative: an unknown path is 404 as in the
//! specification (Knative's answers 500), and there is one channel per process, so no event carries
//! a namespace.

pub mod command;

pub mod broker;
pub mod exchange;
pub mod gate;
pub mod pending;
pub mod site;

pub mod event;

pub mod subscription;

pub mod connection;
pub mod delivery;
pub mod target;

pub mod log;

pub mod metrics;

/// A process of this application.
pub type Process = crate::kit::process::Process<metrics::Metrics>;
