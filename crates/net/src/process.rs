//! Counters and limits of the kernel for this process and its threads.

use std::path::Path;
use std::{fs, io};

use measure::Nanos;
use measure::quota::Growth;

#[cfg(test)]
mod tests;

/// A random number from the kernel, for a load that differs in each run.
pub fn entropy() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: `bytes` has room for the requested number of bytes.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(count, 8, "getrandom(2) returns so few bytes at once");
    u64::from_ne_bytes(bytes)
}

/// Raises the limit of open files to the maximum allowed, and returns it.
pub fn raise_open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid to write to and to read from.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return 1024;
        }
        limit.rlim_cur = limit.rlim_max;
        if libc::setrlimit(libc::RLIMIT_NOFILE, &limit) != 0 {
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        }
    }
    limit.rlim_cur
}

/// Returns true if a call failed since this process, or the system, had no file descriptor left.
pub fn lacks_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Returns true if this process is in the foreground of the terminal that its stderr is: in the
/// background the kernel would stop it when it changes the terminal's mode.
pub fn is_in_foreground() -> bool {
    // SAFETY: both calls take no pointers.
    unsafe { libc::tcgetpgrp(libc::STDERR_FILENO) == libc::getpgrp() }
}

/// Waits until the terminal that stderr is has something to read; returns false if it has nothing after
/// `most`.
///
/// # Errors
///
/// The terminal has hung up: its window was closed, or the connection to it was lost.
pub fn wait_for_key(most: Nanos) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLIN, revents: 0 };
    let most = i32::try_from(most.0.div_ceil(1_000_000)).unwrap_or(i32::MAX);
    // SAFETY: `polled` is one valid entry.
    let ready = unsafe { libc::poll(&mut polled, 1, most) };
    let error = io::Error::last_os_error();
    match ready {
        // A signal is not an end: the caller looks again.
        -1 if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        -1 => Err(error),
        _ if polled.revents & !libc::POLLIN != 0 => Err(io::ErrorKind::NotConnected.into()),
        ready => Ok(ready == 1),
    }
}

/// Gives this thread its own copy of the table of open files: the kernel then finds a socket
/// without counting its other users, which takes some 3 % of a request. Other threads do not see
/// what is opened from now on, so it must be closed here. If it is refused nothing changes.
pub fn own_files() {
    // SAFETY: a call without pointers.
    unsafe { libc::unshare(libc::CLONE_FILES) };
}

/// A thread of this process, by its id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Thread(libc::pid_t);

impl Thread {
    pub fn current() -> Thread {
        // SAFETY: a call without pointers.
        Thread(unsafe { libc::gettid() })
    }

    /// The time that it was runnable while another thread ran on its CPU. `None` where the kernel
    /// does not count it, and for a thread that has ended.
    pub fn run_queue_wait(self) -> Option<Nanos> {
        let text = fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.0)).ok()?;
        run_queue_wait(&text)
    }
}

/// Parses the contents of a thread's `schedstat`.
pub(crate) fn run_queue_wait(schedstat: &str) -> Option<Nanos> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Nanos)
}

/// Returns the time that the hypervisor gave to others while a CPU wanted to run, of each of these CPUs.
/// `None` for what the kernel does not count.
pub fn stolen(cpus: &[u32]) -> Vec<Option<Nanos>> {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    cpus.iter().map(|&cpu| stolen_of(cpu, &text)).collect()
}

fn stolen_of(cpu: u32, stat: &str) -> Option<Nanos> {
    let name = format!("cpu{cpu}");
    let line = stat.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
    let ticks: u64 = line.split_whitespace().nth(8)?.parse().ok()?;
    Some(Nanos(ticks * 1_000_000_000 / ticks_per_second()))
}

/// The counters of the CPU quota of one cgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quota {
    /// The time that it stopped the group, added up over CPUs.
    pub time: Nanos,
    /// The CPU time that the group used; zero where it is not counted.
    pub ran: Nanos,
    /// The periods in which it stopped the group, and all of them.
    pub stopped: u64,
    pub periods: u64,
}

impl Quota {
    /// Returns the share of a time in which it stopped the group, from earlier counters on; at most.
    pub fn share_since(&self, earlier: &Quota, length: Nanos) -> f64 {
        let growth = |now: u64, then: u64| now.saturating_sub(then) as f64;
        let of_length = |now: Nanos, then: Nanos| growth(now.0, then.0) / length.0 as f64;
        let periods =
            (growth(self.stopped, earlier.stopped), growth(self.periods, earlier.periods));
        let growth = Growth {
            stopped: of_length(self.time, earlier.time),
            ran: of_length(self.ran, earlier.ran),
            periods: Some(periods),
        };
        growth.stopped_share()
    }
}

/// Returns the CPU quotas that can keep this process from running: those of its own cgroup and of all
/// parents, always in the same order.
pub fn quotas() -> Vec<Quota> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let Some((controllers, group)) = fields.next().zip(fields.next()) else { continue };
        let roots: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            _ if controllers.split(',').any(|name| name == "cpu") => {
                &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
            }
            _ => continue,
        };
        let in_roots = roots.iter().map(|root| quotas_in(Path::new(root), group));
        found.extend(in_roots.into_iter().find(|found| !found.is_empty()).unwrap_or_default());
    }
    found
}

/// Returns those of a cgroup and of all its parents.
fn quotas_in(root: &Path, group: &str) -> Vec<Quota> {
    let group = root.join(group.trim_start_matches('/'));
    let groups = group.ancestors().take_while(|path| path.starts_with(root));
    let read = |path: &Path, file: &str| fs::read_to_string(path.join(file)).ok();
    let of = |path| quota(&read(path, "cpu.stat")?, read(path, "cpuacct.usage").as_deref());
    groups.filter_map(of).collect()
}

/// Parses `cpu.stat`: version 1 counts nanoseconds, and the CPU time in a file of its own; version 2 counts
/// microseconds.
fn quota(stat: &str, usage: Option<&str>) -> Option<Quota> {
    let value = |of: &str| {
        let (_, value) =
            stat.lines().filter_map(|l| l.split_once(' ')).find(|(name, _)| *name == of)?;
        value.trim().parse::<u64>().ok()
    };
    let time = value("throttled_time").map(Nanos);
    let time = time.or_else(|| value("throttled_usec").map(Nanos::from_micros))?;
    let usage = || usage?.trim().parse().ok().map(Nanos);
    let ran = value("usage_usec").map(Nanos::from_micros).or_else(usage).unwrap_or_default();
    Some(Quota { time, ran, stopped: value("nr_throttled")?, periods: value("nr_periods")? })
}

fn ticks_per_second() -> u64 {
    // SAFETY: a call without pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&ticks| 0 < ticks).unwrap_or(100)
}
