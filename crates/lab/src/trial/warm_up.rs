//! The warm-up until steady: a load of its own at the rate of the trial, before the measured one.

use measure::{Nanos, steady};
use results::{Load, Tick};

#[cfg(test)]
mod tests;

/// The time that each sample covers: the fewest that show a steady state take ten seconds.
pub const INTERVAL: Nanos = Nanos::from_millis(500);

/// The warm-up of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmedUp {
    pub length: Nanos,
    pub is_steady: bool,
}

/// The signals of a load, in logarithms: its completed rate, its p50 and its p99. They grow with the
/// load, which has an end.
#[derive(Debug, Default)]
pub struct Signals([Vec<f64>; 3]);

impl Signals {
    /// Returns the signals of a measurement, without a shorter interval at its end.
    pub fn of(load: &Load) -> Signals {
        let mut signals = Signals::default();
        let whole = load.series.first().map_or(0.0, |first| first.length_s);
        for interval in load.series.iter().filter(|interval| interval.length_s == whole) {
            let per_s = interval.completed as f64 / interval.length_s;
            signals.push(per_s, interval.p50_ns, interval.p99_ns);
        }
        signals
    }

    pub fn take(&mut self, tick: &Tick) {
        self.push(tick.completed_per_s.unwrap_or_default(), tick.last.p50_ns, tick.last.p99_ns);
    }

    fn push(&mut self, per_s: f64, p50_ns: Option<u64>, p99_ns: Option<u64>) {
        let time = |ns: Option<u64>| ns.unwrap_or_default() as f64;
        for (signal, value) in self.0.iter_mut().zip([per_s, time(p50_ns), time(p99_ns)]) {
            // A second without a response has no logarithm.
            signal.push(value.max(1.0).ln());
        }
    }

    /// Returns true if every signal is steady by now.
    pub fn are_steady(&self) -> bool {
        self.0.iter().all(|signal| steady::is_steady(signal))
    }

    /// Returns the names of those that rise or fall.
    pub fn trending(&self) -> Vec<&'static str> {
        let named = ["completed rate", "p50", "p99"].into_iter().zip(&self.0);
        named.filter(|(_, signal)| steady::has_trend(signal)).map(|(name, _)| name).collect()
    }
}
