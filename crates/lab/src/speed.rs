//! The speed of a CPU, from short fixed pieces of work that are timed on it while a trial measures.
//!
//! A virtual CPU can be slowed by a neighbour without any steal: on the other thread of the same
//! core, in the shared cache, or by the clock frequency. Only work that needs what the system needs
//! shows it.

use std::collections::BTreeMap;

use measure::estimate::{mean, median};
use measure::{Instant, Nanos};
use results::components::{Series, Speed};

use measure::quantity::rounded;

#[cfg(test)]
mod tests;

/// The interval between two rounds on a CPU. A round takes some 85 µs with all that it costs, so this
/// is less than 0.1 % of it. It is no multiple of the kernel's ticks, so that rounds fall into all their
/// phases.
pub const EVERY: Nanos = Nanos::from_millis(97);

/// A short fixed piece of work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Work {
    /// 64 bytes sent and received over a TCP connection to itself.
    Loopback,
    /// Reads each cache line of 256 KiB.
    Sweep,
    /// Ten system calls that do next to nothing.
    SystemCalls,
    /// Eight independent chains of integer operations: they fill a core that runs one thread, and
    /// share it with the core's other thread.
    Integers,
}

impl Work {
    pub const ALL: [Work; 4] = [Work::Loopback, Work::Sweep, Work::SystemCalls, Work::Integers];

    /// The name in the results.
    pub fn name(self) -> &'static str {
        match self {
            Work::Loopback => "loopback",
            Work::Sweep => "sweep",
            Work::SystemCalls => "system_calls",
            Work::Integers => "integers",
        }
    }

    /// The number of times that it is done in a round, of which the fastest counts: any may be
    /// interrupted. The message is sent once, so that it finds the caches as the system left them: a
    /// neighbour that takes the shared cache shows in nothing else.
    pub fn repetitions(self) -> usize {
        match self {
            Work::Loopback => 1,
            Work::SystemCalls => 2,
            // The first two still fill the cache.
            Work::Sweep => 3,
            Work::Integers => 5,
        }
    }
}

/// One round of all pieces of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The time when it began.
    pub at: Instant,
    /// The shortest time of each piece, in the order of `Work::ALL`; absent if it could not be done.
    pub took: [Option<Nanos>; Work::ALL.len()],
}

/// The rounds on one CPU during a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauged {
    pub cpu: u32,
    pub rounds: Vec<Round>,
    /// The CPU time that the measurement itself used.
    pub used: Nanos,
    /// The time that it lasted.
    pub lasted: Nanos,
}

/// Returns the median time of each piece of work in each second. A median, since a round that was
/// interrupted may take a thousand times as long.
pub(crate) fn by_second(gauged: &Gauged, seconds: &[(Instant, Instant)]) -> Speed {
    let of_work = |(index, work): (usize, Work)| {
        let median_of = |&(from, to): &(Instant, Instant)| {
            let within = |round: &&Round| from <= round.at && round.at < to;
            let rounds = gauged.rounds.iter().filter(within);
            let times: Vec<f64> =
                rounds.filter_map(|round| round.took[index]).map(|time| time.0 as f64).collect();
            median(&times)
        };
        let series: Series<f64> = seconds.iter().map(median_of).collect();
        let is_known = series.iter().any(Option::is_some);
        is_known.then(|| (work.name().to_owned(), series))
    };
    let cpu_share = match gauged.lasted {
        Nanos::ZERO => 0.0,
        lasted => gauged.used.as_secs_f64() / lasted.as_secs_f64(),
    };
    Speed {
        cpu_share: rounded(cpu_share),
        work_ns: (0..).zip(Work::ALL).filter_map(of_work).collect(),
    }
}

/// Returns the mean time of each piece of work over the seconds and the CPUs of a trial: geometric,
/// since speeds are ratios.
pub(crate) fn over_all(speeds: &BTreeMap<u32, Speed>) -> BTreeMap<String, f64> {
    let mean_of = |work: Work| {
        let series = speeds.values().filter_map(|speed| speed.work_ns.get(work.name()));
        let logs: Vec<f64> = series.flatten().flatten().map(|ns| ns.ln()).collect();
        (!logs.is_empty()).then(|| (work.name().to_owned(), mean(&logs).exp().round()))
    };
    Work::ALL.into_iter().filter_map(mean_of).collect()
}
