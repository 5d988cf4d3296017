//! The metrics of the application beside those that every process has.

use std::time::Duration;

use crate::kit::metrics::{self, Basic, Counter, write_one};
use crate::kit::services;

/// The application has no services that call each other.
#[derive(Clone, Copy, Debug)]
pub enum Service {}

impl services::Service for Service {
    const APPLICATION: &'static str = "neighbour";
    const NAMES: &'static [&'static str] = &[];

    fn place(self) -> usize {
        match self {}
    }
}

#[derive(Default)]
pub struct Metrics {
    basic: Basic<Service>,
    bursts: Counter,
    microseconds: Counter,
}

impl Metrics {
    /// Counts a burst that has ended.
    pub fn burst(&self, took: Duration) {
        self.bursts.add(1);
        self.microseconds.add(took.as_micros() as u64);
    }
}

impl metrics::Metrics for Metrics {
    type Service = Service;

    fn basic(&self) -> &Basic<Service> {
        &self.basic
    }

    fn write_own(&self, out: &mut String) {
        write_one(out, ("neighbour_bursts_total", "counter"), self.bursts.get());
        let seconds = self.microseconds.get() as f64 / 1e6;
        write_one(out, ("neighbour_burst_seconds_total", "counter"), seconds);
    }
}
