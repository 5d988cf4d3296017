//! The statistics of one script thread during a run: latencies, and samples of its rate.
//!
//! The driver calls `record` for each answer or batch, and `turn` after each turn of the loop and
//! once more at the end of the run.

use measure::{Instant, Nanos};

use super::sampler::{INTERVAL, Idle, Sampler};
use super::{Hdr, Table};

#[cfg(test)]
mod tests;

/// The largest rate in the pages of a table: ten million a second.
const FASTEST: u64 = 10_000_000;

/// A script thread of wrk.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The service times in µs.
    pub latency: Table,
    /// The rates in requests/s.
    pub rates: Table,
    sampler: Sampler,
}

impl Counted {
    pub fn new(start: Instant, timeout: Nanos) -> Counted {
        Counted {
            latency: Table::new(micros(timeout)),
            rates: Table::new(FASTEST),
            sampler: Sampler::new(start, INTERVAL, Idle::Joined),
        }
    }

    /// Records an answered batch (without pipelining: an answered request).
    pub fn record(&mut self, service: Nanos) {
        self.latency.record(micros(service));
    }

    pub fn turn(&mut self, now: Instant, answers: u64) {
        self.sampler.turn(now, answers, |rate| self.rates.record(rate));
    }
}

/// A script thread of wrk2 or of DeathStarBench's fork. Long runs begin with a calibration: its
/// latencies are discarded, and their 90th percentile determines how often rates are sampled.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// The latencies as the original defines them, in µs.
    pub latency: Hdr,
    /// The service times in µs, if `-U` is given.
    pub uncorrected: Option<Hdr>,
    /// The rates in requests/s.
    pub rates: Table,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    CalibratingUntil(Instant),
    Sampling(Sampler),
}

/// The result of a calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// The mean of the latencies until then, in whole µs; zero if there were none.
    pub mean_us: u64,
    /// Twice their 90th percentile, at least 10 ms, in whole milliseconds.
    pub interval_ms: u64,
}

/// The time for which wrk2 calibrates a thread with this many connections.
pub fn wrk2_calibration(connections: u64) -> Nanos {
    Nanos::from_secs(10) + Nanos::from_millis(5) * connections
}

/// The time for which DeathStarBench's fork calibrates a thread with this many connections.
pub fn dsb_calibration(connections: u64) -> Nanos {
    Nanos::from_secs(10) + Nanos::from_millis(1) * connections
}

impl Calibrated {
    /// Begins a run. In the originals a run that ends before its calibration samples no rate, and
    /// prints `-nan`; here it has no calibration, and is sampled as wrk's are.
    pub fn new(start: Instant, run: Nanos, calibration: Nanos) -> Calibrated {
        let phase = match calibration < run {
            true => Phase::CalibratingUntil(start + calibration),
            false => Phase::Sampling(Sampler::new(start, INTERVAL, Idle::Zero)),
        };
        Calibrated { latency: Hdr::new(), uncorrected: None, rates: Table::new(FASTEST), phase }
    }

    pub fn with_uncorrected(self) -> Calibrated {
        Calibrated { uncorrected: Some(Hdr::new()), ..self }
    }

    pub fn record(&mut self, latency: Nanos, service: Nanos) {
        self.latency.record(micros(latency));
        if let Some(uncorrected) = &mut self.uncorrected {
            uncorrected.record(micros(service));
        }
    }

    /// Records a turn; the turn that ends the calibration returns its result.
    pub fn turn(&mut self, now: Instant, answers: u64) -> Option<Calibration> {
        match &mut self.phase {
            Phase::Sampling(sampler) => {
                sampler.turn(now, answers, |rate| self.rates.record(rate));
                None
            }
            Phase::CalibratingUntil(end) if now < *end => None,
            Phase::CalibratingUntil(_) => Some(self.calibrate(now)),
        }
    }

    fn calibrate(&mut self, now: Instant) -> Calibration {
        let p90_ms = self.latency.percentile(90.0) as f64 / 1000.0;
        let interval_ms = (p90_ms * 2.0).max(10.0) as u64;
        let mean_us = self.latency.mean() as u64;
        self.latency.clear();
        self.uncorrected.iter_mut().for_each(Hdr::clear);
        let interval = Nanos::from_millis(interval_ms);
        self.phase = Phase::Sampling(Sampler::new(now, interval, Idle::Zero));
        Calibration { mean_us, interval_ms }
    }
}

/// DeathStarBench's `-p`: the 99th percentile of each stretch of a fixed number of answers.
#[derive(Clone, Debug)]
pub struct Stretches {
    answers: u64,
    latency: Hdr,
}

impl Stretches {
    /// Creates stretches of a tenth of a second, at the thread's share of the rate; `None` if that
    /// is less than one answer, since no stretch would ever end.
    pub fn new(rate: f64, threads: u64) -> Option<Stretches> {
        let answers = (rate / threads as f64).floor() as u64 / 10;
        (0 < answers).then(|| Stretches { answers, latency: Hdr::new() })
    }

    /// Records an answer. The answer that completes a stretch returns its percentile in µs.
    pub fn record(&mut self, latency: Nanos) -> Option<u64> {
        self.latency.record(micros(latency));
        (self.latency.count() == self.answers).then(|| {
            let percentile = self.latency.percentile(99.0);
            self.latency.clear();
            percentile
        })
    }
}

/// Whole microseconds, rounded down as the originals' clocks do.
fn micros(length: Nanos) -> u64 {
    length.0 / 1000
}
