//! Versions of the other programs that take part in a run, as they print them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::Host;
use lab::spec::{Component, Resolved};

use super::digests::find_program;

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

/// Returns the tool's own version, and those of the known programs that the spec starts.
pub(crate) fn versions(resolved: &Resolved, host: &Host) -> BTreeMap<String, String> {
    let components = resolved.spec.sut.components();
    let started = components.filter_map(|component| program(component, resolved, host));
    let of_program = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        version(&path).map(|version| (name, version))
    };
    let ours = ("benchwright".to_owned(), host.version.clone());
    std::iter::once(ours).chain(started.filter_map(of_program)).collect()
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
fn version(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (_, option) = KNOWN.iter().find(|(known, _)| *known == name)?;
    let output = Command::new(path).arg(option).stdin(Stdio::null()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    // Some print it on stderr.
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
