//! Starting a process in its group and on its CPUs, so that it cannot outlive us.
#![expect(unsafe_code, reason = "code that a child runs before exec is unsafe")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use lab::spec::{Cpus, plain};
use measure::Nanos;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::signal::{SigHandler, Signal, kill, killpg, signal};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpgrp, getpid, getppid};
use results::Secrets;

#[cfg(test)]
mod tests;

/// The interval at which a waiting runner checks its processes.
pub(crate) const POLL_EVERY: Duration = Duration::from_millis(20);
/// The longest time that the kernel may take to end a killed process.
const KILLED_WITHIN: Nanos = Nanos::from_secs(1);

/// A process that leads its own process group.
///
/// Until `reap` has reaped it, dead or alive, the kernel gives its number and its group's to no
/// other process. Only a process that is not reaped can be signalled, so a signal never reaches a
/// stranger.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// The process by file descriptor. `None` if the kernel does not support it.
    pidfd: Option<OwnedFd>,
}

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns how it ended, if it has. This does not reap it.
    pub(crate) fn ended(&self) -> io::Result<Option<ExitStatus>> {
        let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        Ok(match waitid(Id::Pid(self.pid()), peek)? {
            WaitStatus::Exited(_, code) => Some(ExitStatus::from_raw((code & 0xff) << 8)),
            WaitStatus::Signaled(_, signal, _) => Some(ExitStatus::from_raw(signal as i32)),
            _ => None,
        })
    }

    /// Waits for its end, but no longer than this. Without a pidfd it always takes this long.
    pub(crate) fn await_end(&self, longest: Duration) {
        let Some(pidfd) = &self.pidfd else { return lab::host::rest(longest) };
        let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::MAX);
        // After an early wake-up the caller checks and waits again.
        let _ = poll(&mut [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)], timeout);
    }

    /// Signals the process and all that it started in its group; does nothing for those that are
    /// gone.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = killpg(self.pid(), signal);
    }

    /// Waits for its end. From then on its number may belong to another process.
    pub(crate) fn reap(mut self) {
        // It is dead by now, or the kernel itself cannot end it.
        let _ = waitid(Id::Pid(self.pid()), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
        let mut known = known();
        let _ = self.child.wait();
        known.remove(&self.pid().as_raw());
    }

    /// Returns its stdout and stderr, which are piped; they can be taken once.
    pub(crate) fn take_output(&mut self) -> (ChildStdout, ChildStderr) {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        stdout.zip(stderr).expect("they were piped, and taken once")
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }
}

/// Returns the standard input from which a program reads secrets; it is empty if there are none.
pub(crate) fn input(secrets: &Secrets) -> io::Result<Stdio> {
    if secrets.is_empty() {
        return Ok(Stdio::null());
    }
    let (reader, mut writer) = io::pipe()?;
    let written = secrets.written();
    // A program that ends before it has read all of them says itself why.
    std::thread::spawn(move || writer.write_all(written.as_bytes()));
    Ok(reader.into())
}

/// Starts `command` with an affinity, and from its first instruction on in the control groups that it enters by
/// writing `0` to their `entrances`. It has its own process group, so that Ctrl-C reaches only us, and the
/// kernel kills it when we die.
pub(crate) fn spawn(
    mut command: Command,
    mut entrances: Vec<File>,
    cpus: Option<&Cpus>,
) -> io::Result<Process> {
    let affinity = cpus.map(affinity).transpose()?;
    let parent = getpid();
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let prepare = move || {
        // A script starts its background jobs with SIGINT ignored, and a program that is started so
        // stays so: a load could not be ended early.
        for told_to_end in [Signal::SIGINT, Signal::SIGTERM] {
            // SAFETY: the default action runs no code of ours.
            unsafe { signal(told_to_end, SigHandler::SigDfl) }?;
        }
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != parent {
            // We died before the line above took effect.
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
    let mut known = known();
    let child = command.spawn()?;
    known.insert(child.id() as i32);
    drop(known);
    let pidfd = open_pidfd(child.id() as i32).ok();
    Ok(Process { child, pidfd })
}

/// Starts a process in a group of its own that no run has started.
#[cfg(test)]
pub(crate) fn stranger(command: &mut Command) -> Child {
    let mut known = known();
    let child = command.process_group(0).spawn().unwrap();
    known.insert(child.id() as i32);
    child
}

fn affinity(cpus: &Cpus) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in &cpus.0 {
        set.set(cpu as usize)?;
    }
    Ok(set)
}

/// Keeps this thread on some CPUs for good.
pub(crate) fn pin(cpus: &Cpus) -> io::Result<()> {
    Ok(sched_setaffinity(Pid::from_raw(0), &affinity(cpus)?)?)
}

/// Keeps this thread on some CPUs until it is dropped.
pub(crate) struct AffinityGuard {
    before: CpuSet,
}

impl AffinityGuard {
    /// Returns `None` if the kernel does not allow it: then the thread stays where it was.
    pub(crate) fn new(cpus: &Cpus) -> Option<AffinityGuard> {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).ok()?;
        sched_setaffinity(this, &affinity(cpus).ok()?).ok()?;
        Some(AffinityGuard { before })
    }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        // Every process that is started later inherits the affinity of this thread.
        let _ = sched_setaffinity(Pid::from_raw(0), &self.before);
    }
}

/// Lets others on this thread's CPUs run first: they must not wait for a thread that only watches.
/// Not at any price: at a niceness of 19, beside compilers, a watch saw only the ends of a trial.
pub(crate) fn lower_priority() {
    // SAFETY: takes three numbers and changes this thread's own niceness, which is always allowed in
    // this direction; 0 is the calling thread.
    unsafe { nix::libc::setpriority(nix::libc::PRIO_PROCESS, 0, 5) };
}

/// The children of this process that are no orphans: those that `spawn` started and that are not reaped, and those
/// that were there before. A process is started and reaped while this is locked: nothing else has its number then.
static KNOWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn known() -> MutexGuard<'static, BTreeSet<i32>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process the parent of what its children leave behind. A process that leaves its group, and may leave
/// its session and clear its environment, as daemons do, is found only so.
pub(crate) fn adopt_orphans() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        // Those of the shell in whose place we were started.
        known().extend(all().filter(|&pid| group_of_child(pid).is_some()));
        // Kernels have it since 3.4; without it such a process is not found.
        let _ = set_child_subreaper(true);
    });
}

/// Kills the adopted processes, and those that they leave behind in turn.
pub(crate) fn end_orphans() {
    let mut tried = BTreeSet::new();
    loop {
        let found: Vec<i32> =
            all().filter(|&pid| !tried.contains(&pid) && is_orphan(pid)).collect();
        if found.is_empty() {
            return;
        }
        found.iter().for_each(|&pid| kill_if(pid, || is_orphan(pid)));
        let deadline = lab::host::now() + KILLED_WITHIN;
        // One of another user may not be killed.
        while found.iter().any(|&pid| !reap_adopted(pid)) && lab::host::now() < deadline {
            lab::host::rest(Duration::from_millis(1));
        }
        tried.extend(found);
    }
}

/// Reaps the adopted processes that have ended: a system may leave more of them than there are numbers. While one of
/// ours is dead and not reaped, they may have to wait.
pub(crate) fn reap_orphans() {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    while let Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) = waitid(Id::All, look)
        && !known().contains(&pid.as_raw())
        && group_of_child(pid.as_raw()).is_some()
        && reap_adopted(pid.as_raw())
    {}
}

/// Reaps an adopted process if it has ended; returns true if it is gone.
fn reap_adopted(pid: i32) -> bool {
    let reap = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
    !matches!(waitid(Id::Pid(Pid::from_raw(pid)), reap), Ok(WaitStatus::StillAlive))
}

/// Returns true for an adopted process that has left the group of what `spawn` started: others are found by that.
fn is_orphan(pid: i32) -> bool {
    let known = known();
    !known.contains(&pid) && group_of_child(pid).is_some_and(|group| !known.contains(&group))
}

/// Returns the process group of a child of this process, unless it is ours: what is started otherwise than by `spawn`,
/// or by a library, stays in ours.
fn group_of_child(pid: i32) -> Option<i32> {
    let (parent, group) = lab::host::family_of(u32::try_from(pid).ok()?)?;
    (parent == getpid().as_raw() && group != getpgrp().as_raw()).then_some(group)
}

/// Returns the numbers of all processes that can be seen from here.
pub(crate) fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Kills the process of this number if it is `still` the one that is meant. `still` is called after
/// the pidfd is open: a process that gets the number meanwhile is not hit.
pub(crate) fn kill_if(pid: i32, still: impl FnOnce() -> bool) {
    if pid <= 0 {
        // To the kernel these are groups of processes, and 0 is our own.
        return;
    }
    let pidfd = open_pidfd(pid);
    // A process that is gone has no pidfd.
    if matches!(&pidfd, Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH)) || !still() {
        return;
    }
    match pidfd {
        Ok(pidfd) => {
            // SAFETY: takes numbers and a null pointer, which means no further information.
            unsafe {
                nix::libc::syscall(
                    nix::libc::SYS_pidfd_send_signal,
                    pidfd.as_raw_fd(),
                    nix::libc::SIGKILL,
                    std::ptr::null::<nix::libc::siginfo_t>(),
                    0,
                )
            };
        }
        // Kernels before 5.3, and some sandboxes, have no pidfd: only the number is left.
        Err(_) => drop(kill(Pid::from_raw(pid), Signal::SIGKILL)),
    }
}

/// Opens a file descriptor that refers to the process even if its number is reused.
fn open_pidfd(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes two numbers.
    let fd = unsafe { nix::libc::syscall(nix::libc::SYS_pidfd_open, pid, 0) };
    match i32::try_from(fd) {
        // SAFETY: the kernel has just opened it for us alone.
        Ok(fd) if 0 <= fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The error of a program that cannot be started. The kernel refuses a process beyond the limits as something to
/// try again.
pub(crate) fn not_started(program: &Path, error: &io::Error) -> anyhow::Error {
    let why = match error.kind() {
        io::ErrorKind::WouldBlock => {
            "this machine allows no further process; raise the limit of processes \
                                      (`ulimit -u`, or `pids.max` of the control group)"
                .to_owned()
        }
        _ => plain(error),
    };
    anyhow::anyhow!("cannot start {}: {why}", program.display())
}

/// Describes an end: `ended with exit code 1`, `was killed by SIGKILL`.
pub(crate) fn end_in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal().map(Signal::try_from)) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(Ok(signal))) => format!("was killed by {signal}"),
        (None, _) => "was killed".to_owned(),
    }
}
