//! The metrics of the application beside those that every process has.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Service;
use crate::kit::hashing::{LOGINS, Login};
use crate::kit::metrics::{
    self, Basic, Counter, Requests, Times, line, write_family, write_one, write_requests,
};
use crate::kit::services::Service as _;

/// The classes by which requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Register,
    Login,
    Refresh,
    User,
    Profile,
    Health,
    Metrics,
    Unknown,
}

const ENDPOINTS: [&str; 8] =
    ["register", "login", "refresh", "user", "profile", "health", "metrics", "unknown"];

/// All status codes that the service sends.
const CODES: [u16; 11] = [200, 307, 400, 401, 403, 404, 405, 409, 500, 503, 504];

#[derive(Default)]
pub struct Metrics {
    basic: Basic<Service>,
    requests: [Requests<{ CODES.len() }>; ENDPOINTS.len()],
    logins: [Counter; LOGINS.len()],
    hashing: Times,
    queued: AtomicUsize,
}

impl Metrics {
    /// Counts a request, and the time from reading its head until its response is ready.
    pub fn answered(&self, endpoint: Endpoint, code: u16, took: Duration) {
        self.requests[endpoint as usize].answered(&CODES, code, took);
    }

    /// Counts a call of a service.
    pub fn called(&self, service: Service) {
        self.basic.called(service);
    }

    pub fn logged_in(&self, outcome: Login) {
        self.logins[outcome as usize].add(1);
    }

    /// Counts the time that a thread needed for one password.
    pub fn hashed(&self, took: Duration) {
        self.hashing.add(took);
    }

    /// Notes the number of requests that hash or wait for it.
    pub fn queued(&self, requests: usize) {
        self.queued.store(requests, Ordering::Relaxed);
    }
}

impl metrics::Metrics for Metrics {
    type Service = Service;

    fn basic(&self) -> &Basic<Service> {
        &self.basic
    }

    fn write_own(&self, out: &mut String) {
        write_requests(out, Service::APPLICATION, &ENDPOINTS, &CODES, &self.requests);
        write_family(out, "users_logins_total", "outcome", &LOGINS, &self.logins);
        let name = "users_hashing_duration_seconds";
        line(out, format_args!("# TYPE {name} histogram"));
        self.hashing.write(out, name, "algorithm=\"bcrypt\"");
        write_one(out, ("users_hashing_queue", "gauge"), self.queued.load(Ordering::Relaxed));
    }
}
