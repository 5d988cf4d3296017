//! A guard against scripts that do not return: nothing else can end a compiled loop in Lua.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use script::{Program, Watch};

use console::output::{self, Exit};

/// The time that a script has to return after an interruption.
const GRACE: Duration = Duration::from_millis(1_500);
/// The interval at which an interruption is looked for.
const POLL: Duration = Duration::from_millis(100);

/// The time in which the script runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum When {
    /// It is only loaded: nothing has been sent.
    Before,
    During,
    /// It gets the result, which is printed.
    After,
}

/// Ends the process if a script does not return from a call within its bound, or is still running some time
/// after an interruption, until this value is dropped.
pub(crate) struct Guard {
    _running: Sender<()>,
}

impl Guard {
    /// Begins to watch the calls.
    pub(crate) fn begin(interrupted: &Arc<AtomicBool>, mut watch: Watch, when: When) -> Guard {
        let (running, ended) = mpsc::channel();
        let interrupted = Arc::clone(interrupted);
        thread::spawn(move || {
            let mut left = GRACE;
            while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if interrupted.load(Ordering::Relaxed) {
                    left = left.saturating_sub(POLL);
                }
                if let Some(stuck) = watch.look(POLL) {
                    let (so, exit) = match when {
                        When::Before => ("", Exit::Question),
                        When::During => (", so there is no result", Exit::NoAnswer),
                        When::After => ("", Exit::NoAnswer),
                    };
                    output::error(&format!("error: {stuck}{so}"));
                    process::exit(exit as i32);
                }
                if left.is_zero() {
                    output::error("interrupted: the script did not return, so there is no result");
                    process::exit(Exit::Interrupted as i32);
                }
            }
        });
        Guard { _running: running }
    }

    /// Begins to watch a script while it is loaded: signals still end the process at once.
    pub(crate) fn before(program: &Program) -> Guard {
        Guard::begin(&Arc::default(), Watch::before(program), When::Before)
    }
}
