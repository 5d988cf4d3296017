//! Versions of what takes part in a run and is not ours: said by the programs themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::find_program;
use crate::Host;
use crate::spec::{Resolved, Step};

#[cfg(test)]
mod tests;

/// Programs that are known to print their version and to do nothing else if they are asked so. No
/// other program is started for it: it might take the question for an order. Its digest is kept.
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

/// The tool's own version, and those of the known programs that the spec starts.
pub(crate) fn versions(resolved: &Resolved, host: &Host) -> BTreeMap<String, String> {
    let started = resolved.spec.sut.deploy.iter().filter_map(|step| program(step, resolved, host));
    let of_program = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        version(&path).map(|version| (name, version))
    };
    let ours = ("benchwright".to_owned(), host.version.clone());
    std::iter::once(ours).chain(started.filter_map(of_program)).collect()
}

/// What a step starts, unless it is ourselves.
fn program(step: &Step, resolved: &Resolved, host: &Host) -> Option<PathBuf> {
    match step {
        Step::App(_) => Some(host.benchwright.with_file_name("benchwright-apps")),
        Step::Process(process) if process.command.0[0] == "benchwright" => None,
        Step::Process(process) => {
            find_program(&resolved.text(&process.command.0[0], 1), &resolved.folder)
        }
    }
}

/// The first line that a known program says of its version.
fn version(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (_, question) = KNOWN.iter().find(|(known, _)| *known == name)?;
    let said = Command::new(path).arg(question).stdin(Stdio::null()).output().ok()?;
    if !said.status.success() {
        return None;
    }
    // Some say it on stderr.
    let text = [said.stdout, said.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
