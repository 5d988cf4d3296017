//! Experiments: a spec is read, loads are searched, trials are run and judged, and every finished
//! trial is in the journal before the next begins.
//!
//! Nothing here makes load: the generator is a process of its own. Nothing here talks to the system
//! under test while a trial measures.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub mod spec;

pub mod experiment;
pub mod search;
pub mod system;
pub mod trial;

pub mod calm;
pub mod generator;
pub mod judge;
pub mod limits;
pub mod queued;
pub mod seconds;
pub mod statistics;

pub mod answer;
pub mod progress;

pub mod backend;

mod host;
mod http;
mod remains;

pub use remains::clean;

/// What a run needs to know of the process and the machine it runs in.
#[derive(Clone, Debug)]
pub struct Host {
    /// Our own executable: it is also the generator and starts the reference applications.
    pub benchwright: PathBuf,
    /// The tool's version, for the record.
    pub version: String,
    /// Set when somebody wants the run to end; looked at several times a second.
    pub interrupted: Arc<AtomicBool>,
    /// Held by the one experiment that measures on this host. Not in `temporary`, which each user
    /// may have of their own: `/tmp/benchwright.lock`.
    pub lock: PathBuf,
    /// Where the components' temporary files are.
    pub temporary: PathBuf,
    /// Where the control groups are mounted: `/sys/fs/cgroup`.
    pub cgroups: PathBuf,
}

impl Host {
    pub fn new(benchwright: PathBuf, version: &str) -> Host {
        Host {
            benchwright,
            version: version.to_owned(),
            interrupted: Arc::default(),
            lock: PathBuf::from("/tmp/benchwright.lock"),
            temporary: std::env::temp_dir(),
            cgroups: PathBuf::from("/sys/fs/cgroup"),
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// Why a run did not come to an answer; what was finished is in the results directory.
#[derive(Debug)]
pub enum Error {
    /// The question is wrong: nothing was sent. Exit code 2.
    Question(anyhow::Error),
    /// There is no trustworthy answer. Exit code 3.
    NoAnswer(anyhow::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Error::Question(error) | Error::NoAnswer(error)) = self;
        write!(f, "{error:#}")
    }
}

impl std::error::Error for Error {}

impl From<results::directory::Error> for Error {
    fn from(error: results::directory::Error) -> Error {
        Error::NoAnswer(error.into())
    }
}
