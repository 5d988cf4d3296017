//! A guard against scripts that do not return: nothing else can end a compiled loop in Lua.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use script::Watch;

use console::output::{self, Exit};

/// The time that a script has to return after an interruption.
const GRACE: Duration = Duration::from_millis(1_500);
/// The interval at which an interruption is looked for.
const POLL: Duration = Duration::from_millis(100);

/// Ends the process if a script does not return from a call within its bound, or is still running some time
/// after an interruption, until this value is dropped.
pub(crate) struct Guard {
    _running: Sender<()>,
}

impl Guard {
    /// Begins to watch the callbacks, if there are any during this time.
    pub(crate) fn begin(interrupted: &Arc<AtomicBool>, mut watch: Option<Watch>) -> Guard {
        let (running, ended) = mpsc::channel();
        let interrupted = Arc::clone(interrupted);
        thread::spawn(move || {
            let mut left = GRACE;
            while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if interrupted.load(Ordering::Relaxed) {
                    left = left.saturating_sub(POLL);
                }
                if let Some(stuck) = watch.as_mut().and_then(|watch| watch.look(POLL)) {
                    output::error(&format!("error: {stuck}, so there is no result"));
                    process::exit(Exit::NoAnswer as i32);
                }
                if left.is_zero() {
                    output::error("interrupted: the script did not return, so there is no result");
                    process::exit(Exit::Interrupted as i32);
                }
            }
        });
        Guard { _running: running }
    }
}
