//! The hotel-reservation application of guide 1, compatible with DeathStarBench's of 2022, and its
//! review and attractions services of later years.
//!
//! One module per service. Each service runs in its own process, or all run in one; see
//! [`crate::kit::process`]. Calls go down this list only: the frontend calls services, search calls geo and
//! rate, and services call the store.
//!
//! Deliberate differences from the original: rooms are checked and reserved in one atomic step; a
//! failed login makes no reservation and sees no reviews; an unknown hotel, a negative number of
//! rooms or a stay of more than 366 nights is refused and changes nothing; a reservation of zero
//! rooms leaves no document.

pub mod frontend;

pub mod search;

pub mod attractions;
pub mod geo;
pub mod profile;
pub mod rate;
pub mod recommendation;
pub mod reservation;
pub mod review;
pub mod user;

pub mod api;
pub mod documents;
pub mod stay;

pub mod data;
pub mod postgres;
pub mod source;
pub mod store;

pub mod metrics;

pub use crate::kit::process::{Data, Options, Role, run};
pub use store::Durability;
