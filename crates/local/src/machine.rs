//! Reads the counters of this machine while a load is made: what the CPUs of the roles did, and how
//! long something waited for a CPU. It is a part of the watch (`watch`), once a second: two small
//! files, and the CPU time of the runner and of the generator.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;

use lab::backend::{Machine, Samples, Shared};
use lab::doctor;
use lab::host;
use lab::spec::{Cpus, LOAD, SUT};
use measure::{Instant, Nanos};
use nix::time::{ClockId, clock_gettime};
use results::components::TOGETHER;

use super::confine::Group;

#[cfg(test)]
mod tests;

/// Returns the roles with the CPUs that each has for itself. Where a role may run on the CPUs of the
/// other one, both are one, on all CPUs of the machine.
pub(super) fn shares(
    roles: &BTreeMap<&'static str, Cpus>,
    has_components: bool,
) -> BTreeMap<String, Shared> {
    let cpus = |role: &str| roles.get(role).map(|cpus| cpus.0.iter().copied());
    let all = || roles.values().flat_map(|cpus| &cpus.0);
    let are_apart = all().collect::<BTreeSet<_>>().len() == all().count();
    let is_placed = cpus(LOAD).is_some() && (cpus(SUT).is_some() || !has_components);
    if !are_apart || !is_placed {
        let names = [LOAD, SUT].map(str::to_owned).to_vec();
        return [(TOGETHER.to_owned(), Shared { names, ..Shared::default() })].into();
    }
    let share = |(name, cpus): (&&str, &Cpus)| {
        let names = vec![(*name).to_owned()];
        ((*name).to_owned(), Shared { names, cpus: cpus.0.clone(), own: Vec::new() })
    };
    roles.iter().map(share).collect()
}

/// The reader, with what it has read so far.
pub(super) struct Reader {
    machine: Machine,
    runner: Samples,
    generators: Vec<Samples>,
    /// The generator that runs, with its process id.
    generator: Option<(Group, u32)>,
    text: String,
}

impl Reader {
    pub(super) fn new(roles: BTreeMap<String, Shared>) -> Reader {
        Reader {
            machine: Machine { roles, ..Machine::default() },
            runner: Samples::new(),
            generators: Vec::new(),
            generator: None,
            text: String::new(),
        }
    }

    /// Reads everything once.
    pub(super) fn look(&mut self) {
        let now = host::now();
        self.read_cpus(now);
        if let Some(waited) = self.file("/proc/pressure/cpu").and_then(waited) {
            self.machine.pressure.push((now, waited.0));
        }
        let used =
            clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("Linux counts a process' time");
        let used = used.tv_sec() as u64 * Nanos::SECOND.0 + used.tv_nsec() as u64;
        self.runner.push((now, used));
        if let Some((group, pid)) = &self.generator {
            let used = group.usage_ns(*pid);
            let samples = self.generators.last_mut().expect("it was added with the generator");
            samples.extend(used.map(|used| (now, used)));
        }
    }

    /// Takes a generator that has just begun, and has used nothing yet.
    pub(super) fn begin(&mut self, at: Instant, group: Group, pid: u32) {
        self.generators.push(vec![(at, 0)]);
        self.generator = Some((group, pid));
    }

    /// Takes the end of the generator, with all that it has used.
    pub(super) fn end_generator(&mut self, at: Instant, used: Option<u64>) {
        self.generator = None;
        if let Some(samples) = self.generators.last_mut() {
            samples.extend(used.map(|used| (at, used)));
        }
    }

    /// Returns what was read.
    pub(super) fn end(self) -> Machine {
        let Reader { mut machine, runner, generators, .. } = self;
        // The runner is on the CPUs of the load.
        let of_load =
            machine.roles.values_mut().find(|share| share.names.iter().any(|n| n == LOAD));
        if let Some(share) = of_load {
            share.own = generators;
            share.own.push(runner);
        }
        machine
    }

    fn read_cpus(&mut self, now: Instant) {
        let Some(_) = self.file("/proc/stat") else { return };
        let known: BTreeSet<u32> =
            self.machine.roles.values().flat_map(|share| share.cpus.iter().copied()).collect();
        for (cpu, ticks) in doctor::ticks(&self.text) {
            if !known.is_empty() && !known.contains(&cpu) {
                continue;
            }
            let [user, nice, system, .., stolen] = ticks;
            let of = self.machine.cpus.entry(cpu).or_default();
            of.busy.push((now, (user + nice + system) * Nanos::TICK.0));
            of.stolen.push((now, stolen * Nanos::TICK.0));
        }
    }

    fn file(&mut self, path: &str) -> Option<&str> {
        self.text.clear();
        File::open(path).ok()?.read_to_string(&mut self.text).ok()?;
        Some(&self.text)
    }
}

/// Reads the time in which something waited for a CPU: `some … total=123`, in microseconds.
fn waited(pressure: &str) -> Option<Nanos> {
    let some = pressure.lines().find(|line| line.starts_with("some "))?;
    let total = some.split(' ').find_map(|word| word.strip_prefix("total="))?;
    Some(Nanos::from_micros(total.parse().ok()?))
}
