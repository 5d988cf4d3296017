//! The disturbance of the machine in each second: the time that the hypervisor took, and the CPUs
//! that other processes used.

use std::collections::BTreeMap;

use measure::{Instant, Nanos};
use results::components::{Disturbance, Machine as Figures, Series};

use super::{Second, absent_if_empty, at, rate, rates, rounded};
use crate::backend::{Consumed, CpuTimes, Machine, Samples, Shared};

#[cfg(test)]
mod tests;

/// Returns the figures of each second; `None` if nothing was read.
pub(super) fn of(
    machine: &Machine,
    consumed: &BTreeMap<String, Consumed>,
    seconds: &[Second],
) -> Option<Figures> {
    let disturbance = |(name, share): (&String, &Shared)| {
        let disturbance = Disturbance {
            stolen: stolen(machine, share, seconds),
            foreign: foreign(machine, share, consumed, seconds),
        };
        (disturbance != Disturbance::default()).then(|| (name.clone(), disturbance))
    };
    let roles: BTreeMap<String, Disturbance> =
        machine.roles.iter().filter_map(disturbance).collect();
    let pressure = rates(&machine.pressure, seconds);
    (!roles.is_empty() || !pressure.is_empty()).then_some(Figures { pressure, roles })
}

/// Returns the CPUs of a share; all of them if it names none.
fn cpus<'a>(machine: &'a Machine, share: &'a Shared) -> impl Iterator<Item = &'a CpuTimes> + Clone {
    let is_of = |cpu: &u32| share.cpus.is_empty() || share.cpus.contains(cpu);
    machine.cpus.iter().filter(move |(cpu, _)| is_of(cpu)).map(|(_, times)| times)
}

/// Returns the share of each second that was taken from the CPU that lost most in it.
fn stolen(machine: &Machine, share: &Shared, seconds: &[Second]) -> Series<f64> {
    let each = |&(from, to): &Second| {
        let all = cpus(machine, share).filter_map(|cpu| rate(&cpu.stolen, from, to));
        all.max_by(f64::total_cmp).map(rounded)
    };
    absent_if_empty(seconds.iter().map(each).collect())
}

/// Returns the share of the CPUs that neither our components nor the generator and the runner used.
fn foreign(
    machine: &Machine,
    share: &Shared,
    consumed: &BTreeMap<String, Consumed>,
    seconds: &[Second],
) -> Series<f64> {
    let of_share = |one: &&Consumed| share.names.contains(&one.role);
    let components = consumed.values().filter(of_share).map(|one| &one.cpu);
    let own: Vec<&Samples> = components.chain(&share.own).collect();
    let count = cpus(machine, share).count().max(1) as f64;
    let used = used_by_others(cpus(machine, share).map(|cpu| &cpu.busy), &own);
    let each = |&(from, to): &Second| rate(&used, from, to).map(|cpus| rounded(cpus / count));
    absent_if_empty(seconds.iter().map(each).collect())
}

/// Returns the CPU time that CPUs were busy beyond the time of our own processes, from reading to
/// reading: between two of them the kernel's counter is not known. All CPUs are read at the same times.
fn used_by_others<'a>(
    busy: impl Iterator<Item = &'a Samples> + Clone,
    own: &[&Samples],
) -> Samples {
    let Some(first) = busy.clone().next() else { return Samples::new() };
    let mut sum = 0;
    let mut used = Samples::new();
    for (index, &(at, _)) in first.iter().enumerate() {
        if let Some(before) = index.checked_sub(1) {
            let from = first[before].0;
            let growth = |cpu: &'a Samples| {
                let (was, now) = (cpu.get(before)?.1, cpu.get(index)?.1);
                Some(now.saturating_sub(was))
            };
            let all: u64 = busy.clone().filter_map(growth).sum();
            let ours: f64 = own.iter().map(|samples| grown(samples, from, at)).sum();
            sum += all.saturating_sub(ours as u64);
        }
        used.push((at, sum));
    }
    used
}

/// Returns the growth in the part of an interval that the samples cover: a process that did not run
/// used nothing.
fn grown(samples: &Samples, from: Instant, to: Instant) -> f64 {
    let Some((first, last)) = samples.first().zip(samples.last()) else { return 0.0 };
    let (from, to) = (from.max(first.0), to.min(last.0));
    match to.saturating_since(from) {
        Nanos::ZERO => 0.0,
        _ => {
            (at(samples, to).zip(at(samples, from))).map_or(0.0, |(now, was)| (now - was).max(0.0))
        }
    }
}
