//! The log of a server or a client, in the form of the scripts of the original: a folder for each run,
//! and `latest`, which leads to the newest.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use console::output::{self, Failure};
use lab::host;
use measure::Nanos;
use net::process;

#[cfg(test)]
mod tests;

/// A log that is open. Each line goes to the file and to stderr.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Creates a folder for this run in `logs/SIDE`, and the file in it.
    pub(crate) fn create(logs: &Path, side: &str, name: &str) -> Result<Journal, Failure> {
        let created = Journal::created(&logs.join(side), name);
        created.map_err(|error| {
            Failure::question(format!(
                "--logs {}: {error}\n  choose a folder that can be written with --logs",
                results::regular::shown(logs)
            ))
        })
    }

    fn created(folder: &Path, name: &str) -> io::Result<Journal> {
        // Two that start in the same second have folders of their own.
        let run = format!("{}-{}", host::unix().0 / 1_000_000_000, std::process::id());
        fs::create_dir_all(folder.join(&run))?;
        let path = folder.join(&run).join(name);
        let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
        // A link is replaced by a rename: nobody ever finds none.
        let new = folder.join(format!(".latest-{:x}", process::entropy()));
        symlink(&run, &new)?;
        fs::rename(&new, folder.join("latest")).inspect_err(|_| drop(fs::remove_file(&new)))?;
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
