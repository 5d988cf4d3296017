//! The server's log: statistics always, and a line for each request on demand.

use std::fmt;
use std::io::{self, Write};

use ::measure::{Histogram, Instant, Nanos, Quantile, Rate};

use crate::cell::guard;

/// The statistics of the server.
#[derive(Debug, Default)]
pub struct Log {
    /// The time from a request's arrival until its response was handed to the kernel.
    pub took: Histogram,
    pub requests: u64,
    /// Requests with a number in their path (`/17`) that is smaller than that of a request that
    /// arrived earlier. Requests read in the same iteration count as simultaneous, unless the
    /// kernel timestamps them.
    pub out_of_order: u64,
    /// The time from the latest arrival so far to the next one; 0 if that is not later.
    pub gaps: Histogram,
    /// Connections that were ended because a bound was reached.
    pub refused: u64,
    /// A line for each request, if requested.
    pub record: Option<Record>,
    pub(super) schedule: Option<Schedule>,
    pub(super) first_arrival: Option<Instant>,
    pub(super) last_arrival: Option<Instant>,
    /// The highest number so far, and when it arrived.
    pub(super) highest: Option<(u64, Instant)>,
}

/// The intended arrivals of numbered requests: each one gap after the one before.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) rate: Rate,
    /// The delay of each arrival relative to its number of gaps after the clock's origin, in ns.
    pub(super) delays: Vec<i64>,
}

/// The maximum number of logged delays; the number of requests covered is printed with them.
const MOST_SCHEDULED: usize = 1 << 20;

/// The requests themselves, in memory until the end: the server never waits for the disk.
///
/// At most [`Record::MOST_REQUESTS`] with at most [`Record::MOST_BYTES`] of targets and bytes, and
/// [`Record::MOST_BYTES_OF_ONE`] of one; the requests beyond are counted.
#[derive(Debug, Default)]
pub struct Record {
    /// True if the bytes of each request are kept.
    pub(super) with_bytes: bool,
    requests: Vec<Arrived>,
    bytes: usize,
    missed: u64,
}

/// A request that has arrived.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub(super) at: Instant,
    /// The number of its connection; connections are numbered from 0 in the order of their
    /// acceptance.
    pub(super) connection: u64,
    pub(super) target: String,
    /// Its bytes, from the request line to the end of the body.
    pub(super) bytes: Vec<u8>,
}

impl Record {
    pub const MOST_REQUESTS: usize = 1 << 20;
    pub const MOST_BYTES: usize = 256 << 20;
    pub const MOST_BYTES_OF_ONE: usize = 1 << 20;

    /// Creates an empty record; `with_bytes` also keeps the bytes of each request.
    pub fn new(with_bytes: bool) -> Record {
        Record { with_bytes, ..Record::default() }
    }

    pub(super) fn note(&mut self, seen: Arrived) {
        let size = seen.target.len() + seen.bytes.len();
        let fits = self.requests.len() < Record::MOST_REQUESTS
            && self.bytes + size <= Record::MOST_BYTES
            && size <= Record::MOST_BYTES_OF_ONE;
        if fits {
            self.bytes += size;
            self.requests.push(seen);
        } else {
            self.missed += 1;
        }
    }

    /// Writes a line for each request in the order of arrival: `arrival_ns target connection`, and
    /// with `with_bytes` the request's bytes with Rust's escapes, separated by tabs. Times are
    /// those of CLOCK_MONOTONIC.
    pub fn write(&mut self, to: &mut impl Write) -> io::Result<()> {
        // A request with a body is completed later than it arrived.
        self.requests.sort_by_key(|seen| seen.at);
        for Arrived { at, connection, target, bytes } in &self.requests {
            write!(to, "{}\t{}{target}\t{connection}", at.0, guard(target))?;
            if self.with_bytes {
                let text = bytes.escape_ascii().to_string();
                write!(to, "\t{}{text}", guard(&text))?;
            }
            writeln!(to)?;
        }
        to.flush()
    }
}

impl fmt::Display for Log {
    /// Prints one line of JSON, to be compared with a load generator's results.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = |quantile| self.took.quantile(quantile).unwrap_or_default().0;
        write!(
            f,
            r#"{{"requests":{},"out_of_order":{},"p50_ns":{},"p90_ns":{},"p99_ns":{},"max_ns":{},"gap_mean_ns":{}"#,
            self.requests,
            self.out_of_order,
            took(Quantile::P50),
            took(Quantile::P90),
            took(Quantile::P99),
            self.took.max().unwrap_or_default().0,
            self.gaps.mean().unwrap_or_default().0,
        )?;
        if 0 < self.refused {
            write!(f, r#","refused_connections":{}"#, self.refused)?;
        }
        if let Some(lateness) = self.lateness() {
            let p99 = lateness.quantile(Quantile::P99).unwrap_or_default().0;
            write!(f, r#","late_count":{},"late_p99_ns":{p99}"#, lateness.count())?;
        }
        if let Some(Record { requests, missed, .. }) = &self.record {
            write!(f, r#","recorded":{},"unrecorded":{missed}"#, requests.len())?;
        }
        write!(f, "}}")
    }
}

impl Log {
    pub(super) fn arrived(&mut self, at: Instant, target: &str) {
        self.requests += 1;
        self.first_arrival.get_or_insert(at);
        if let Some(last) = self.last_arrival {
            self.gaps.record(at.saturating_since(last));
        }
        self.last_arrival = self.last_arrival.max(Some(at));
        let number = target.rsplit('/').next().and_then(|number| number.parse::<u64>().ok());
        if let Some(number) = number {
            // The order of reading in an iteration depends on the kernel's list of ready sockets.
            let behind = |(highest, then)| number < highest && then < at;
            self.out_of_order += u64::from(self.highest.is_some_and(behind));
            self.highest = self.highest.max(Some((number, at)));
            if let Some(schedule) = &mut self.schedule {
                schedule.arrived(at, number);
            }
        }
    }

    /// Returns the lateness of numbered requests relative to their schedule, if there is one.
    ///
    /// The start of the schedule is not known, so lateness counts from the most punctual request.
    /// Constant delays of the network and of this server's wake-ups are not part of it.
    pub fn lateness(&self) -> Option<Histogram> {
        let delays = &self.schedule.as_ref()?.delays;
        let least = delays.iter().min().copied().unwrap_or_default();
        let mut lateness = Histogram::new();
        delays.iter().for_each(|delay| lateness.record(Nanos(delay.abs_diff(least))));
        Some(lateness)
    }
}

impl Schedule {
    fn arrived(&mut self, at: Instant, number: u64) {
        if self.delays.len() < MOST_SCHEDULED {
            let intended = (number as f64 * self.rate.gap_ns()).round() as i64;
            self.delays.push(at.0 as i64 - intended);
        }
    }
}
