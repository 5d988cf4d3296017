//! Whether other threads want the CPU that a thread waits on.
//!
//! Then it should not spin for long: it would take the CPU from them, perhaps from the target itself,
//! and the kernel would make it wait for them all the same.

use std::fs::File;
use std::os::unix::fs::FileExt;

use measure::{Instant, Nanos};

use crate::process;

#[cfg(test)]
mod tests;

/// How often the kernel is asked.
const STEP: Nanos = Nanos::from_millis(500);
/// The share of time that a thread was kept waiting for its CPU from which on the CPU is shared. The
/// hiccup meter, which runs beside a shard, takes 1–2 %, and a pause of the machine some ms.
const SHARED: f64 = 0.1;
/// How long the CPU is then taken to be shared.
const HELD: Nanos = Nanos::from_secs(5);

/// Of one thread, which is the only one to use it.
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

    /// Whether there have been any of late. Where the kernel does not count it, there are none.
    pub(crate) fn are_there(&mut self, now: Instant) -> bool {
        if self.next_look <= now {
            self.next_look = now + STEP;
            if let Some(waited) = self.run_queue_wait() {
                self.judge.look(now, waited);
            }
        }
        now < self.judge.until
    }

    /// Allocates nothing, unlike [`process::Thread::run_queue_wait`].
    fn run_queue_wait(&mut self) -> Option<Nanos> {
        if self.counts.is_none() {
            self.counts = File::open("/proc/thread-self/schedstat").ok();
        }
        // Three numbers.
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
