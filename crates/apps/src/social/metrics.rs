//! The metrics of the application beside those that every process has.

use std::time::Duration;

use super::Service;
use super::redis::lag::Lags;
use crate::kit::hashing::{LOGINS, Login};
use crate::kit::memcached::{LOOKUPS, Lookup};
use crate::kit::metrics::{self, Basic, Counter, Requests, write_family, write_requests};
use crate::kit::services::Service as _;

/// The classes by which requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    HomeTimeline,
    UserTimeline,
    Compose,
    Register,
    Login,
    /// To follow, to unfollow, and the lists of both.
    Follow,
    /// Pages and what they load, and OPTIONS.
    Page,
    /// Health, metrics, counts, snapshots and resets.
    Admin,
    Unknown,
}

const ENDPOINTS: [&str; 9] = [
    "home_timeline",
    "user_timeline",
    "compose",
    "register",
    "login",
    "follow",
    "page",
    "admin",
    "unknown",
];

/// All status codes that the front sends.
const CODES: [u16; 9] = [200, 204, 302, 400, 401, 404, 405, 500, 503];

/// The kinds of pages of a timeline: with fewer posts than asked for only at its end.
const PAGES: [&str; 3] = ["empty", "part", "full"];

#[derive(Default)]
pub struct Metrics {
    basic: Basic<Service>,
    requests: [Requests<{ CODES.len() }>; ENDPOINTS.len()],
    home_pages: [Counter; PAGES.len()],
    user_pages: [Counter; PAGES.len()],
    logins: [Counter; LOGINS.len()],
    lookups: [Counter; LOOKUPS.len()],
    /// Those of the replicas of Redis, if timelines are there.
    pub lags: Lags,
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

    /// Counts a page of a timeline.
    pub fn read(&self, endpoint: Endpoint, posts: u32, asked: i64) {
        let pages = match endpoint {
            Endpoint::HomeTimeline => &self.home_pages,
            _ => &self.user_pages,
        };
        let kind = match posts {
            0 => 0,
            some => 1 + usize::from(asked <= some.into()),
        };
        pages[kind].add(1);
    }

    pub fn looked_up(&self, outcome: Lookup) {
        self.lookups[outcome as usize].add(1);
    }

    pub fn logged_in(&self, outcome: Login) {
        self.logins[outcome as usize].add(1);
    }
}

impl metrics::Metrics for Metrics {
    type Service = Service;

    fn basic(&self) -> &Basic<Service> {
        &self.basic
    }

    fn write_own(&self, out: &mut String) {
        write_requests(out, Service::APPLICATION, &ENDPOINTS, &CODES, &self.requests);
        write_family(out, "social_home_pages_total", "posts", &PAGES, &self.home_pages);
        write_family(out, "social_user_pages_total", "posts", &PAGES, &self.user_pages);
        write_family(out, "social_logins_total", "outcome", &LOGINS, &self.logins);
        write_family(out, "social_cache_lookups_total", "outcome", &LOOKUPS, &self.lookups);
        self.lags.write(out);
    }
}
