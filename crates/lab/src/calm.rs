//! The rule by which a machine is calm: a pure function of short spins on the CPUs of an
//! experiment.
//!
//! An idle virtual CPU shows no steal: time can be stolen only from a CPU with work to do. So a
//! thread on each CPU spins for a short time and measures how long it did not run. The machine is
//! calm when for a while no CPU lost as much as would make a trial *disturbed*: two seconds, and more
//! before each further repetition, since a machine that was calm for so long disturbed the trial again.
//!
//! Steal counts as lost on every CPU. A gap counts only where the system under test does not run:
//! an idle system of forty processes takes 7 % of such spins by its own timers (measured with the
//! hotel), and a gap does not show what used the CPU.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use measure::bounds::LOSS_ALLOWED;
use measure::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// The shortest time without disturbance after which a machine is called calm.
pub const CALM_FOR: Nanos = Nanos::from_secs(2);
/// The part of the longest wait for which the machine has to be calm.
const PART_OF_WAIT: u64 = 10;
/// Shorter gaps are interrupts and the kernel's own work, which every load has.
pub const GAP_UNNOTICED: Nanos = Nanos::from_micros(100);
/// The length of a spin: a scheduler with others to run lets no thread run for much longer.
pub const SPIN: Nanos = Nanos::from_millis(20);
/// The interval between spins on a CPU. In two seconds they cover every phase of a quota's period
/// (100 ms).
pub const EVERY: Nanos = Nanos::from_millis(93);
/// The least part of the time in which a thread spins, if it proves anything: about half of what fits in.
const SPUN_ENOUGH: u64 = 10;

/// Returns the time without disturbance after which a machine is called calm, if the wait for it may
/// take so long: the wait grows with each repetition of a trial.
pub fn quiet(within: Nanos) -> Nanos {
    Nanos(within.0 / PART_OF_WAIT).max(CALM_FOR)
}

/// A CPU that is watched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Watched {
    pub cpu: u32,
    /// True if the system under test may run on it: then gaps are not counted.
    pub runs_system: bool,
}

/// One short spin: a thread on this CPU that did nothing but read the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spin {
    pub cpu: u32,
    pub begun: Instant,
    pub ended: Instant,
    /// The sum of the gaps: times between two readings of the clock of at least `GAP_UNNOTICED`, in
    /// which something else ran.
    pub lost: Nanos,
    pub longest_gap: Nanos,
    /// The time that the kernel counted as stolen from this CPU since the previous spin.
    pub stolen: Nanos,
}

/// The result of a wait for a calm machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Calm {
    pub is_calm: bool,
    pub waited: Nanos,
    /// The time without disturbance that was asked for; zero if the place judges its calm in another way.
    pub quiet: Nanos,
    /// The CPU that lost the most in the last such time of the wait. Absent if no CPU is watched.
    pub worst: Option<Loss>,
    /// A machine that is lost, in words: `the node w2 does not answer`.
    pub lost: Option<String>,
}

/// The losses of one CPU in the time that has to be calm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    pub cpu: u32,
    /// The share of the spins in which something else ran. Absent if that may have been the system
    /// under test.
    pub gaps: Option<f64>,
    /// The share of that time that the kernel counted as stolen.
    pub stolen: f64,
    pub longest_gap: Nanos,
}

/// The result in words: `calm for 2.00 s, after 2.10 s`; if not calm, with the CPU that lost the most.
impl fmt::Display for Calm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waited = self.waited;
        match (self.is_calm, &self.lost, self.worst) {
            (true, ..) if self.quiet == Nanos::ZERO => write!(f, "calm after {waited}"),
            (true, ..) => write!(f, "calm for {}, after {waited}", self.quiet),
            (false, Some(lost), _) => write!(f, "not calm after {waited}: {lost}"),
            (false, None, Some(loss)) if loss.is_allowed() => {
                write!(f, "not calm for {} within {waited}", self.quiet)
            }
            (false, None, Some(loss)) => write!(f, "not calm after {waited}: {loss}"),
            (false, None, None) => write!(f, "not calm after {waited}"),
        }
    }
}

/// The loss in words: `CPU 1 lost 12.0 % to gaps (up to 8.00 ms) and 3.0 % to steal, bound 1 %`;
/// without the gaps if they are not counted.
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

/// The last spins on each CPU that is watched.
#[derive(Clone, Debug)]
pub struct Watch {
    now: Instant,
    /// The time that has to be calm, from which spins are kept.
    quiet: Nanos,
    cpus: BTreeMap<u32, Spins>,
}

#[derive(Clone, Debug)]
struct Spins {
    watched: Watched,
    /// The beginning of the first spin of all.
    first: Option<Instant>,
    /// The spins that ended in the time that has to be calm.
    recent: VecDeque<Spin>,
}

impl Watch {
    pub fn of(watched: impl IntoIterator<Item = Watched>, quiet: Nanos) -> Watch {
        let spins = |watched| Spins { watched, first: None, recent: VecDeque::new() };
        let cpus = watched.into_iter().map(|watched| (watched.cpu, spins(watched))).collect();
        Watch { now: Instant::default(), quiet, cpus }
    }

    /// Records a spin on one of the CPUs. The spins of one CPU must come in time order.
    pub fn add(&mut self, spin: Spin) {
        let spins = self.cpus.get_mut(&spin.cpu).expect("only watched CPUs are spun on");
        spins.first.get_or_insert(spin.begun);
        spins.recent.push_back(spin);
        self.now = self.now.max(spin.ended);
        for spins in self.cpus.values_mut() {
            spins.recent.retain(|spin| self.now < spin.ended + self.quiet);
        }
    }

    /// Returns true if every CPU was undisturbed for that time. A CPU with hardly any spins was
    /// disturbed: its thread did not run.
    pub fn is_calm(&self) -> bool {
        self.cpus.values().all(|spins| {
            let long_enough = spins.first.is_some_and(|first| first + self.quiet <= self.now);
            long_enough && spins.spun_enough(self.quiet) && spins.loss(self.quiet).is_allowed()
        })
    }

    /// Returns the loss of the CPU that lost the most.
    pub fn worst(&self) -> Option<Loss> {
        let losses = self.cpus.values().map(|spins| spins.loss(self.quiet));
        losses.max_by(|a, b| a.share().total_cmp(&b.share()))
    }
}

impl Spins {
    fn spun(&self) -> Nanos {
        self.recent.iter().map(|spin| spin.ended - spin.begun).sum()
    }

    /// Returns false if the thread hardly ran: the CPU was busy with something else. Where the
    /// system runs it may have been the system, so there the spins do not count.
    fn spun_enough(&self, quiet: Nanos) -> bool {
        self.watched.runs_system || Nanos(quiet.0 / SPUN_ENOUGH) <= self.spun()
    }

    fn loss(&self, quiet: Nanos) -> Loss {
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
            stolen: stolen.as_secs_f64() / quiet.as_secs_f64(),
            longest_gap: self.recent.iter().map(|spin| spin.longest_gap).max().unwrap_or_default(),
        }
    }
}
