//! A machine at one moment: the texts of its files, and what was measured on it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use measure::{Instant, Nanos};

use crate::calm::Spin;
use crate::spec::{Cpus, Literal};

/// The reason why a file is not there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Missing {
    Absent,
    Forbidden,
}

/// The texts of files, by their paths below the root: `proc/stat`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files(pub BTreeMap<String, Result<String, Missing>>);

impl Files {
    /// Returns the text of a file without the white space around it.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref().ok().map(str::trim)
    }

    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Returns the files whose paths have this beginning and this end, with the part in between.
    pub fn between<'a>(
        &'a self,
        beginning: &'a str,
        end: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let from = self.0.range(beginning.to_owned()..);
        let of = from.take_while(move |(path, _)| path.starts_with(beginning));
        of.filter_map(move |(path, text)| {
            let middle = path.strip_prefix(beginning)?.strip_suffix(end)?;
            Some((middle, text.as_deref().ok()?.trim()))
        })
    }

    /// Returns the CPUs that the kernel schedules on.
    pub fn online(&self) -> Cpus {
        let list = self.text("sys/devices/system/cpu/online");
        let listed = list.and_then(|list| Cpus::read(list).ok());
        listed.unwrap_or_else(|| {
            let stat = self.text("proc/stat").unwrap_or_default();
            let number = |line: &str| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok();
            Cpus(stat.lines().filter_map(number).collect())
        })
    }

    /// Returns the time since the machine began.
    pub fn uptime(&self) -> Option<Nanos> {
        let seconds: f64 = self.text("proc/uptime")?.split(' ').next()?.parse().ok()?;
        (0.0 <= seconds).then(|| Nanos::from_secs_f64(seconds))
    }
}

/// A disk as a store needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// True for one that turns; absent if the kernel does not say it.
    pub turns: Option<bool>,
    /// The measured rate of random reads of 4 KiB, or the reason why there is none.
    pub reads_per_s: Option<Result<f64, String>>,
}

/// A machine at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    pub files: Files,
    pub at: Instant,
    /// True for the moment at which all counters were zero.
    pub is_begin: bool,
    /// The new lines of the kernel's log since the look before.
    pub log: Vec<String>,
    /// One spin on each CPU; empty if none was made.
    pub spins: Vec<Spin>,
    /// The mean time of a reading of the clock.
    pub clock_read: Option<Nanos>,
    /// The disks of the folders of stores.
    pub disks: BTreeMap<PathBuf, Disk>,
    /// The digests of the programs, by name.
    pub binaries: BTreeMap<String, String>,
    /// True if the file of the running program was replaced.
    pub is_replaced: bool,
}

impl Look {
    /// Returns the moment at which the machine of a recorded look began: all its counters were zero.
    pub fn begin_of(recorded: &Look) -> Option<Look> {
        let uptime = recorded.files.uptime()?;
        let at = Instant(recorded.at.0.saturating_sub(uptime.0));
        Some(Look { at, is_begin: true, ..Look::default() })
    }
}
