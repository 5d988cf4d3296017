//! Is the machine calm? A pure rule over short spins on the CPUs that an experiment uses.
//!
//! An idle virtual CPU shows no steal: only one that wants to run can be stolen from. So a thread on
//! each CPU runs a little and notes for how long it was kept from running. The machine is calm when
//! for two seconds no CPU lost as much as would make a trial *disturbed*.
//!
//! Steal is lost on every CPU. A gap is lost only where the system under test does not run: an idle
//! system of forty processes takes 7 % of such spins by its own timers (measured with the hotel), and
//! a gap does not tell who had the CPU.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use measure::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// For how long a machine must have been undisturbed to be called calm.
pub const CALM_FOR: Nanos = Nanos::from_secs(2);
/// The share of a CPU that may be lost: that of the generator's gate *disturbed*.
pub const LOSS_ALLOWED: f64 = 0.01;
/// Shorter gaps are interrupts and the kernel's own work, which every load has.
pub const GAP_UNNOTICED: Nanos = Nanos::from_micros(100);
/// How long a spin is: a scheduler that has others to run lets nobody run for much longer.
pub const SPIN: Nanos = Nanos::from_millis(20);
/// How often each CPU is spun on. Two seconds of it meet every phase of a quota's period (100 ms).
pub const EVERY: Nanos = Nanos::from_millis(93);
/// Less spinning than half of what fits into the two seconds proves nothing.
const SPUN_ENOUGH: Nanos = Nanos::from_millis(200);

/// A CPU that is watched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Watched {
    pub cpu: u32,
    /// Whether the system under test may run on it: then gaps are not counted.
    pub runs_system: bool,
}

/// One short spin: a thread on this CPU that did nothing but read the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spin {
    pub cpu: u32,
    pub begun: Instant,
    pub ended: Instant,
    /// The time between two readings of the clock, summed where something else ran meanwhile: gaps
    /// of at least `GAP_UNNOTICED`.
    pub lost: Nanos,
    pub longest_gap: Nanos,
    /// What the kernel counted as stolen from this CPU since the spin before.
    pub stolen: Nanos,
}

/// What a wait for a calm machine came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Calm {
    pub is_calm: bool,
    pub waited: Nanos,
    /// The CPU that lost the most in the last two seconds of the wait. Absent where there is no CPU
    /// to watch.
    pub worst: Option<Loss>,
}

/// What one CPU lost in the last two seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    pub cpu: u32,
    /// The share of the spins in which something else ran. Absent where the system under test may
    /// have been what ran.
    pub gaps: Option<f64>,
    /// The share of the two seconds that the kernel counted as stolen.
    pub stolen: f64,
    pub longest_gap: Nanos,
}

/// `calm after 2.10 s`; else with the CPU that was not.
impl fmt::Display for Calm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waited = self.waited;
        match (self.is_calm, self.worst) {
            (true, _) => write!(f, "calm after {waited}"),
            (false, None) => write!(f, "not calm after {waited}"),
            (false, Some(loss)) => write!(f, "not calm after {waited}: {loss}"),
        }
    }
}

/// `CPU 1 lost 12.0 % to gaps (up to 8.00 ms) and 3.0 % to steal, bound 1 %`; without the gaps where
/// they are not counted.
impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { cpu, gaps, stolen, longest_gap } = self;
        write!(f, "CPU {cpu} lost ")?;
        if let Some(gaps) = gaps {
            write!(f, "{:.1} % to gaps (up to {longest_gap}) and ", 100.0 * gaps)?;
        }
        write!(f, "{:.1} % to steal, bound {} %", 100.0 * stolen, 100.0 * LOSS_ALLOWED)
    }
}

impl Loss {
    fn is_allowed(&self) -> bool {
        self.share() < LOSS_ALLOWED
    }

    fn share(&self) -> f64 {
        self.gaps.unwrap_or_default().max(self.stolen)
    }
}

/// The spins of the last two seconds on each CPU that is watched.
#[derive(Clone, Debug)]
pub struct Watch {
    now: Instant,
    cpus: BTreeMap<u32, Spins>,
}

#[derive(Clone, Debug)]
struct Spins {
    watched: Watched,
    /// When the first of all began.
    first: Option<Instant>,
    /// Those that ended in the last two seconds.
    recent: VecDeque<Spin>,
}

impl Watch {
    pub fn of(watched: impl IntoIterator<Item = Watched>) -> Watch {
        let spins = |watched| Spins { watched, first: None, recent: VecDeque::new() };
        let cpus = watched.into_iter().map(|watched| (watched.cpu, spins(watched))).collect();
        Watch { now: Instant::default(), cpus }
    }

    /// Records a spin on one of the CPUs. Those of one CPU come in their order.
    pub fn add(&mut self, spin: Spin) {
        let spins = self.cpus.get_mut(&spin.cpu).expect("only watched CPUs are spun on");
        spins.first.get_or_insert(spin.begun);
        spins.recent.push_back(spin);
        self.now = self.now.max(spin.ended);
        for spins in self.cpus.values_mut() {
            spins.recent.retain(|spin| self.now < spin.ended + CALM_FOR);
        }
    }

    /// Whether every CPU was undisturbed for two seconds. One that was hardly spun on was not: its
    /// thread did not get to run.
    pub fn is_calm(&self) -> bool {
        self.cpus.values().all(|spins| {
            let long_enough = spins.first.is_some_and(|first| first + CALM_FOR <= self.now);
            long_enough && spins.spun_enough() && spins.loss().is_allowed()
        })
    }

    /// What the CPU lost that lost the most.
    pub fn worst(&self) -> Option<Loss> {
        let losses = self.cpus.values().map(Spins::loss);
        losses.max_by(|a, b| a.share().total_cmp(&b.share()))
    }
}

impl Spins {
    fn spun(&self) -> Nanos {
        self.recent.iter().map(|spin| spin.ended - spin.begun).sum()
    }

    /// A CPU on which the thread hardly ran was busy with something else; with what, the gaps do
    /// not tell where the system runs.
    fn spun_enough(&self) -> bool {
        self.watched.runs_system || SPUN_ENOUGH <= self.spun()
    }

    fn loss(&self) -> Loss {
        let lost: Nanos = self.recent.iter().map(|spin| spin.lost).sum();
        let stolen: Nanos = self.recent.iter().map(|spin| spin.stolen).sum();
        let spun = self.spun();
        let gaps = match spun {
            Nanos::ZERO => 1.0,
            _ => lost.as_secs_f64() / spun.as_secs_f64(),
        };
        Loss {
            cpu: self.watched.cpu,
            gaps: (!self.watched.runs_system).then_some(gaps),
            stolen: stolen.as_secs_f64() / CALM_FOR.as_secs_f64(),
            longest_gap: self.recent.iter().map(|spin| spin.longest_gap).max().unwrap_or_default(),
        }
    }
}
