//! The start of a load by hand: several generators open their connections, and then begin together.
//!
//! What they are told and what they answer is one line each. The answers are JSON on stderr, with
//! times of this machine's monotonic clock: a runner that notes when it sent a line and when it got
//! the answer knows the difference of the clocks to half of that time.

use std::io::{self, BufRead};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use load::measurement::Failure;
use measure::{Instant, Nanos};
use results::said::Said;

use console::output;

#[cfg(test)]
mod tests;

/// The interval at which a waiting load looks whether it was interrupted.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// The longest time from the line to the beginning.
const MOST: Nanos = Nanos::from_secs(3600);

/// The lines of standard input, read by a thread of their own.
/// Only the shard that arrives last waits for them.
pub(super) struct Lines(Mutex<Receiver<String>>);

/// A line that was understood.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Told {
    StartIn(Nanos),
    Clock,
}

impl Lines {
    pub(super) fn read() -> Lines {
        let (sender, lines) = mpsc::sync_channel(16);
        // It waits for its input for as long as the process runs.
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Lines(Mutex::new(lines))
    }

    /// Says that the load is ready, and waits until it is told to start.
    pub(super) fn await_start(&self, stop: &AtomicBool) -> Result<Instant, Failure> {
        let lines = self.0.lock().expect("nobody panics while it reads them");
        output::said(&Said::Ready { now_ns: net::clock::now().0 });
        loop {
            let line = match lines.recv_timeout(POLL_EVERY) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    return Err(Failure::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "standard input ended before a line said `start in TIME`";
                    return Err(Failure::Machine(why.to_owned()));
                }
            };
            let now = net::clock::now();
            match understand(&line) {
                Ok(Told::StartIn(wait)) => {
                    output::said(&Said::Start { now_ns: now.0, start_ns: (now + wait).0 });
                    return Ok(now + wait);
                }
                Ok(Told::Clock) => output::said(&Said::Clock { now_ns: now.0 }),
                Err(why) => output::said(&Said::NotUnderstood { now_ns: now.0, why }),
            }
        }
    }
}

fn understand(line: &str) -> Result<Told, String> {
    let wrong = || format!("`{line}` is neither `clock` nor for example `start in 2s`");
    if line.trim() == "clock" {
        return Ok(Told::Clock);
    }
    let wait = line.trim().strip_prefix("start in ").ok_or_else(wrong)?;
    let wait: Nanos = wait.parse().map_err(|_| wrong())?;
    match wait <= MOST {
        true => Ok(Told::StartIn(wait)),
        false => Err(format!("`{line}`: a start lies at most {MOST} ahead")),
    }
}
