//! The host of a run: its clock, waiting, and a unique name for each run.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use measure::{Instant, Nanos};
use nix::time::{ClockId, clock_gettime};

pub use dates::dated;
pub(crate) use dates::default_folder;

mod dates;

#[cfg(test)]
mod tests;

/// Returns the time of the host's monotonic clock, with which the generator stamps its phases too.
pub fn now() -> Instant {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    Instant(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Returns the time since 1970.
pub fn unix() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has a clock");
    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
    Nanos(seconds * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Returns the seconds since 1970.
pub fn unix_seconds() -> u64 {
    whole_seconds(unix())
}

/// Returns the whole seconds of a time since 1970: for what is dated in seconds, and never for a window.
pub fn whole_seconds(date: Nanos) -> u64 {
    date.0 / Nanos::SECOND.0
}

/// Returns the identity of this machine's boot.
pub fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Waits. The one place where the runner waits for time to pass.
#[expect(
    clippy::disallowed_methods,
    reason = "backends on a real machine are where real time passes"
)]
pub fn rest(length: Duration) {
    std::thread::sleep(length);
}

/// A run, identified by its process: the number alone may be reused by another process later.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct RunId {
    pub pid: u32,
    /// The time when the process began, in the kernel's ticks since boot.
    pub start: u64,
    /// Counts the runs of one process.
    number: u32,
}

impl RunId {
    /// Creates the identity of a new run of this process.
    pub fn next() -> RunId {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let start = start_of(pid).expect("this process is alive");
        RunId { pid, start, number: RUNS.fetch_add(1, Ordering::Relaxed) }
    }

    /// Reads `<prefix><pid>-<start>` and `<prefix><pid>-<start>-<number>`.
    pub fn parse(name: &str, prefix: &str) -> Option<RunId> {
        let mut parts = name.strip_prefix(prefix)?.split('-');
        let pid = parts.next()?.parse().ok()?;
        let start = parts.next()?.parse().ok()?;
        let number = parts.next().map_or(Some(0), |part| part.parse().ok())?;
        parts.next().is_none().then_some(RunId { pid, start, number })
    }

    pub fn is_alive(&self) -> bool {
        start_of(self.pid) == Some(self.start)
    }
}

/// Written as `4711-829312`; further runs of the same process are numbered.
impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.pid, self.start)?;
        if 0 < self.number { write!(f, "-{}", self.number) } else { Ok(()) }
    }
}

/// Returns the time when a living process began.
pub fn start_of(pid: u32) -> Option<u64> {
    group_of(pid).map(|(_, start)| start)
}

/// Returns the process group of a living process and the time when the process began: the 5th and
/// the 22nd field of its stat. Fields are counted behind the process name, which may hold any
/// character.
pub fn group_of(pid: u32) -> Option<(u32, u64)> {
    let fields = stat_of(pid)?;
    let is_dead = matches!(fields.first()?.as_str(), "Z" | "X");
    let group = fields.get(2)?.parse().ok()?;
    (!is_dead).then_some((group, fields.get(19)?.parse().ok()?))
}

/// Returns the parent and the process group of a process, which may have ended and not be reaped: the 4th and the
/// 5th field.
pub fn family_of(pid: u32) -> Option<(i32, i32)> {
    let fields = stat_of(pid)?;
    Some((fields.get(1)?.parse().ok()?, fields.get(2)?.parse().ok()?))
}

/// Returns the fields of a process's stat from the 3rd on.
fn stat_of(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    Some(behind_name.split_whitespace().map(str::to_owned).collect())
}
