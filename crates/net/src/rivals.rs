//! Detects other threads that want the CPU that a thread waits on.
//!
//! The thread then should not spin for long: it would take the CPU from them, perhaps from the
//! target itself, and the kernel would make it wait for them later.

use std::fs::File;
use std::os::unix::fs::FileExt;

use measure::{Instant, Nanos};

use crate::process;

#[cfg(test)]
mod tests;

/// The interval between two readings of the kernel's counter.
const STEP: Nanos = Nanos::from_millis(500);
/// A CPU is shared if a thread had to wait for it for more than this share of the time. The hiccup
/// meter, which runs beside a shard, takes 1–2 %, and a pause of the machine some ms.
const SHARED: f64 = 0.1;
/// The time for which the CPU then counts as shared.
const HELD: Nanos = Nanos::from_secs(5);

/// The rivals of one thread; only that thread uses it.
#[derive(Debug, Default)]
pub(crate) struct Rivals {
    counts: Option<File>,
    next_look: Instant,
    judge: Judge,
}

impl Rivals {
    #[cfg(test)]
    pub(crate) fn never_looking() -> Rivals {
        Rivals { next_look: Instant::NEVER, ..Rivals::default() }
    }

    /// True if there were rivals recently; false where the kernel does not count the waiting.
    pub(crate) fn are_there(&mut self, now: Instant) -> bool {
        if self.next_look <= now {
            self.next_look = now + STEP;
            if let Some(waited) = self.run_queue_wait() {
                self.judge.look(now, waited);
            }
        }
        now < self.judge.until
    }

    /// Reads the counter without allocating, unlike [`process::Thread::run_queue_wait`].
    fn run_queue_wait(&mut self) -> Option<Nanos> {
        if self.counts.is_none() {
            self.counts = File::open("/proc/thread-self/schedstat").ok();
        }
        // The file contains three numbers.
        let mut text = [0; 96];
        let length = self.counts.as_ref()?.read_at(&mut text, 0).ok()?;
        process::run_queue_wait(str::from_utf8(&text[..length]).ok()?)
    }
}

/// Decides by how long the thread was runnable, but did not run.
#[derive(Debug, Default)]
struct Judge {
    last: Option<(Instant, Nanos)>,
    until: Instant,
}

impl Judge {
    fn look(&mut self, now: Instant, waited: Nanos) {
        if let Some((last, before)) = self.last.replace((now, waited)) {
            let share = waited.saturating_sub(before).as_secs_f64() / (now - last).as_secs_f64();
            if SHARED < share {
                self.until = now + HELD;
            }
        }
    }
}
