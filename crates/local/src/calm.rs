//! Waiting for a calm machine: a thread on each CPU of the roles spins for a short time, again and
//! again. The rule that judges the spins is `lab::calm`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

use lab::Host;
use lab::backend::Stop;
use lab::calm::{self, Calm, Spin, Watch, Watched};
use lab::host;
use lab::spec::{Cpus, LOAD, SUT};
use measure::Nanos;
use nix::unistd::{SysconfVar, sysconf};
use scopeguard::defer;

use crate::cpus::{Roles, allowed_here};
use crate::process::{self, POLL_EVERY};

#[cfg(test)]
mod tests;

pub(super) fn wait(roles: &Roles, host: &Host, within: Nanos) -> Result<Calm, Stop> {
    let watched = watched(roles);
    let begun = host::now();
    let quiet = calm::quiet(within);
    let mut watch = Watch::of(watched.iter().copied(), quiet);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also after a panic: the scope waits for its threads.
        defer! { over.store(true, Ordering::Relaxed) }
        let (sender, spins) = mpsc::channel();
        for &Watched { cpu, .. } in &watched {
            let (sender, over) = (sender.clone(), &over);
            scope.spawn(move || spin_often(cpu, &sender, over));
        }
        let waited = loop {
            let waited = host::now() - begun;
            if let Err(stop) = host.check_interrupt() {
                break Err(stop);
            }
            if watch.is_calm() || within <= waited || host.wishes.ends_wait() {
                break Ok(waited);
            }
            match spins.recv_timeout(POLL_EVERY) {
                Ok(Ok(spin)) => watch.add(spin),
                Ok(Err(why)) => break Err(Stop::no_answer(why)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        };
        let (is_calm, worst) = (watch.is_calm(), watch.worst());
        Ok(Calm { is_calm, waited: waited?, quiet, worst, lost: None })
    })
}

/// Returns the CPUs of all roles. The processes of a role without CPUs may run on any.
fn watched(roles: &Roles) -> Vec<Watched> {
    let here = allowed_here();
    let cpus_of = |role| roles.get(role).unwrap_or(&here);
    let (sut, load) = (cpus_of(SUT), cpus_of(LOAD));
    let all: BTreeSet<u32> = sut.0.iter().chain(&load.0).copied().collect();
    all.into_iter().map(|cpu| Watched { cpu, runs_system: sut.0.contains(&cpu) }).collect()
}

/// Spins on this CPU until `over` is set.
fn spin_often(cpu: u32, sender: &Sender<Result<Spin, String>>, over: &AtomicBool) {
    if let Err(error) = process::pin(&Cpus(vec![cpu])) {
        let _ = sender.send(Err(format!("cannot watch CPU {cpu}: {error}")));
        return;
    }
    let mut stolen = steal_of(cpu).ok();
    while !over.load(Ordering::Relaxed) {
        let next = host::now() + calm::EVERY;
        let mut spin = spin(cpu, calm::SPIN);
        let now = steal_of(cpu).ok();
        // If the kernel does not count steal, only the gaps count.
        spin.stolen =
            now.zip(stolen).map(|(now, then)| now.saturating_sub(then)).unwrap_or_default();
        stolen = now;
        // The receiver may be gone.
        let _ = sender.send(Ok(spin));
        host::rest(next.saturating_since(host::now()).into());
    }
}

/// Spins once on each CPU, on all at the same time. A CPU that this process may not use is left out.
pub(super) fn probe(cpus: &[u32], length: Nanos) -> Vec<Spin> {
    let on_one = |cpu: u32| {
        process::pin(&Cpus(vec![cpu])).ok()?;
        let stolen = steal_of(cpu).ok();
        let spin = spin(cpu, length);
        let stolen = steal_of(cpu).ok().zip(stolen).map(|(now, was)| now.saturating_sub(was));
        Some(Spin { stolen: stolen.unwrap_or_default(), ..spin })
    };
    thread::scope(|scope| {
        let threads: Vec<_> = cpus.iter().map(|&cpu| scope.spawn(move || on_one(cpu))).collect();
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .filter_map(|spin| spin.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn spin(cpu: u32, length: Nanos) -> Spin {
    let begun = host::now();
    let (mut last, mut lost, mut longest_gap) = (begun, Nanos::ZERO, Nanos::ZERO);
    while last < begun + length {
        let now = host::now();
        let gap = now - last;
        if calm::GAP_UNNOTICED <= gap {
            lost += gap;
        }
        longest_gap = longest_gap.max(gap);
        last = now;
    }
    Spin { cpu, begun, ended: last, lost, longest_gap, stolen: Nanos::ZERO }
}

/// The time stolen from this CPU since the machine booted: the eighth figure of its line in
/// `/proc/stat`.
fn steal_of(cpu: u32) -> io::Result<Nanos> {
    let stat = fs::read_to_string("/proc/stat")?;
    let ticks = stolen_ticks(&stat, cpu).ok_or(io::ErrorKind::InvalidData)?;
    let per_second = sysconf(SysconfVar::CLK_TCK)?.ok_or(io::ErrorKind::Unsupported)? as u64;
    Ok(Nanos(ticks * (Nanos::SECOND.0 / per_second)))
}

fn stolen_ticks(stat: &str, cpu: u32) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '))?;
    line.split_ascii_whitespace().nth(7)?.parse().ok()
}
