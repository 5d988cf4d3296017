//! The runtime folder of a user: the place of what the runs of one user must find of each other, the lock
//! of the host and the notes of what each run has made.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nix::unistd::{AccessFlags, access, geteuid};
use results::{regular, trust};

#[cfg(test)]
mod tests;

/// The variable that chooses another folder, such as for tests that run beside an experiment.
pub const VARIABLE: &str = "BENCHWRIGHT_RUNTIME";
const NAME: &str = "benchwright";
const REMEDY: &str = "set BENCHWRIGHT_RUNTIME to a folder of your own";

/// Returns the runtime folder of this user: in a place where nobody else can prepare it, if there is one.
pub fn folder() -> PathBuf {
    chosen(std::env::var_os(VARIABLE), geteuid().as_raw(), Path::new("/run"))
}

/// Not by `XDG_RUNTIME_DIR`: a session and a scheduled job of one user must find the same lock.
fn chosen(variable: Option<OsString>, user: u32, system: &Path) -> PathBuf {
    if let Some(chosen) = variable.filter(|chosen| !chosen.is_empty()) {
        return PathBuf::from(chosen);
    }
    let of_user = system.join(format!("user/{user}"));
    if user == 0 && access(system, AccessFlags::W_OK).is_ok() {
        system.join(NAME)
    } else if trust::check_folder(&of_user).is_ok() {
        of_user.join(NAME)
    } else {
        // Others may have prepared it: then it is refused.
        std::env::temp_dir().join(format!("{NAME}-{user}"))
    }
}

/// Makes the runtime folder if it is missing.
pub fn make(path: &Path) -> anyhow::Result<()> {
    check_place(path)?;
    checked(path, trust::make_folder(path))
}

/// Returns why the runtime folder cannot be used, if it cannot. It may be missing: then it will be made.
pub fn problem(path: &Path) -> Option<String> {
    let checked = if regular::is_there(path) { make(path) } else { check_place(path) };
    checked.err().map(|error| error.to_string())
}

/// Checks the folder in which the runtime folder is.
fn check_place(path: &Path) -> anyhow::Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => checked(parent, trust::check_place(parent)),
        None => Ok(()),
    }
}

fn checked(folder: &Path, made: io::Result<()>) -> anyhow::Result<()> {
    let folder = folder.display().to_string();
    made.map_err(|error| {
        let why = crate::spec::plain(&error);
        anyhow!(
            "the folder {folder} cannot be used for the lock and the notes of runs: {why}; {REMEDY}"
        )
    })
}
