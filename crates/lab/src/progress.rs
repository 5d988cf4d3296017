//! The events of a run. Nothing here prints: the command line decides where the text goes.

use std::fmt;

use measure::quantity::{counted, grouped};
use measure::{Nanos, Rate};
use results::journal::{Observed, Purpose, Status};
use results::sessions::Arrivals;
use results::speed::SLOW;
use results::{Conclusion, Entry, Tick};

use crate::backend::Drive;
use crate::course::{Attempt, Ending, Outline, Trial};

#[cfg(test)]
mod tests;

/// A receiver of the events of a run.
pub trait Progress {
    fn event(&mut self, event: &Event<'_>);
}

/// A receiver that ignores every event.
pub struct Silent;

impl Progress for Silent {
    fn event(&mut self, _event: &Event<'_>) {}
}

/// Something that happened; its text is one line of the transcript.
#[derive(Debug)]
pub enum Event<'a> {
    /// The description of the experiment in one line.
    Began {
        headline: String,
    },
    /// The plan, and the trials that an earlier run of it made.
    Planned {
        outline: Outline,
        journal: &'a [Entry],
    },
    /// Something that the reader should know; not part of the result.
    Notice(String),
    /// A stage of a trial begins. For logs and for tests of the order, not for the transcript.
    Stage(Stage),
    Deployed {
        what: String,
        /// The time until it was ready; `None` if nothing was asked to tell.
        took: Option<Nanos>,
        smoke_tests: usize,
    },
    /// A system that was deployed has another number of replicas.
    Scaled {
        what: String,
        took: Nanos,
        smoke_tests: usize,
    },
    /// The system has the data of the experiment, and passed the checks of it.
    Initialised {
        took: Nanos,
        /// True if it was loaded earlier, and only checked now.
        is_kept: bool,
        checks: usize,
    },
    /// The rate of the closed loop, and the search that begins with it.
    Probed {
        /// The strand, if there are several.
        label: String,
        /// The rate of what the search asks for: requests or sessions.
        completed_per_s: f64,
        arrivals: Arrivals,
        /// True if the generator limited it: the system can complete more.
        is_lower_bound: bool,
        /// The rate of each target, with the number of targets.
        first: Rate,
        targets: u32,
        /// The rule for the loads after it: `step 5 %`.
        strategy: String,
    },
    /// A trial of this strand begins; the next stages are of it.
    Begins {
        trial: &'a Trial,
        strand: usize,
    },
    /// The load of a trial begins.
    Measuring {
        trial: &'a Trial,
        drive: &'a Drive,
    },
    /// Live figures: one line that overwrites itself.
    Tick {
        trial: &'a Trial,
        tick: Tick,
    },
    /// A trial ended and is in the journal.
    Ended {
        entry: &'a Entry,
        /// Its judgement by the SLO, together with the trials that are judged with it.
        conclusion: Option<Conclusion>,
        /// The strand, if there are several.
        label: String,
        /// The load in a word if it has no rate: closed, shape or trace.
        without_rate: &'static str,
        /// The speed of the machine relative to its usual one, if it is known.
        speed: Option<f64>,
        /// The next trial if it is of the same strand: it may be another attempt at this one.
        again: Option<Attempt>,
    },
    /// The state of a strand after its trial.
    Stands {
        strand: usize,
        /// The distance to the stop rules, or the bounds of the capacity, if there are any yet: a part
        /// of the line of the next ticks.
        near: Option<String>,
        /// Present if it was the strand's last trial.
        ending: Option<Ending>,
    },
    Finished {
        text: String,
    },
}

/// A stage of a trial, or between two trials.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    Deploy,
    Ready,
    SmokeTest,
    Initialise,
    Scale,
    Reset,
    Rest,
    RestUntilIdle,
    WarmUpUntilSteady,
    WaitForCalm,
    Paused,
    Teardown,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Deploy => "deploy",
            Stage::Ready => "ready",
            Stage::SmokeTest => "smoke test",
            Stage::Initialise => "initialise",
            Stage::Scale => "scale",
            Stage::Reset => "reset",
            Stage::Rest => "rest",
            Stage::RestUntilIdle => "rest until idle",
            Stage::WarmUpUntilSteady => "warm-up until steady",
            Stage::WaitForCalm => "wait for a calm machine",
            Stage::Paused => "paused",
            Stage::Teardown => "teardown",
        })
    }
}

impl Event<'_> {
    /// Returns true if a transcript without a terminal shows it.
    pub fn is_lasting(&self) -> bool {
        !matches!(
            self,
            Event::Planned { .. }
                | Event::Begins { .. }
                | Event::Stage(_)
                | Event::Measuring { .. }
                | Event::Tick { .. }
                | Event::Stands { .. }
        )
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Began { headline } => f.write_str(headline),
            Event::Notice(text) => write!(f, "! {text}"),
            Event::Stage(stage) => write!(f, "{stage}"),
            Event::Deployed { what, took, smoke_tests } => {
                write!(f, "deploy   {}", Readied { what, took: *took, smoke_tests: *smoke_tests })
            }
            Event::Scaled { what, took, smoke_tests } => {
                write!(
                    f,
                    "scale    {}",
                    Readied { what, took: Some(*took), smoke_tests: *smoke_tests }
                )
            }
            Event::Initialised { took, is_kept, checks } => {
                let done = if *is_kept { "kept, verified" } else { "loaded" };
                write!(f, "data     {done} in {:.1} s", took.as_secs_f64())?;
                match checks {
                    0 => Ok(()),
                    n => write!(f, " · {n} of {n} checks passed"),
                }
            }
            Event::Probed {
                label,
                completed_per_s,
                arrivals,
                is_lower_bound,
                first,
                targets,
                strategy,
            } => {
                let about = if *is_lower_bound { "at least" } else { "about" };
                let rate = arrivals.load_in_words(*completed_per_s);
                let first = arrivals.load_in_words(first.as_per_second());
                write!(f, "probe    {about} {rate} closed loop → first load ")?;
                if 1 < *targets {
                    write!(f, "{targets} × ")?;
                }
                write!(f, "{first}, {strategy}{}", behind(label))
            }
            Event::Planned { outline, .. } => write!(f, "{} searches", outline.strands.len()),
            Event::Begins { trial, .. } => write!(f, "{} begins", Title(trial)),
            Event::Measuring { trial, .. } => write!(f, "{} measuring", Title(trial)),
            Event::Tick { trial, tick } => write!(f, "{} {}", Title(trial), Live(tick)),
            Event::Ended { entry, conclusion, label, without_rate, speed, again } => {
                let line = Line { entry, conclusion: *conclusion, without_rate };
                write!(f, "{line}{}", behind(label))?;
                let deviates = |speed: &f64| speed.ln().abs() > -SLOW.ln();
                // The reason of a trial in a slow machine has the speed already.
                let speed = speed.filter(|_| entry.slow_machine.is_none());
                if let Some(speed) = speed.filter(deviates) {
                    write!(f, "  machine at {:.0} % of its usual speed", 100.0 * speed)?;
                }
                match again {
                    Some(Attempt { attempt: 2.., await_calm: Some(_), .. }) => {
                        write!(f, " → repeated when the machine is calm")
                    }
                    Some(Attempt { attempt: 2.., .. }) => write!(f, " → repeated"),
                    Some(_) | None => Ok(()),
                }
            }
            Event::Stands { near, .. } => f.write_str(near.as_deref().unwrap_or_default()),
            Event::Finished { text } => f.write_str(text),
        }
    }
}

/// A system that became ready.
struct Readied<'a> {
    what: &'a str,
    took: Option<Nanos>,
    smoke_tests: usize,
}

impl fmt::Display for Readied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Readied { what, took, smoke_tests } = self;
        match took {
            Some(took) => write!(f, "{what} ready in {:.1} s", took.as_secs_f64())?,
            None => {
                write!(f, "{what} runs elsewhere (no sut.ready.get: not asked if it is ready)")?
            }
        }
        match smoke_tests {
            0 => Ok(()),
            n => write!(f, " · smoke test: {n} of {n} requests gave the expected response"),
        }
    }
}

/// Returns the strand as the end of a line; nothing if there is only one.
fn behind(label: &str) -> String {
    if label.is_empty() { String::new() } else { format!("  [{label}]") }
}

struct Title<'a>(&'a Trial);

impl fmt::Display for Title<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Title(trial) = self;
        match trial.purpose {
            Purpose::Trial => write!(f, "{:>3}", trial.number),
            Purpose::Probe => write!(f, "probe"),
        }
    }
}

/// The live figures: `measuring 3/5 s · 4,105/s asked · 3,690/s completed · p99 1.40 s`
struct Live<'a>(&'a Tick);

impl fmt::Display for Live<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Live(tick) = self;
        write!(f, "{} {:.0} s", tick.phase.in_words(), tick.elapsed_s)?;
        if 0 < tick.failed {
            write!(f, " · {} failed", counted(tick.failed))?;
        }
        if let Some(asked) = tick.asked_per_s {
            write!(f, " · {}/s asked", grouped(asked))?;
        }
        if let Some(completed) = tick.completed_per_s {
            write!(f, " · {}/s completed", grouped(completed))?;
        }
        if let Some(operations) = tick.operations_per_s {
            write!(f, " · {} operations/s", grouped(operations))?;
        }
        if let Some(p99) = tick.last.p99_ns {
            write!(f, " · p99 {}", Nanos(p99))?;
        }
        Ok(())
    }
}

/// The line of a finished trial.
///
/// ```text
///   1   2,400/s   ok          p50 1.10 ms  p99 4.90 ms   cpu 0.61
///   1   2,400/s   failing     404 for 12,000 of 12,000 requests to /fast/  p50 1.10 ms  p99 4.90 ms
///  11   3,910/s   saturated   p50 212 ms   p99 901 ms    3,702 of 3,899/s completed  limited by: hotel (CPU)
///  12   4,105/s   invalid     generator late: p99 1.9 ms > 0.49 ms
/// ```
struct Line<'a> {
    entry: &'a Entry,
    conclusion: Option<Conclusion>,
    without_rate: &'static str,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { entry, conclusion, without_rate } = self;
        let asked = match (entry.purpose, entry.asked_per_target_per_s) {
            (Purpose::Probe, _) => "probe".to_owned(),
            (Purpose::Trial, Some(rate)) => Arrivals::of([*entry]).load_in_words(rate),
            (Purpose::Trial, None) => (*without_rate).to_owned(),
        };
        write!(f, "{:>3} {asked:>9}   {:<10}", entry.trial, Mark::of(entry, *conclusion).word())?;
        if let Some(failing) = entry.observed.as_ref().and_then(Observed::failing_in_words) {
            write!(f, "  {failing}")?;
        }
        if !entry.status.answers() {
            return write!(f, "  {}", entry.reasons.first().map_or("", String::as_str));
        }
        self.figures(f)?;
        match entry.is_valid_but_disturbed() {
            true => write!(f, "  disturbed: {}", entry.disturbed.join("; ")),
            false => Ok(()),
        }
    }
}

impl Line<'_> {
    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { entry, .. } = self;
        let Some(observed) = &entry.observed else { return Ok(()) };
        let written = |ns: u64| match &observed.delivery {
            Some(delivery) => delivery.written(ns),
            None => Nanos(ns).to_string(),
        };
        let time = |ns: Option<u64>| ns.map_or("–".to_owned(), written);
        // Events with a receiver are sent for the time of their delivery.
        let (of, p50, p99) = match &observed.delivery {
            Some(delivery) => ("delivery ", delivery.p50_ns, delivery.p99_ns),
            None => ("", observed.p50_ns, observed.p99_ns),
        };
        write!(f, "  {of}p50 {:<8} p99 {:<8}", time(p50), time(p99))?;
        if let Some(delivery) = observed.delivery.as_ref().filter(|of| 0 < of.lost) {
            write!(f, "  {} lost", counted(delivery.lost))?;
        }
        let requests = |per_s| Arrivals::of([*entry]).requests_in_words(per_s);
        if entry.asked_per_target_per_s.is_none() {
            write!(f, "  {} completed", requests(observed.completed_per_s))?;
        } else if observed.saturated {
            // The load is the rate of each target; this is the sum over all targets.
            let completed = grouped(observed.completed_per_s);
            write!(f, "  {completed} of {} completed", requests(observed.offered_per_s))?;
        }
        if let Some(operations) = observed.operations_per_s {
            write!(f, "  {} operations/s", grouped(operations))?;
        }
        if 0 < observed.failures && !observed.is_failing() {
            write!(f, "  {} failed", counted(observed.failures))?;
            // The printed percentile may be within its limit.
            if let Some(judged) = entry.slo.iter().find(|judged| judged.is_missed_by_failures()) {
                write!(f, ", more than {} allows", judged.slo)?;
                // The first is the most frequent.
                if let Some(failure) = observed.failing.first() {
                    write!(f, ": {}", failure.text)?;
                }
            }
        }
        match (&observed.limit, &observed.limited_by) {
            (Some(limit), _) => return write!(f, "  limited by: {limit}"),
            (None, Some(words)) => return write!(f, "  limited by: {words}"),
            (None, None) => {}
        }
        if observed.cpu.is_empty() || 0 < observed.cpu_unknown {
            return Ok(());
        }
        write!(f, "  cpu {:.2}", observed.cpu.values().sum::<f64>())
    }
}

/// The result of a trial in a word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mark {
    Ok,
    /// The machine slowed the trial down, and it still met its SLO.
    Slowed,
    Missed,
    /// It has too few requests for a verdict: the next one is judged together with it.
    Undecided,
    /// So many requests failed that it is no working system.
    Failing,
    Saturated,
    Invalid,
    Aborted,
}

impl Mark {
    /// Returns the mark of a trial of which this is concluded about the SLO.
    pub fn of(entry: &Entry, conclusion: Option<Conclusion>) -> Mark {
        match (entry.status, &entry.observed) {
            (Status::Invalid, _) => Mark::Invalid,
            (Status::Aborted, _) => Mark::Aborted,
            (_, Some(observed)) if observed.is_mostly_failing() => Mark::Failing,
            (_, Some(observed)) if observed.saturated => Mark::Saturated,
            (_, Some(_)) if conclusion == Some(Conclusion::Missed) => Mark::Missed,
            (_, Some(_)) if conclusion == Some(Conclusion::Open) => Mark::Undecided,
            (_, Some(observed)) if observed.is_failing() => Mark::Failing,
            (Status::Bounded, _) => Mark::Slowed,
            (Status::Valid, _) => Mark::Ok,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Mark::Ok => "ok",
            Mark::Slowed => "ok, slowed",
            Mark::Missed => "slo missed",
            Mark::Undecided => "undecided",
            Mark::Failing => "failing",
            Mark::Saturated => "saturated",
            Mark::Invalid => "invalid",
            Mark::Aborted => "aborted",
        }
    }
}
