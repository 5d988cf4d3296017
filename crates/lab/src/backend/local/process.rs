//! Starting a process in its place, so that it cannot outlive us.
#![expect(unsafe_code, reason = "what a child does before it becomes its program is unsafe to say")]

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpid, getppid};

use super::confine::Group;
use crate::spec::Cpus;

/// Starts `command` inside `group` from its first instruction on. It has a process group of its
/// own, so that Ctrl-C reaches only us, and the kernel kills it when we die.
pub(crate) fn spawn(mut command: Command, group: &Group, cpus: Option<&Cpus>) -> io::Result<Child> {
    let mut entrances: Vec<File> = group.entrances()?;
    let affinity = cpus.filter(|_| !group.pins()).map(affinity).transpose()?;
    let parent = getpid();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let prepare = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != parent {
            // We died before the line above could tell the kernel.
            return Err(io::ErrorKind::NotConnected.into());
        }
        for entrance in &mut entrances {
            entrance.write_all(b"0")?;
        }
        if let Some(affinity) = &affinity {
            sched_setaffinity(Pid::from_raw(0), affinity)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, on files and values that were
    // prepared before; nothing allocates or takes a lock.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

fn affinity(cpus: &Cpus) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in &cpus.0 {
        set.set(cpu as usize)?;
    }
    Ok(set)
}

/// Keeps this thread to some CPUs until it goes.
pub(crate) struct Aside {
    before: CpuSet,
}

impl Aside {
    /// `None` if the kernel does not let us: then the thread stays where it was.
    pub(crate) fn go(cpus: &Cpus) -> Option<Aside> {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).ok()?;
        sched_setaffinity(this, &affinity(cpus).ok()?).ok()?;
        Some(Aside { before })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // Whatever is started later inherits the affinity of this thread.
        let _ = sched_setaffinity(Pid::from_raw(0), &self.before);
    }
}

/// Lets others on this thread's CPUs go first: they shall not wait for those who only watch. Not by
/// all means: at a niceness of 19, beside compilers, a watch saw the ends of a trial only.
pub(crate) fn give_way() {
    // SAFETY: takes three numbers and changes this thread's own niceness, which is always allowed in
    // this direction; 0 is the calling thread.
    unsafe { nix::libc::setpriority(nix::libc::PRIO_PROCESS, 0, 5) };
}

/// Signals the process and all that it started in its group; those that are gone do not mind.
pub(crate) fn signal(child: &Child, signal: Signal) {
    let _ = killpg(Pid::from_raw(child.id() as i32), signal);
}

/// `ended with 1`, `was killed by SIGKILL`.
pub(crate) fn end_in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal().map(Signal::try_from)) {
        (Some(code), _) => format!("ended with {code}"),
        (None, Some(Ok(signal))) => format!("was killed by {signal}"),
        (None, _) => "was killed".to_owned(),
    }
}
