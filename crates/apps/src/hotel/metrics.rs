//! The metrics of the application beside those that every process has.

use std::time::Duration;

use super::Service;
use crate::kit::memcached::{LOOKUPS, Lookup};
use crate::kit::metrics::{self, Basic, Counter, Requests, write_family, write_requests};
use crate::kit::services::Service as _;

/// The classes by which requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Hotels,
    Recommendations,
    User,
    Reservation,
    /// Reviews, restaurants, museums and cinemas.
    Nearby,
    /// The page and its style sheet.
    Page,
    /// Health, metrics, counts and reset.
    Admin,
    Unknown,
}

const ENDPOINTS: [&str; 8] =
    ["/hotels", "/recommendations", "/user", "/reservation", "nearby", "page", "admin", "unknown"];

/// The outcome of a request for a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserving {
    Made,
    Full,
    LoginFailed,
    Failed,
}

const RESERVINGS: [&str; 4] = ["made", "full", "login_failed", "error"];

/// All status codes that the frontend sends.
const CODES: [u16; 6] = [200, 400, 404, 405, 500, 503];

/// The number of possible results: a search finds at most five hotels.
const HOTELS_FOUND: usize = 6;

#[derive(Default)]
pub struct Metrics {
    basic: Basic<Service>,
    requests: [Requests<{ CODES.len() }>; ENDPOINTS.len()],
    searches: [Counter; HOTELS_FOUND],
    logins: [Counter; 2],
    reservations: [Counter; RESERVINGS.len()],
    lookups: [Counter; LOOKUPS.len()],
}

impl Metrics {
    /// Counts a request, and the time from reading its head until its response is ready.
    pub fn answered(&self, endpoint: Endpoint, code: u16, took: Duration) {
        self.requests[endpoint as usize].answered(&CODES, code, took);
    }

    /// Counts a call of a service, remote or local.
    pub fn called(&self, service: Service) {
        self.basic.called(service);
    }

    pub fn searched(&self, hotels_found: usize) {
        self.searches[hotels_found.min(HOTELS_FOUND - 1)].add(1);
    }

    pub fn logged_in(&self, correct: bool) {
        self.logins[usize::from(!correct)].add(1);
    }

    pub fn reserved(&self, outcome: Reserving) {
        self.reservations[outcome as usize].add(1);
    }

    /// Counts documents that were looked up in the cache.
    pub fn looked_up(&self, outcome: Lookup, documents: usize) {
        self.lookups[outcome as usize].add(documents as u64);
    }
}

impl metrics::Metrics for Metrics {
    type Service = Service;

    fn basic(&self) -> &Basic<Service> {
        &self.basic
    }

    fn write_own(&self, out: &mut String) {
        write_requests(out, Service::APPLICATION, &ENDPOINTS, &CODES, &self.requests);
        let found: [String; HOTELS_FOUND] = std::array::from_fn(|hotels| hotels.to_string());
        let found = found.each_ref().map(String::as_str);
        write_family(out, "hotel_search_results_total", "hotels", &found, &self.searches);
        write_family(out, "hotel_logins_total", "outcome", &["ok", "failed"], &self.logins);
        let reservations = &self.reservations;
        write_family(out, "hotel_reservations_total", "outcome", &RESERVINGS, reservations);
        write_family(out, "hotel_cache_lookups_total", "outcome", &LOOKUPS, &self.lookups);
    }
}

#[cfg(test)]
mod tests;
