//! The metrics of the application, in Prometheus' text format. Counting is a few relaxed additions;
//! text is formatted only when it is requested.

use std::fmt::{self, Write};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tonic::Code;

/// The services, in the order of their ports in the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Search,
    Geo,
    Rate,
    Profile,
    Recommendation,
    User,
    Reservation,
    Review,
    Attractions,
    /// Not in the original.
    Store,
}

const SERVICES: [&str; 10] = [
    "search",
    "geo",
    "rate",
    "profile",
    "recommendation",
    "user",
    "reservation",
    "review",
    "attractions",
    "store",
];

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

/// The outcome of a cache lookup for a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Hit,
    Miss,
    /// The cache did not respond, or not in time: treated as a miss.
    Error,
}

const LOOKUPS: [&str; 3] = ["hit", "miss", "error"];

/// All status codes that the frontend sends.
const CODES: [u16; 6] = [200, 400, 404, 405, 500, 503];

/// The number of possible results: a search finds at most five hotels.
const HOTELS_FOUND: usize = 6;

/// The number of time buckets: they end at 1 µs, 2 µs, 4 µs … 0.5 s, and one is unbounded.
const BUCKETS: usize = 21;

#[derive(Default)]
struct Counter(AtomicU64);

impl Counter {
    fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A histogram of times.
#[derive(Default)]
struct Times {
    buckets: [Counter; BUCKETS],
    nanoseconds: Counter,
}

#[derive(Default)]
struct Requests {
    by_code: [Counter; CODES.len()],
    times: Times,
}

/// Remote calls that this process answered.
#[derive(Default)]
struct Calls {
    by_code: [Counter; GRPC_CODES],
    times: Times,
}

/// The codes of gRPC are 0 to 16.
const GRPC_CODES: usize = 17;

#[derive(Default)]
pub struct Metrics {
    requests: [Requests; ENDPOINTS.len()],
    calls: [Counter; SERVICES.len()],
    answered: [Calls; SERVICES.len()],
    searches: [Counter; HOTELS_FOUND],
    logins: [Counter; 2],
    reservations: [Counter; RESERVINGS.len()],
    lookups: [Counter; LOOKUPS.len()],
    refused_connections: Counter,
}

impl Metrics {
    /// Counts a request, and the time from reading its head until its response is ready.
    pub fn answered(&self, endpoint: Endpoint, code: u16, took: Duration) {
        let requests = &self.requests[endpoint as usize];
        let code = CODES.iter().position(|known| *known == code);
        requests.by_code[code.expect("the frontend sends no other code")].add(1);
        requests.times.add(took);
    }

    /// Counts a remote call that ended, and the time from reading its head until its reply was
    /// handed over.
    pub fn ended(&self, service: Service, code: Code, took: Duration) {
        let calls = &self.answered[service as usize];
        calls.by_code[code as usize].add(1);
        calls.times.add(took);
    }

    /// Counts a call of a service, remote or local.
    pub fn called(&self, service: Service) {
        self.calls[service as usize].add(1);
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

    pub fn refused_connection(&self) {
        self.refused_connections.add(1);
    }

    /// Returns all metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut out = String::with_capacity(16 << 10);
        self.write_requests(&mut out);
        self.write_times(&mut out);
        let found: [String; HOTELS_FOUND] = std::array::from_fn(|hotels| hotels.to_string());
        let found = found.each_ref().map(String::as_str);
        write_family(&mut out, "hotel_search_results_total", "hotels", &found, &self.searches);
        write_family(&mut out, "hotel_logins_total", "outcome", &["ok", "failed"], &self.logins);
        let reservations = &self.reservations;
        write_family(&mut out, "hotel_reservations_total", "outcome", &RESERVINGS, reservations);
        write_family(&mut out, "hotel_cache_lookups_total", "outcome", &LOOKUPS, &self.lookups);
        write_family(&mut out, "hotel_service_calls_total", "service", &SERVICES, &self.calls);
        let refused = self.refused_connections.get();
        self.write_calls(&mut out);
        line(&mut out, format_args!("# TYPE hotel_refused_connections_total counter"));
        line(&mut out, format_args!("hotel_refused_connections_total {refused}"));
        if let Some(seconds) = cpu_seconds() {
            line(&mut out, format_args!("# TYPE process_cpu_seconds_total counter"));
            line(&mut out, format_args!("process_cpu_seconds_total {seconds}"));
        }
        out
    }

    fn write_requests(&self, out: &mut String) {
        line(out, format_args!("# TYPE hotel_requests_total counter"));
        for (endpoint, requests) in ENDPOINTS.iter().zip(&self.requests) {
            for (code, counter) in CODES.iter().zip(&requests.by_code) {
                // Codes that an endpoint never sent are left out, except success.
                let count = counter.get();
                if count > 0 || *code == 200 {
                    let labels = format_args!("endpoint=\"{endpoint}\",code=\"{code}\"");
                    line(out, format_args!("hotel_requests_total{{{labels}}} {count}"));
                }
            }
        }
    }

    fn write_times(&self, out: &mut String) {
        let name = "hotel_request_duration_seconds";
        line(out, format_args!("# TYPE {name} histogram"));
        for (endpoint, requests) in ENDPOINTS.iter().zip(&self.requests) {
            requests.times.write(out, name, &format!("endpoint=\"{endpoint}\""));
        }
    }

    fn write_calls(&self, out: &mut String) {
        let name = "hotel_call_duration_seconds";
        let answered = || SERVICES.iter().zip(&self.answered);
        let answered = || answered().filter(|(_, calls)| calls.times.count() > 0);
        line(out, format_args!("# TYPE hotel_calls_answered_total counter"));
        for (service, calls) in answered() {
            for (code, counter) in calls.by_code.iter().enumerate() {
                let count = counter.get();
                if count > 0 || code == Code::Ok as usize {
                    let code = Code::from_i32(code as i32);
                    let labels = format_args!("service=\"{service}\",code=\"{code:?}\"");
                    line(out, format_args!("hotel_calls_answered_total{{{labels}}} {count}"));
                }
            }
        }
        line(out, format_args!("# TYPE {name} histogram"));
        for (service, calls) in answered() {
            calls.times.write(out, name, &format!("service=\"{service}\""));
        }
    }
}

impl Times {
    fn add(&self, took: Duration) {
        let nanoseconds = took.as_nanos() as u64;
        self.buckets[bucket(nanoseconds)].add(1);
        self.nanoseconds.add(nanoseconds);
    }

    fn count(&self) -> u64 {
        self.buckets.iter().map(Counter::get).sum()
    }

    fn write(&self, out: &mut String, name: &str, label: &str) {
        let mut count = 0;
        for (bucket, counter) in self.buckets.iter().enumerate() {
            count += counter.get();
            let end = end_of_bucket(bucket);
            line(out, format_args!("{name}_bucket{{{label},le=\"{end}\"}} {count}"));
        }
        let seconds = self.nanoseconds.get() as f64 / 1e9;
        line(out, format_args!("{name}_sum{{{label}}} {seconds}"));
        line(out, format_args!("{name}_count{{{label}}} {count}"));
    }
}

fn write_family(out: &mut String, name: &str, label: &str, values: &[&str], counters: &[Counter]) {
    line(out, format_args!("# TYPE {name} counter"));
    for (value, counter) in values.iter().zip(counters) {
        let count = counter.get();
        line(out, format_args!("{name}{{{label}=\"{value}\"}} {count}"));
    }
}

fn line(out: &mut String, text: fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("a string takes any text");
}

/// Returns the first bucket that ends at or after this time.
fn bucket(nanoseconds: u64) -> usize {
    let microseconds = nanoseconds.div_ceil(1000).max(1);
    (microseconds.next_power_of_two().trailing_zeros() as usize).min(BUCKETS - 1)
}

fn end_of_bucket(bucket: usize) -> String {
    match bucket {
        last if last == BUCKETS - 1 => "+Inf".into(),
        _ => (f64::from(1 << bucket) / 1e6).to_string(),
    }
}

/// Returns the CPU time of this process so far. The kernel counts it in hundredths of a second on
/// all our machines.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let mut ticks = after_name.split_whitespace().skip(11).map(str::parse::<u64>);
    Some((ticks.next()?.ok()? + ticks.next()?.ok()?) as f64 / 100.0)
}

#[cfg(test)]
mod tests;
