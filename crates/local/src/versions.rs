//! Versions of the other programs that take part in a run, as they print them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::Host;
use lab::backend::Stop;
use lab::spec::{Component, Resolved};
use measure::Nanos;

use super::digests::find_program;
use crate::helper::{self, Unanswered};

#[cfg(test)]
mod tests;

/// Programs that are known to print their version and to do nothing else with this option. No other
/// program is started for its version, because it might act on the option. Its digest is kept.
const KNOWN: [(&str, &str); 12] = [
    ("benchwright-apps", "--version"),
    ("java", "-version"),
    ("memcached", "--version"),
    ("mysqld", "--version"),
    ("nginx", "-v"),
    ("node", "--version"),
    ("perl", "-v"),
    ("php", "--version"),
    ("postgres", "--version"),
    ("python3", "--version"),
    ("redis-server", "--version"),
    ("ruby", "--version"),
];

/// The longest time that a program may take to print its version.
const LONGEST: Nanos = Nanos::from_secs(10);

/// Returns the tool's own version, and those of the known programs that the spec starts.
pub(crate) fn versions(resolved: &Resolved, host: &Host) -> Result<BTreeMap<String, String>, Stop> {
    let mut versions = BTreeMap::from([("benchwright".to_owned(), host.version.clone())]);
    let components = resolved.spec.sut.components();
    for path in components.filter_map(|component| program(component, resolved, host)) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if let Some(version) = version(&path, name, host)? {
            versions.insert(name.to_owned(), version);
        }
    }
    Ok(versions)
}

/// Returns the program of a component, unless it is this one.
fn program(component: &Component, resolved: &Resolved, host: &Host) -> Option<PathBuf> {
    match component {
        Component::App(_) => Some(host.benchwright.with_file_name("benchwright-apps")),
        Component::Process(process) if process.command.0[0] == "benchwright" => None,
        Component::Helm(_) | Component::Manifest(_) => None,
        Component::Process(process) => {
            find_program(&resolved.text(&process.command.0[0], 1), &resolved.folder)
        }
    }
}

/// Returns the first line that a known program prints about its version.
fn version(path: &Path, name: &str, host: &Host) -> Result<Option<String>, Stop> {
    let Some((_, option)) = KNOWN.iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };
    let mut command = Command::new(path);
    command.arg(option).stdin(Stdio::null());
    let answer = match helper::ask(command, LONGEST, host) {
        Ok(answer) => answer,
        Err(Unanswered::Interrupted) => return Err(Stop::Interrupted),
        Err(Unanswered::NotStarted(_) | Unanswered::Late) => return Ok(None),
    };
    if !answer.status.success() {
        return Ok(None);
    }
    // Some print it on stderr.
    let text = [answer.stdout, answer.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned))
}
