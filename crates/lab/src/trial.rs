//! The life of one trial, as a plain function over the backend's operations: it states the method.
//!
//! While a trial measures nothing here sends requests to the system under test.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use measure::Nanos;
use results::Doctor;
use results::components::Monitored;
use results::doctor::Level;
use results::journal::{Entry, Purpose};
use results::said::Phase;

use crate::backend::{Backend, Death, Drive, Driven, Stop};
use crate::course::{Position, Trial};
use crate::host;
use crate::monitor::{self, Moment};
use crate::progress::{Event, Progress, Stage};
use crate::seconds;
use crate::spec::generator::{self, Arguments, AskedLoad};
use crate::spec::{Between, Resolved, UntilSteady};
use crate::system::System;

use warm_up::{Signals, WarmedUp};

pub mod idle;
pub mod warm_up;

#[cfg(test)]
mod tests;

/// The observations of a trial; `judge` judges them.
#[derive(Debug)]
pub struct Observation {
    pub purpose: Purpose,
    pub driven: Driven,
    /// Why the system may not have been idle before the load.
    pub not_idle: Option<String>,
    /// Present if the trial has a warm-up until steady.
    pub warmed_up: Option<WarmedUp>,
    /// The answers of other monitors for the time of the measurement.
    pub monitored: Vec<Monitored>,
    /// The processes whose CPUs changed between the start and the end of the load.
    pub moved: Vec<String>,
    /// Present if the place has checks.
    pub checked: Option<Checked>,
}

/// The checks of the place around a load.
#[derive(Debug)]
pub struct Checked {
    /// The last ones before it, if there were any.
    pub before: Option<Doctor>,
    pub after: Doctor,
}

pub fn run(
    trial: &Trial,
    resolved: &Resolved,
    system: &mut System,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<Observation, Stop> {
    let last = system.enter(trial.place, resolved, backend, progress)?;
    system.recover(backend, progress)?;
    system.deploy(resolved, backend, progress)?;
    if resets(resolved, trial, last) && !system.is_initial {
        system.reset(resolved, backend, progress)?;
    }
    system.refresh(resolved, backend, progress)?;
    backend.check()?;
    let before = backend.placement()?;
    let rest = rest(resolved, trial, last) + *resolved.spec.phases.settle;
    if Nanos::ZERO < rest {
        progress.event(&Event::Stage(Stage::Rest));
    }
    backend.pause(rest)?;
    let not_idle = idle::rest(resolved, backend, progress)?;

    let drive = load(trial, resolved, system);
    system.mark_used();
    let warmed_up = match until_steady(resolved, trial.purpose) {
        Some(until) => Some(warm_up(trial, resolved, system, until, backend, progress)?),
        None => None,
    };
    progress.event(&Event::Measuring { trial, drive: &drive });
    let date = backend.date();
    let moment = date.map(|date| Moment { date, at: backend.now() });
    let driven = backend.drive(&drive, &mut |tick| {
        progress.event(&Event::Tick { trial, tick });
        ControlFlow::Continue(())
    })?;

    let measured = seconds::window(&driven.load, &driven.consumed);
    let monitored = monitor::ask(resolved, measured, moment, backend)?;
    for finding in findings(&driven) {
        progress.event(&Event::Notice(finding));
    }
    let moved = differences(&before, &backend.placement()?);
    // What the checks look at is dated in whole seconds.
    let since = date.map(host::whole_seconds);
    let checked = diagnose(resolved, since, backend)?.map(|after| {
        let before = system.doctor.replace(after.clone());
        Checked { before, after }
    });
    let purpose = trial.purpose;
    Ok(Observation { purpose, driven, not_idle, warmed_up, monitored, moved, checked })
}

/// Checks the place as strictly as the spec wants it; `None` if it wants no checks.
pub fn diagnose(
    resolved: &Resolved,
    since: Option<u64>,
    backend: &mut dyn Backend,
) -> Result<Option<Doctor>, Stop> {
    match resolved.spec.doctor.level {
        Level::Off => Ok(None),
        Level::Warn | Level::Strict => backend.diagnose(resolved, since),
    }
}

/// Describes the components that died without ending the trial: a property of the system is a
/// finding.
pub fn findings(driven: &Driven) -> Vec<String> {
    let (begin, _) = seconds::window(&driven.load, &driven.consumed);
    let finding = |death: &Death| {
        let Death { component, at, why, .. } = death;
        let when = match begin <= *at {
            true => format!("after {:.1} s", (*at - begin).as_secs_f64()),
            false => format!("{:.1} s before the measurement", (begin - *at).as_secs_f64()),
        };
        format!("{component} {why} {when}: the trial went on without it")
    };
    driven.deaths.iter().map(finding).collect()
}

/// Makes a load of its own at the trial's rate, until the system is steady.
fn warm_up(
    trial: &Trial,
    resolved: &Resolved,
    system: &System,
    until: UntilSteady,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<WarmedUp, Stop> {
    progress.event(&Event::Stage(Stage::WarmUpUntilSteady));
    let drive = load_of(trial, resolved, system, Some(until));
    let mut signals = Signals::default();
    let mut is_steady = false;
    let begun = backend.now();
    backend.drive(&drive, &mut |tick| {
        // Responses that come after the load say nothing of it.
        if tick.phase == Phase::Measurement && !is_steady {
            signals.take(&tick);
            is_steady = until.min.as_secs_f64() <= tick.elapsed_s && signals.are_steady();
        }
        if is_steady { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(WarmedUp { length: backend.now() - begun, is_steady })
}

/// Returns the warm-up until steady of a trial; a probe only finds the first load, and has none.
fn until_steady(resolved: &Resolved, purpose: Purpose) -> Option<UntilSteady> {
    let until = resolved.spec.phases.warm_up.until_steady;
    until.filter(|_| purpose == Purpose::Trial)
}

/// Returns the measured run of the generator: warm-up, measurement, drain.
pub fn load(trial: &Trial, resolved: &Resolved, system: &System) -> Drive {
    load_of(trial, resolved, system, None)
}

/// Returns a run of the generator: the measured one, or that of the warm-up until steady. That one has
/// other random numbers: the measured requests shall not be the ones that came before.
fn load_of(
    trial: &Trial,
    resolved: &Resolved,
    system: &System,
    until: Option<UntilSteady>,
) -> Drive {
    let phases = &resolved.spec.phases;
    let (warm_up, measure) = match trial.purpose {
        Purpose::Trial => (*phases.warm_up.fixed, *phases.measure.time),
        Purpose::Probe => probe_lengths(resolved),
    };
    let targets: Vec<String> =
        (1..).zip(&system.urls).map(|(i, url)| generator::target(resolved, url, i)).collect();
    let (warm_up, measure, interval, seed) = match until {
        None => (warm_up, measure, None, trial.seed),
        Some(until) => (Nanos::ZERO, *until.max, Some(warm_up::INTERVAL), trial.seed ^ 1),
    };
    let (rate, drain) = (trial.asked, *phases.drain);
    let wanted = AskedLoad { rate, warm_up, measure, drain, interval, seed };
    let foreign = generator::foreign(resolved, &targets, &wanted);
    let arguments = match &foreign {
        Some(_) => Arguments::default(),
        None => generator::arguments(resolved, &targets, &system.addresses, &wanted),
    };
    let load = &resolved.spec.load;
    let think = load.think();
    let opening = load.opening(rate, targets.len());
    Drive {
        targets,
        rate,
        think,
        opening,
        warm_up,
        measure,
        drain,
        interval,
        seed,
        arguments,
        secrets: resolved.secrets_of_load(),
        foreign,
    }
}

/// Returns the lengths of a probe: it only finds the first load, so it is at most two seconds.
pub fn probe_lengths(resolved: &Resolved) -> (Nanos, Nanos) {
    let phases = &resolved.spec.phases;
    let most = Nanos::from_secs(2);
    ((*phases.warm_up.fixed).min(most), (*phases.measure.time).min(most))
}

/// Returns the length of a trial, as far as it is known beforehand.
pub fn planned_length(resolved: &Resolved, purpose: Purpose) -> Nanos {
    let phases = &resolved.spec.phases;
    let (warm_up, measure) = match purpose {
        Purpose::Trial => (*phases.warm_up.fixed, *phases.measure.time),
        Purpose::Probe => probe_lengths(resolved),
    };
    let before = until_steady(resolved, purpose).map_or(Nanos::ZERO, |until| *until.max);
    let rest = *phases.cool_down.trials;
    [rest, *phases.settle, before, warm_up, measure, *phases.drain].into_iter().sum()
}

/// Returns the time that a trial took before its load to open the connections, if that is noticed.
pub fn opening(entry: &Entry) -> Nanos {
    Nanos(entry.observed.as_ref().and_then(|observed| observed.opening_ns).unwrap_or_default())
}

/// Returns the length of a trial that has ended: a trial that had missed its SLO whatever followed is
/// shorter than planned, and so is one that was steady early. One whose connections were slow to open is longer.
pub fn length(resolved: &Resolved, entry: &Entry) -> Nanos {
    let planned = planned_length(resolved, entry.purpose);
    let planned = match (until_steady(resolved, entry.purpose), entry.warmed_up_ns) {
        (Some(until), Some(warmed_up)) => planned.saturating_sub(*until.max) + Nanos(warmed_up),
        _ => planned,
    };
    let planned = planned + opening(entry);
    let ended = entry.observed.as_ref().and_then(|observed| observed.ended_after_ns);
    ended.map_or(planned, |after| {
        (planned + Nanos(after)).saturating_sub(*resolved.spec.phases.measure.time)
    })
}

/// Returns the extra time that disturbances of the machine may cost in an experiment of so many
/// strands.
pub fn disturbance_allowed(resolved: &Resolved, strands: u64) -> Nanos {
    let trials = planned_length(resolved, Purpose::Trial) * 4;
    let default = || Nanos::from_secs(180).max(trials) * strands.max(1);
    resolved.spec.budget.disturbance.map_or_else(default, |allowed| *allowed)
}

/// Returns the rest of the system since the last trial of this process, if there was one.
fn rest(resolved: &Resolved, trial: &Trial, last: Option<Position>) -> Nanos {
    let cool_down = &resolved.spec.phases.cool_down;
    match last {
        None => Nanos::ZERO,
        Some(last) if last.cell != trial.place.cell => *cool_down.levels,
        Some(_) => *cool_down.trials,
    }
}

fn resets(resolved: &Resolved, trial: &Trial, last: Option<Position>) -> bool {
    match resolved.spec.reset.between {
        Between::Trials => true,
        Between::Points => trial.repetition == 1 && trial.attempt == 1,
        Between::Levels => last.is_none_or(|last| last.cell != trial.place.cell),
        Between::Never => false,
    }
}

/// Describes processes that were moved; one that died is reported as dead instead.
fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let moved = before.iter().filter_map(|(name, cpus)| {
        let now = after.get(name).filter(|now| *now != cpus)?;
        Some(format!("{name} was allowed CPU {cpus} before the load and CPU {now} after it"))
    });
    moved.collect()
}
