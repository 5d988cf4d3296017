//! The files of the programs that are measured or that measure: their paths and digests.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::Host;
use crate::spec::{Resolved, Step};

/// Returns the digests of all that measures and is measured, by name: the programs and the script.
pub(crate) fn binaries(
    resolved: &Resolved,
    host: &Host,
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::from([("benchwright".to_owned(), host.benchwright.clone())]);
    for step in &resolved.spec.sut.deploy {
        let (name, path) = match step {
            Step::App(_) => {
                ("benchwright-apps", host.benchwright.with_file_name("benchwright-apps"))
            }
            Step::Process(process) if process.command.0[0] == "benchwright" => continue,
            Step::Process(process) => {
                let program = resolved.text(&process.command.0[0], 1);
                let Some(path) = find_program(&program, &resolved.folder) else {
                    return Err(no_program(resolved, &process.command.0[0], &program).into());
                };
                files.insert(process.name.to_string(), path);
                continue;
            }
        };
        files.insert(name.to_owned(), path);
    }
    files.extend(resolved.script().map(|script| ("script".to_owned(), script)));
    let digest = |(name, path): (String, PathBuf)| {
        let bytes = fs::read(&path).map_err(|error| {
            anyhow!("cannot read {name}, {}: {}", path.display(), crate::spec::plain(&error))
        })?;
        Ok((name, results::directory::digest(&bytes)))
    };
    files.into_iter().map(digest).collect()
}

fn no_program(resolved: &Resolved, written: &str, program: &str) -> crate::spec::SpecError {
    resolved.source.error(
        format!("program `{program}` not found"),
        resolved.source.find("command", written),
        "a path with `/` is relative to the spec's folder; a name is looked up in PATH",
    )
}

/// Finds a program: a path with `/` is relative to the spec's folder, a name is looked up in PATH.
pub(crate) fn find_program(program: &str, folder: &Path) -> Option<PathBuf> {
    let executable = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return std::path::absolute(folder.join(program)).ok().filter(executable);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(executable)
}
