//! The parts of a measured application, its services and stores, and the CPU time that a request
//! takes in each.

use std::collections::BTreeMap;
use std::process::Stdio;

use measure::Nanos;

use super::load::Load;
use super::machine::{self, Cpu, Machine, Others, Process, Side};

#[cfg(test)]
mod tests;

/// The processes of an application by the names of its parts.
pub(super) struct Parts {
    application: &'static str,
    side: Side,
    /// Those that started last end first.
    processes: Vec<(&'static str, Process)>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        while self.processes.pop().is_some() {}
    }
}

impl Parts {
    /// Returns an application without parts yet; they will be on the server's CPU.
    pub(super) fn of(application: &'static str) -> Parts {
        Parts::on(Side::Server, application)
    }

    /// Does the same for other CPUs.
    pub(super) fn on(side: Side, application: &'static str) -> Parts {
        Parts { application, side, processes: Vec::new() }
    }

    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// Starts a service of the application, and returns its address.
    pub(super) fn start(
        &mut self,
        machine: &Machine,
        name: &'static str,
        arguments: &[String],
    ) -> Result<String, String> {
        let program = machine.benchwright.with_file_name("benchwright-apps");
        let mut command = machine.command(self.side, program);
        command.args([self.application, name]).args(arguments).stdout(Stdio::piped());
        let mut process = Process::start(&mut command)?;
        let ready = machine::ready(&mut process);
        let (_, url) = ready.ok_or_else(|| format!("{name} did not become ready"))?;
        self.add(name, process);
        Ok(url.trim_start_matches("http://").to_owned())
    }

    /// Adds a foreign process.
    pub(super) fn add(&mut self, name: &'static str, process: Process) {
        self.processes.push((name, process));
    }

    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Returns the CPU time of each part with all its replicas.
    pub(super) fn cpu(&self) -> Result<BTreeMap<&'static str, Cpu>, String> {
        let mut cpu: BTreeMap<&str, Cpu> = BTreeMap::new();
        for (name, process) in &self.processes {
            let used = Cpu::of(process.0.id()).ok_or_else(|| format!("{name} has died"))?;
            cpu.entry(name).or_default().add(used);
        }
        Ok(cpu)
    }
}

/// Makes a load, and returns it with the cost of a request in microseconds, which it prints with its
/// shares.
pub(super) fn measure(
    cpu: impl Fn() -> Result<BTreeMap<&'static str, Cpu>, String>,
    load: impl FnOnce() -> Result<Load, String>,
) -> Result<(Load, f64), String> {
    let others = Others::watch();
    let before = cpu()?;
    let load = load()?;
    let after = cpu()?;
    // The measured processes still run, so `others` includes them; subtract them.
    let mut noise = load.noise.clone();
    let ours: Nanos =
        after.iter().map(|(name, cpu)| cpu.all.saturating_sub(before[name].all)).sum();
    noise.others_share = (others.share() - ours.as_secs_f64() / others.seconds()).max(0.0);
    let requests = load.completed as f64;
    let cost = |of: fn(&Cpu) -> Nanos, name: &str| {
        of(&after[name]).saturating_sub(of(&before[name])).as_secs_f64() * 1e6 / requests
    };
    let sum = |of: fn(&Cpu) -> Nanos| -> f64 { after.keys().map(|name| cost(of, name)).sum() };
    let all = sum(|cpu| cpu.all);
    println!(
        "     {:.0}/s, p50 {}, p99 {}; {noise}",
        load.completed_per_s, load.response[0], load.response[2]
    );
    for name in after.keys() {
        println!(
            "     {}",
            row(
                name,
                cost(|cpu| cpu.all, name),
                cost(|cpu| cpu.user, name),
                cost(|cpu| cpu.kernel, name)
            )
        );
    }
    println!("     {}", row("all", all, sum(|cpu| cpu.user), sum(|cpu| cpu.kernel)));
    Ok((load, all))
}

/// Returns for example `frontend         39.3 µs  (user 24.6, kernel 14.7)`.
fn row(name: &str, all: f64, user: f64, kernel: f64) -> String {
    let ticks = (user + kernel).max(f64::MIN_POSITIVE);
    let (user, kernel) = (all * user / ticks, all * kernel / ticks);
    format!("{name:<15} {all:>6.1} µs  (user {user:.1}, kernel {kernel:.1})")
}
