//! The calls between the services: messages and stubs generated from `proto/hotel`. Every service is
//! a trait, which the service itself implements, and [`Remote`](crate::kit::rpc::Remote) for its
//! replicas in other processes: a caller does not know which of the two it has.

include!(concat!(env!("OUT_DIR"), "/hotel/mod.rs"));
