//! The calls of the store: messages and stubs generated from `proto/users`. The trait of the store
//! is implemented by the store itself, and by [`Remote`](crate::kit::rpc::Remote) for its process.

include!(concat!(env!("OUT_DIR"), "/users/mod.rs"));

pub use users::*;
