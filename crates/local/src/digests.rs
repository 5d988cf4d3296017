//! The files of the programs that are measured or that measure: their paths and digests.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use lab::Host;
use lab::backend::Stop;
use lab::spec::foreign_generator::{Values, filled};
use lab::spec::{Component, File, Foreign, Resolved};
use measure::Nanos;
use results::digest::sha256_of;
use results::regular;

#[cfg(test)]
mod tests;

/// Returns the digests of all that measures and is measured, by name: the programs, and the files
/// that the load needs.
pub(crate) fn binaries(resolved: &Resolved, host: &Host) -> Result<BTreeMap<String, String>, Stop> {
    digests_of(files(resolved, host).map_err(Stop::Question)?, host)
}

/// Returns the digests of files, by their names. A large one takes its time, so an interruption is looked for.
pub(super) fn digests_of(
    files: BTreeMap<String, PathBuf>,
    host: &Host,
) -> Result<BTreeMap<String, String>, Stop> {
    let digest = |(name, path): (String, PathBuf)| {
        let read = regular::open_again(&path).and_then(|file| sha256_of(Watched { file, host }));
        host.check_interrupt()?;
        let digest = read.map_err(|error| {
            let why = lab::spec::plain(&error);
            Stop::Question(anyhow!("cannot read {name}, {}: {why}", path.display()))
        })?;
        Ok((name, digest))
    };
    files.into_iter().map(digest).collect()
}

/// A file that ends with an error at an interruption.
struct Watched<'a> {
    file: fs::File,
    host: &'a Host,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.host.is_interrupted() {
            true => Err(io::Error::other("interrupted")),
            false => self.file.read(buffer),
        }
    }
}

/// Checks that the files of the load can be read more than once.
pub(crate) fn check_files(resolved: &Resolved) -> Result<(), Stop> {
    let is_pipe = |path: &Path| fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo());
    match resolved.files().into_iter().find(|file| is_pipe(&file.path)) {
        Some(File { field, path, .. }) => Err(Stop::Question(anyhow!(
            "{field}: {} is {}; name a file",
            path.display(),
            regular::PIPE
        ))),
        None => Ok(()),
    }
}

/// Returns the paths of all that measures and is measured, by name.
pub(super) fn files(resolved: &Resolved, host: &Host) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::from([("benchwright".to_owned(), host.benchwright.clone())]);
    for component in resolved.spec.sut.components() {
        files.extend(named(component.name(), component.words(), resolved, MOST_OF_PROGRAM));
        let (name, path) = match component {
            Component::App(_) => {
                ("benchwright-apps", host.benchwright.with_file_name("benchwright-apps"))
            }
            Component::Process(process) if process.command.0[0] == "benchwright" => continue,
            Component::Helm(_) | Component::Manifest(_) => continue,
            Component::Process(process) => {
                (&*process.name, found(&process.command.0[0], "command", resolved)?)
            }
        };
        files.insert(name.to_owned(), path);
    }
    // The programs of actions made what is measured: its data.
    for run in resolved.runs() {
        // What a Job runs is the image's.
        let Some(written) = run.command.0.first() else { continue };
        if written != "benchwright" {
            files.insert(format!("action {written}"), found(written, "command", resolved)?);
        }
        files.extend(named(
            &format!("action {written}"),
            &run.command.0,
            resolved,
            MOST_OF_PROGRAM,
        ));
    }
    // Whatever file a generator is given may decide what it sends.
    if let Some(Foreign { exec, .. }) = resolved.spec.workload.foreign() {
        let written = &exec.0[0];
        if written != "benchwright" {
            files.insert(format!("generator {written}"), found(written, "exec", resolved)?);
        }
        let values = Values { url: None, length: Nanos::ZERO, rate: None, connections: 1 };
        files.extend(named("workload.exec", &filled(resolved, exec, &values), resolved, u64::MAX));
    }
    for File { field, path, .. } in resolved.files() {
        if field == "workload.mix" {
            files.extend(bodies(&path));
        }
        let name = if field == "workload.script" { "script" } else { field };
        files.insert(name.to_owned(), path);
    }
    Ok(files)
}

/// The largest file that is taken for a part of a program, and not for its data.
const MOST_OF_PROGRAM: u64 = 64 << 20;

/// Returns the files of at most so many bytes that the words of a command name, such as the script of an interpreter:
/// they decide what runs, too.
fn named(
    program: &str,
    words: &[String],
    resolved: &Resolved,
    most: u64,
) -> Vec<(String, PathBuf)> {
    let file = |word: &String| {
        let path = resolved.folder.join(word);
        let length = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
        (length <= most).then(|| (format!("{program} {word}"), path))
    };
    words.iter().skip(1).filter_map(file).collect()
}

/// Returns the path of a program, which is written in the field `key`.
fn found(written: &str, key: &str, resolved: &Resolved) -> anyhow::Result<PathBuf> {
    let program = resolved.text(written, 1);
    let path = find_program(&program, &resolved.folder);
    Ok(path.ok_or_else(|| no_program(resolved, key, [written, &program]))?)
}

/// Returns the files with bodies that the lines of a mix name, relative to its folder. The generator
/// checks the mix itself: a line that cannot be read names nothing.
fn bodies(mix: &Path) -> Vec<(String, PathBuf)> {
    #[derive(serde::Deserialize)]
    struct Line {
        body_file: Option<String>,
    }
    let folder = mix.parent().unwrap_or(Path::new(""));
    let text = regular::read_text_again(mix, regular::MOST_OF_LINES).unwrap_or_default();
    let named = |line| serde_json::from_str::<Line>(line).ok()?.body_file;
    let body = |name: String| (format!("workload.mix {name}"), folder.join(name));
    text.lines().filter_map(named).map(body).collect()
}

fn no_program(
    resolved: &Resolved,
    key: &str,
    [written, program]: [&str; 2],
) -> lab::spec::SpecError {
    resolved.source.error(
        format!("program `{program}` not found"),
        resolved.source.find(key, written),
        "a path with `/` is relative to the spec's folder; a name is looked up in PATH",
    )
}

/// The program of a command; `benchwright` is ourselves.
pub(crate) fn program_of(name: &str, host: &Host, folder: &Path) -> anyhow::Result<PathBuf> {
    match name {
        "benchwright" => Ok(host.benchwright.clone()),
        name => find_program(name, folder).ok_or_else(|| anyhow!("program `{name}` not found")),
    }
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
