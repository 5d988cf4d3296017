//! Dates, and folder names with a date.

use std::path::{Path, PathBuf};

use measure::Civil;
use results::{names, regular};

use super::unix_seconds;

#[cfg(test)]
mod tests;

/// Returns `results/<name>-2026-11-21-0942`, in universal time; with a number added if it exists.
pub(crate) fn default_folder(name: &str) -> PathBuf {
    let base = format!("results/{name}-{}", date(unix_seconds()));
    let is_free = |name: &str| !regular::is_there(Path::new(name));
    names::free(base.clone(), |number| format!("{base}-{number}"), is_free).into()
}

/// Returns a date and time of day for people, in universal time: `2026-11-21 09:42`
pub fn dated(unix_seconds: u64) -> String {
    Civil::of(unix_seconds).to_string()
}

/// Returns the same for the name of a folder: `2026-11-21-0942`
fn date(unix_seconds: u64) -> String {
    let Civil { year, month, day, hour, minute, .. } = Civil::of(unix_seconds);
    format!("{year}-{month:02}-{day:02}-{hour:02}{minute:02}")
}
