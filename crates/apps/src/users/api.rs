//! The calls of the store: messages and stubs that `cargo xtask proto` generates from
//! `proto/users`. The trait of the store is implemented by the store itself, and by
//! [`Remote`](crate::kit::rpc::Remote) for its process.

include!("../../generated/users/mod.rs");

pub use users::*;
