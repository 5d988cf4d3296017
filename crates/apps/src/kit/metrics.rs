//! Metrics in Prometheus' text format: those that every process has, and the parts of which an
//! application makes its own. Counting is a few relaxed additions; text is formatted only when it
//! is requested.

use std::fmt::{self, Write};
use std::fs;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tonic::Code;

use super::services::Service;

#[cfg(test)]
mod tests;

/// The metrics of a process: its application's own, and those that every process has.
pub trait Metrics: Default + Send + Sync + 'static {
    type Service: Service;

    /// Returns those that every process has.
    fn basic(&self) -> &Basic<Self::Service>;

    /// Writes the application's own.
    fn write_own(&self, out: &mut String);

    /// Returns all metrics in Prometheus' text format.
    fn text(&self) -> String {
        let mut out = String::with_capacity(16 << 10);
        self.write_own(&mut out);
        self.basic().write(&mut out);
        out
    }
}

/// The metrics that every process has. Their names begin with the application's name.
pub struct Basic<S> {
    calls: Box<[Counter]>,
    answered: Box<[Answered]>,
    refused_connections: Counter,
    of: PhantomData<S>,
}

/// Remote calls that this process answered.
#[derive(Default)]
struct Answered {
    by_code: [Counter; GRPC_CODES],
    times: Times,
}

/// The codes of gRPC are 0 to 16.
const GRPC_CODES: usize = 17;

impl<S: Service> Basic<S> {
    /// Counts a call of a service, remote or local.
    pub fn called(&self, service: S) {
        self.calls[service.place()].add(1);
    }

    /// Counts a remote call that ended, and the time from reading its head until its reply was
    /// handed over.
    pub fn ended(&self, service: S, code: Code, took: Duration) {
        let calls = &self.answered[service.place()];
        calls.by_code[code as usize].add(1);
        calls.times.add(took);
    }

    pub fn refused_connection(&self) {
        self.refused_connections.add(1);
    }

    fn write(&self, out: &mut String) {
        let application = S::APPLICATION;
        let calls = format!("{application}_service_calls_total");
        write_family(out, &calls, "service", S::NAMES, &self.calls);
        self.write_answered(out);
        let refused = format!("{application}_refused_connections_total");
        write_one(out, (&refused, "counter"), self.refused_connections.get());
        if let Some(seconds) = cpu_seconds() {
            write_one(out, ("process_cpu_seconds_total", "counter"), seconds);
        }
    }

    fn write_answered(&self, out: &mut String) {
        let answered = || S::NAMES.iter().zip(self.answered.iter());
        let answered = || answered().filter(|(_, calls)| calls.times.count() > 0);
        let name = format!("{}_calls_answered_total", S::APPLICATION);
        line(out, format_args!("# TYPE {name} counter"));
        for (service, calls) in answered() {
            for (code, counter) in calls.by_code.iter().enumerate() {
                let count = counter.get();
                if count > 0 || code == Code::Ok as usize {
                    let code = Code::from_i32(code as i32);
                    let labels = format_args!("service=\"{service}\",code=\"{code:?}\"");
                    line(out, format_args!("{name}{{{labels}}} {count}"));
                }
            }
        }
        let name = format!("{}_call_duration_seconds", S::APPLICATION);
        line(out, format_args!("# TYPE {name} histogram"));
        for (service, calls) in answered() {
            calls.times.write(out, &name, &format!("service=\"{service}\""));
        }
    }
}

impl<S: Service> Default for Basic<S> {
    fn default() -> Self {
        Basic {
            calls: S::NAMES.iter().map(|_| Counter::default()).collect(),
            answered: S::NAMES.iter().map(|_| Answered::default()).collect(),
            refused_connections: Counter::default(),
            of: PhantomData,
        }
    }
}

/// An application without metrics of its own.
impl<S: Service> Metrics for Basic<S> {
    type Service = S;

    fn basic(&self) -> &Basic<S> {
        self
    }

    fn write_own(&self, _: &mut String) {}
}

#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The number of time buckets: they end at 1 µs, 2 µs, 4 µs … 0.5 s, and one is unbounded.
const BUCKETS: usize = 21;

/// A histogram of times.
#[derive(Default)]
pub struct Times {
    buckets: [Counter; BUCKETS],
    nanoseconds: Counter,
}

impl Times {
    pub fn add(&self, took: Duration) {
        let nanoseconds = took.as_nanos() as u64;
        self.buckets[bucket(nanoseconds)].add(1);
        self.nanoseconds.add(nanoseconds);
    }

    fn count(&self) -> u64 {
        self.buckets.iter().map(Counter::get).sum()
    }

    /// Writes its lines; their type is the caller's to write.
    pub fn write(&self, out: &mut String, name: &str, label: &str) {
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

/// The requests of one class that an application answered, by status code.
pub struct Requests<const CODES: usize> {
    by_code: [Counter; CODES],
    times: Times,
}

impl<const CODES: usize> Default for Requests<CODES> {
    fn default() -> Self {
        let by_code = std::array::from_fn(|_| Counter::default());
        Requests { by_code, times: Times::default() }
    }
}

impl<const CODES: usize> Requests<CODES> {
    /// Counts a request, and the time from reading its head until its response is ready. `codes` are
    /// all that the application sends.
    pub fn answered(&self, codes: &[u16; CODES], code: u16, took: Duration) {
        let code = codes.iter().position(|known| *known == code);
        self.by_code[code.expect("the application sends no other code")].add(1);
        self.times.add(took);
    }
}

/// Writes the requests of all classes: how many there were of each code, and their times.
pub fn write_requests<const CODES: usize>(
    out: &mut String,
    application: &str,
    endpoints: &[&str],
    codes: &[u16; CODES],
    requests: &[Requests<CODES>],
) {
    let name = format!("{application}_requests_total");
    line(out, format_args!("# TYPE {name} counter"));
    for (endpoint, requests) in endpoints.iter().zip(requests) {
        for (code, counter) in codes.iter().zip(&requests.by_code) {
            // Codes that an endpoint never sent are left out, except success.
            let count = counter.get();
            if count > 0 || *code == 200 {
                let labels = format_args!("endpoint=\"{endpoint}\",code=\"{code}\"");
                line(out, format_args!("{name}{{{labels}}} {count}"));
            }
        }
    }
    let name = format!("{application}_request_duration_seconds");
    line(out, format_args!("# TYPE {name} histogram"));
    for (endpoint, requests) in endpoints.iter().zip(requests) {
        requests.times.write(out, &name, &format!("endpoint=\"{endpoint}\""));
    }
}

/// Writes counters that differ in the value of one label.
pub fn write_family(
    out: &mut String,
    name: &str,
    label: &str,
    values: &[&str],
    counters: &[Counter],
) {
    let counts = counters.iter().map(Counter::get);
    write_each(out, (name, "counter"), label, values.iter().zip(counts));
}

/// Writes a metric with its type, by the value of one label.
pub fn write_each(
    out: &mut String,
    (name, kind): (&str, &str),
    label: &str,
    figures: impl Iterator<Item = (impl fmt::Display, u64)>,
) {
    line(out, format_args!("# TYPE {name} {kind}"));
    for (value, figure) in figures {
        line(out, format_args!("{name}{{{label}=\"{value}\"}} {figure}"));
    }
}

/// Writes a metric without labels, with its type.
pub fn write_one(out: &mut String, (name, kind): (&str, &str), figure: impl fmt::Display) {
    line(out, format_args!("# TYPE {name} {kind}"));
    line(out, format_args!("{name} {figure}"));
}

pub fn line(out: &mut String, text: fmt::Arguments<'_>) {
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
