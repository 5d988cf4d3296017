//! Experiments: reads a spec, searches loads, runs and judges trials. Every finished trial is in
//! the journal before the next begins.
//!
//! Nothing here makes load: the generator is a separate process. Nothing here sends requests to the
//! system under test while a trial measures.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use measure::Nanos;

use crate::backend::Stop;
use crate::http::Reply;
use crate::spec::Exchange;
use crate::wishes::Wishes;

pub mod spec;

pub mod course;
pub mod experiment;
pub mod plan;
pub mod search;
pub mod system;
pub mod trial;

pub mod calm;
pub mod doctor;
pub mod judge;
pub mod limits;
pub mod monitor;
pub mod queued;
pub mod seconds;
pub mod speed;
pub mod statistics;

pub mod advice;
pub mod answer;
pub mod asked;
pub mod comparison;
pub mod explanation;
pub mod past;
pub mod progress;
mod scaling;
pub mod wishes;

pub mod backend;

#[cfg(test)]
mod for_tests;
pub mod host;
mod http;
pub mod runtime;
pub mod trust;

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
    /// The folder of the lock and of the notes of this user's runs: see [`runtime`].
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

/// The interval at which a pause looks whether the run was interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The reason why a run did not come to an answer; finished trials are in the results directory.
#[derive(Debug)]
pub enum Error {
    /// The experiment is not valid: nothing was sent. Exit code 2.
    Question(anyhow::Error),
    /// No trustworthy answer was found. Exit code 3.
    NoAnswer(anyhow::Error),
    /// The user interrupted it before there was a results directory. Exit code 130.
    Interrupted,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Question(error) | Error::NoAnswer(error) => write!(f, "{error:#}"),
            Error::Interrupted => f.write_str("interrupted before anything was started"),
        }
    }
}

impl std::error::Error for Error {}

/// A stop that ends the run.
impl From<backend::Stop> for Error {
    fn from(stop: backend::Stop) -> Error {
        use backend::Stop;
        match stop {
            Stop::Question(error) => Error::Question(error),
            Stop::NoAnswer(error) => Error::NoAnswer(error),
            Stop::Interrupted => Error::Interrupted,
            Stop::Disturbed { cause } => Error::NoAnswer(anyhow::anyhow!(cause)),
            Stop::Died { component, why, last_lines } => {
                let lines: String = last_lines.iter().map(|line| format!("\n    {line}")).collect();
                let output = if lines.is_empty() { "" } else { "\n  its last output:" };
                Error::NoAnswer(anyhow::anyhow!("`{component}` {why}{output}{lines}"))
            }
        }
    }
}

impl From<results::directory::Error> for Error {
    fn from(error: results::directory::Error) -> Error {
        Error::NoAnswer(error.into())
    }
}
