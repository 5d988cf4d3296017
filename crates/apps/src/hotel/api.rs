//! The calls between the services: messages and stubs that `cargo xtask proto` generates from
//! `proto/hotel`. Every service is a trait, which the service itself implements, and
//! [`Remote`](crate::kit::rpc::Remote) for its replicas in other processes: a caller does not know
//! which of the two it has.

include!("../../generated/hotel/mod.rs");
