//! The log of a server or a client, in the form of the scripts of the original: a folder for each run,
//! and `latest`, which leads to the newest.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use console::output::{self, Failure};
use lab::host;
use measure::Nanos;
use net::process;
use results::{regular, trust};

#[cfg(test)]
mod tests;

/// A log that is open. Each line goes to the file and to stderr.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Creates a folder for this run in `logs/SIDE`, and the file in it, for its owner alone.
    pub(crate) fn create(logs: &Path, side: &str, name: &str) -> Result<Journal, Failure> {
        let folder = logs.join(side);
        let refuse = |why: &str, remedy: &str| {
            Failure::question(format!("--logs {}: {why}\n  {remedy}", regular::shown(logs)))
        };
        check(logs, &folder)
            .map_err(|why| refuse(&why, "move it away, or choose another folder with --logs"))?;
        Journal::created(&folder, name).map_err(|error| {
            refuse(&regular::in_words(&error), "choose a folder that can be written with --logs")
        })
    }

    fn created(folder: &Path, name: &str) -> io::Result<Journal> {
        // Two that start in the same second have folders of their own.
        let run = format!("{}-{}", host::unix().0 / 1_000_000_000, std::process::id());
        let place = folder.join(&run);
        fs::create_dir_all(&place)?;
        let path = place.join(name);
        let opened = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
        // Without its link nobody finds an empty log: it is removed.
        let file = opened.and_then(|file| {
            link(folder, &run).inspect_err(|_| drop(fs::remove_file(&path)))?;
            Ok(file)
        });
        let file = file.inspect_err(|_| drop(fs::remove_dir(&place)))?;
        Ok(Journal { file, path })
    }

    /// Writes a line of this module. A disk that is full does not stop a server: the line is on stderr,
    /// too.
    pub(crate) fn info(&mut self, module: &str, message: &str) {
        let line = line(host::unix(), module, message);
        let _ = self.file.write_all(format!("{line}\n").as_bytes());
        output::error(&line);
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// The name of the link to the newest log.
const LATEST: &str = "latest";

/// Returns why a log may not be made in a folder: before anything is made there.
fn check(logs: &Path, folder: &Path) -> Result<(), String> {
    for place in [logs, folder] {
        if !regular::is_there(place) {
            return Ok(());
        }
        let why = match place.is_dir() {
            true => trust::check_place(place).err().map(|error| regular::plain(&error)),
            false => Some("it is not a folder".to_owned()),
        };
        if let Some(why) = why {
            return Err(format!("{} cannot be used: {why}", regular::shown(place)));
        }
    }
    let latest = folder.join(LATEST);
    match fs::symlink_metadata(&latest) {
        Ok(found) if !found.is_symlink() => {
            Err(format!("{} is not a link, which the newest log replaces", regular::shown(&latest)))
        }
        _ => Ok(()),
    }
}

/// Has the link lead to a run. It is replaced by a rename: nobody ever finds none.
fn link(folder: &Path, run: &str) -> io::Result<()> {
    let new = folder.join(format!(".{LATEST}-{:x}", process::entropy()));
    symlink(run, &new)?;
    fs::rename(&new, folder.join(LATEST)).inspect_err(|_| drop(fs::remove_file(&new)))
}

fn line(since_1970: Nanos, module: &str, message: &str) -> String {
    let (seconds, rest) = (since_1970.0 / 1_000_000_000, since_1970.0 % 1_000_000_000);
    format!("[{seconds}.{rest:09}]::INFO::{module}:: {message}")
}

/// Prints a size in the unit of the original: `16 GB` are 16 · 2^30 bytes.
pub(super) fn size(bytes: u64) -> String {
    let units = [(30, "GB"), (20, "MB"), (10, "KB")];
    scaled(bytes, units).unwrap_or_else(|| format!("{bytes} B"))
}

/// Prints a number of buckets in the same way: `128 M` are 128 · 2^20.
pub(super) fn number(count: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    scaled(count, units).unwrap_or_else(|| count.to_string())
}

/// Prints a number in the largest of these powers of two that it is a multiple of, or with decimals in the
/// largest that is below it.
fn scaled(number: u64, units: [(u32, &str); 3]) -> Option<String> {
    let &(bits, unit) = units.iter().find(|(bits, _)| 1 << bits <= number)?;
    let whole = number >> bits;
    Some(match number == whole << bits {
        true => format!("{whole} {unit}"),
        false => format!("{:.2} {unit}", number as f64 / (1u64 << bits) as f64),
    })
}
