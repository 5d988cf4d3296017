//! The number of requests that a process has in progress, and how many of them wait for other
//! processes, as integrals over time: the mean number over any interval is the growth of the
//! integral divided by its length (Little's law). Readers use a file, so a busy process gets no
//! request for it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use nix::time::{ClockId, clock_gettime};
use tokio::time;

#[cfg(test)]
mod tests;

/// The interval at which the file is rewritten.
const BETWEEN_LINES: Duration = Duration::from_millis(500);

/// The length to which a line is padded, so that a shorter line overwrites all of a longer one.
const LINE: usize = 200;

/// The requests of one process.
#[derive(Debug, Default)]
pub struct Statistics {
    served: Level,
    with_others: Level,
    calls: AtomicU64,
    connections: AtomicI64,
    refused: AtomicU64,
}

/// Something that is in progress until this is dropped.
#[derive(Debug)]
pub struct Entry {
    statistics: Arc<Statistics>,
    of: fn(&Statistics) -> &Level,
}

impl Statistics {
    /// Counts a new request; it is in progress until the entry is dropped.
    pub fn serve(self: &Arc<Self>) -> Entry {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Entry::new(self, |statistics| &statistics.served)
    }

    /// Counts a call of another process; it waits for the reply until the entry is dropped.
    pub fn ask(self: &Arc<Self>) -> Entry {
        Entry::new(self, |statistics| &statistics.with_others)
    }

    /// Returns the number of requests in progress.
    pub fn in_hand(&self) -> usize {
        usize::try_from(self.served.count.load(Ordering::Relaxed)).unwrap_or_default()
    }

    pub fn connected(&self, by: i64) {
        self.connections.fetch_add(by, Ordering::Relaxed);
    }

    /// Counts something that was refused because a bound was reached.
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns everything as one line of JSON. Times are in nanoseconds, `at_ns` is of
    /// CLOCK_MONOTONIC.
    fn line(&self, now: i64) -> String {
        let json = serde_json::json!({
            "at_ns": now,
            "calls": self.calls.load(Ordering::Relaxed),
            "in_service_ns": self.served.integral(now),
            "in_others_ns": self.with_others.integral(now),
            "connections": self.connections.load(Ordering::Relaxed),
            "refused": self.refused.load(Ordering::Relaxed),
        });
        format!("{:<LINE$}\n", json.to_string())
    }
}

impl Entry {
    fn new(statistics: &Arc<Statistics>, of: fn(&Statistics) -> &Level) -> Self {
        of(statistics).enter(now());
        Entry { statistics: Arc::clone(statistics), of }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        (self.of)(&self.statistics).leave(now());
    }
}

/// The number of entries, and its integral over time.
///
/// Each entry contributes its length, which is its end less its beginning, or the present less its
/// beginning. So the sum of all ends less the sum of all beginnings is enough.
#[derive(Debug, Default)]
struct Level {
    count: AtomicI64,
    ends_less_beginnings: AtomicI64,
}

impl Level {
    fn enter(&self, now: i64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.ends_less_beginnings.fetch_sub(now, Ordering::Relaxed);
    }

    fn leave(&self, now: i64) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.ends_less_beginnings.fetch_add(now, Ordering::Relaxed);
    }

    fn integral(&self, now: i64) -> i64 {
        // The sum may wrap round between a beginning and its end; the difference is still correct.
        let open = self.count.load(Ordering::Relaxed).wrapping_mul(now);
        self.ends_less_beginnings.load(Ordering::Relaxed).wrapping_add(open)
    }
}

/// Writes the statistics into a file twice a second, without end.
pub async fn keep(statistics: Arc<Statistics>, path: &Path) -> anyhow::Result<()> {
    let place = || format!("writing the statistics {}", path.display());
    let file = File::create(path).with_context(place)?;
    loop {
        file.write_all_at(statistics.line(now()).as_bytes(), 0).with_context(place)?;
        time::sleep(BETWEEN_LINES).await;
    }
}

/// Returns CLOCK_MONOTONIC in nanoseconds: all processes of the machine share it.
pub(crate) fn now() -> i64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}
