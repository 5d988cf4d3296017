//! The dependencies between steps: the order in which components start, and their names.

use std::collections::{BTreeMap, BTreeSet};

use super::read::did_you_mean;
use super::source::SpecError;
use super::{Resolved, Step};

#[cfg(test)]
mod tests;

/// The most components that one machine can run.
const MOST_COMPONENTS: u64 = 1_000;

/// Returns the steps in waves; a step that needs itself, even indirectly, is in none.
pub(super) fn waves(steps: &[Step]) -> Vec<Vec<&Step>> {
    let mut waves: Vec<Vec<&Step>> = Vec::new();
    let mut started: BTreeSet<&str> = BTreeSet::new();
    loop {
        let waiting = steps.iter().filter(|step| !started.contains(step.name()));
        let wave: Vec<&Step> =
            waiting.filter(|step| step.needs().iter().all(|need| started.contains(need))).collect();
        if wave.is_empty() {
            return waves;
        }
        started.extend(wave.iter().map(|step| step.name()));
        waves.push(wave);
    }
}

/// Checks that names are distinct, that needs can be met, and that the processes are not too many.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let steps = &resolved.spec.sut.deploy;
    let source = &resolved.source;
    let names: Vec<&str> = steps.iter().map(Step::name).collect();
    let named = |step: &Step| source.find("name:", step.name());
    for (index, step) in steps.iter().enumerate() {
        if names[..index].contains(&step.name()) {
            let message = format!("two components are called `{}`", step.name());
            return Err(source.error(message, named(step), "give each a different name"));
        }
        for need in step.needs() {
            let place = || source.find("needs:", need).or_else(|| named(step));
            if need == step.name() {
                let message = format!("`{need}` needs itself");
                return Err(source.error(message, place(), "it could never be started; remove it"));
            }
            if !names.contains(&need) {
                let hint = did_you_mean(need, &names);
                let message = format!(
                    "`{}` needs `{need}`, but no component has this name{hint}",
                    step.name()
                );
                let label = format!("components here: {}", names.join(", "));
                return Err(source.error(message, place(), &label));
            }
        }
    }
    if let Some(round) = round(steps) {
        let place = named(round[0]);
        let names: Vec<&str> = round.iter().chain(&round[..1]).map(|step| step.name()).collect();
        let message = format!("none of these can start first: {}", names.join(" needs "));
        return Err(source.error(message, place, "remove one of these needs"));
    }
    check_components(resolved)
}

/// Returns steps of which each needs the next, and the last needs the first.
fn round(steps: &[Step]) -> Option<Vec<&Step>> {
    let started: BTreeSet<&str> = waves(steps).concat().iter().map(|step| step.name()).collect();
    let stuck = |name: &str| steps.iter().find(|s| s.name() == name && !started.contains(name));
    let mut path: Vec<&Step> = vec![steps.iter().find(|step| !started.contains(step.name()))?];
    loop {
        let last = path[path.len() - 1];
        let next =
            last.needs().into_iter().find_map(stuck).expect("a stuck step waits for a stuck step");
        if let Some(begin) = path.iter().position(|step| step.name() == next.name()) {
            return Some(path.split_off(begin));
        }
        path.push(next);
    }
}

/// Checks the names: `geo-1.2` is replica 2 of `geo` in instance 1; no other component may have it.
fn check_components(resolved: &Resolved) -> Result<(), SpecError> {
    let sut = &resolved.spec.sut;
    let of_step = |step: &Step| u64::from(sut.replicas_of(step));
    let all = u64::from(sut.instances.0) * sut.deploy.iter().map(of_step).sum::<u64>();
    if MOST_COMPONENTS < all {
        let message = format!("this is a system of {all} processes");
        let place = resolved.source.find("sut:", "sut:");
        let label = format!("reduce instances or replicas: at most {MOST_COMPONENTS} processes");
        return Err(resolved.source.error(message, place, &label));
    }
    let mut known: BTreeMap<String, &Step> = BTreeMap::new();
    for step in &sut.deploy {
        for instance in 1..=sut.instances.0 {
            for replica in 1..=sut.replicas_of(step) {
                let name = crate::system::name(resolved, step, instance, replica);
                if known.insert(name.clone(), step).is_some() {
                    let message = format!("two components would be called `{name}`");
                    let place = resolved.source.find("name:", step.name());
                    return Err(resolved.source.error(message, place, "rename this step"));
                }
            }
        }
    }
    Ok(())
}
