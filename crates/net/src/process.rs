//! Counters and limits of the kernel for this process and its threads.

use std::path::Path;
use std::{fs, io};

use measure::Nanos;

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

/// The time that the hypervisor gave to others while one of these CPUs wanted to run.
pub fn stolen(cpus: &[u32]) -> Option<Nanos> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let mut ticks = 0;
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let cpu = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
        if cpu.is_some_and(|cpu| cpus.contains(&cpu)) {
            ticks += fields.nth(7)?.parse::<u64>().ok()?;
        }
    }
    Some(Nanos(ticks * 1_000_000_000 / ticks_per_second()))
}

/// The time that CPU quotas have kept this process from running: those of its own cgroup and of all
/// parents. `None` if no cgroup reports it.
pub fn throttled() -> Option<Nanos> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut total = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let roots: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            _ if controllers.split(',').any(|name| name == "cpu") => {
                &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
            }
            _ => continue,
        };
        if let Some(found) = roots.iter().find_map(|root| throttled_in(Path::new(root), group)) {
            total = Some(total.unwrap_or(Nanos::ZERO) + found);
        }
    }
    total
}

/// The sum over a cgroup and all its parents.
fn throttled_in(root: &Path, group: &str) -> Option<Nanos> {
    let group = root.join(group.trim_start_matches('/'));
    let found: Vec<Nanos> = group
        .ancestors()
        .take_while(|path| path.starts_with(root))
        .filter_map(|path| throttled_time(&fs::read_to_string(path.join("cpu.stat")).ok()?))
        .collect();
    (!found.is_empty()).then(|| found.into_iter().sum())
}

/// Parses `cpu.stat`: version 1 counts nanoseconds, version 2 microseconds.
fn throttled_time(stat: &str) -> Option<Nanos> {
    stat.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value = value.trim().parse().ok()?;
        match name {
            "throttled_time" => Some(Nanos(value)),
            "throttled_usec" => Some(Nanos::from_micros(value)),
            _ => None,
        }
    })
}

fn ticks_per_second() -> u64 {
    // SAFETY: a call without pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&ticks| 0 < ticks).unwrap_or(100)
}
