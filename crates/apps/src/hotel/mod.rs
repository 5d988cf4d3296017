//! The hotel-reservation application of guide 1, compatible with DeathStarBench's of 2022, and its
//! review and attractions services of later years.
//!
//! One module per service. Each service runs in its own process ([`Process`]), or all run in one
//! ([`all_in_one`]). Calls go down this list only: the frontend calls services, search calls geo
//! and rate, and services call the store.
//!
//! Deliberate differences from the original: rooms are checked and reserved in one atomic step; a
//! failed login makes no reservation and sees no reviews; an unknown hotel, a negative number of
//! rooms or a stay of more than 366 nights is refused and changes nothing; a reservation of zero
//! rooms leaves no document.

use crate::kit;
use command::{Cacheable, Stateless, StoreArguments};

pub mod all_in_one;
pub mod command;
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

pub mod store;

pub mod api;
pub mod data;
pub mod documents;
pub mod metrics;
pub mod postgres;
pub mod source;
pub mod stay;

// In the order of their ports in the original, which has no store.
kit::services::services! {
    "hotel":
    /// The hotels near a place that have a rate; calls geo and rate.
    Search(search::Arguments) in search,
    /// The hotels near a place.
    Geo(Stateless) in geo,
    /// The prices of hotels.
    Rate(Cacheable) in rate,
    /// The descriptions of hotels.
    Profile(Cacheable) in profile,
    /// The best hotels by distance, rate or price.
    Recommendation(Stateless) in recommendation,
    /// Checks a user's password.
    User(Stateless) in user,
    /// Finds hotels with free rooms, and reserves rooms.
    Reservation(Stateless) in reservation,
    /// The reviews of hotels.
    Review(Cacheable) in review,
    /// The restaurants, museums and cinemas near a hotel.
    Attractions(Stateless) in attractions,
    /// The state of one instance: a durable database with the seeded data.
    Store(StoreArguments) in store,
}

/// A process of this application.
pub type Process = kit::process::Process<metrics::Metrics>;
