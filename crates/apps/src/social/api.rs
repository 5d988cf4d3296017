//! The calls between the services: messages and stubs that `cargo xtask proto` generates from
//! `proto/social`. Every service is a trait, which the service itself implements, and
//! [`Remote`](crate::kit::rpc::Remote) for its replicas in other processes: a caller does not know
//! which of the two it has.
//!
//! `stored` has what the services keep, each kind behind a trait of its own, so that each may have
//! its own place.

include!("../../generated/social/mod.rs");
