//! The process and the machine of a run, and what the user wants of it meanwhile.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use measure::Nanos;

use super::Stop;
use crate::http::{self, Reply};
use crate::spec::Exchange;
use crate::wishes::Wishes;
use crate::{host, runtime};

/// The interval at which a pause looks whether the run was interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The process and the machine of a run.
#[derive(Clone, Debug)]
pub struct Host {
    /// Our own executable: it is also the generator and starts the reference applications.
    pub benchwright: PathBuf,
    /// The tool's version, for the record.
    pub version: String,
    /// Set to interrupt the run; checked several times a second.
    pub interrupted: Arc<AtomicBool>,
    /// Other wishes of the user; checked as often.
    pub wishes: Arc<Wishes>,
    /// The folder of the lock and of the notes of this user's runs: see `runtime`.
    pub runtime: PathBuf,
    /// The folder of the components' temporary files.
    pub temporary: PathBuf,
    /// The mount point of the control groups: `/sys/fs/cgroup`.
    pub cgroups: PathBuf,
}

impl Host {
    pub fn new(benchwright: PathBuf, version: &str) -> Host {
        Host {
            benchwright,
            version: version.to_owned(),
            interrupted: Arc::default(),
            wishes: Arc::default(),
            runtime: runtime::folder(),
            temporary: std::env::temp_dir(),
            cgroups: PathBuf::from("/sys/fs/cgroup"),
        }
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Sends one request and waits for its response, unless the run is interrupted.
    pub fn ask(&self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        http::ask(url, exchange, host::now, || self.is_interrupted())
    }

    /// Fails if the run was interrupted.
    pub fn check_interrupt(&self) -> Result<(), Stop> {
        if self.is_interrupted() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// Fails if the load that is being made has to end: the run was interrupted, or the user wants the
    /// trial to be repeated.
    pub fn check_load(&self) -> Result<(), Stop> {
        self.check_interrupt()?;
        match self.wishes.repeats_trial() {
            true => Err(Stop::Disturbed { cause: "ended by the user, to be repeated".to_owned() }),
            false => Ok(()),
        }
    }

    /// Waits as long as the user wants the run to pause, unless it is interrupted.
    pub(crate) fn await_go(&self) -> Result<(), Stop> {
        while self.wishes.is_paused() {
            self.check_interrupt()?;
            host::rest(LOOK_EVERY);
        }
        Ok(())
    }

    /// Waits, unless the run is interrupted.
    pub fn pause(&self, length: Nanos) -> Result<(), Stop> {
        let end = host::now() + length;
        loop {
            self.check_interrupt()?;
            let left = Duration::from(end.saturating_since(host::now()));
            if left.is_zero() {
                return Ok(());
            }
            host::rest(left.min(LOOK_EVERY));
        }
    }
}
