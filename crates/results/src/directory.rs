//! The results directory on disk: layout, atomic writes, checksums, and recovery after a crash.
//!
//! ```text
//! spec.yaml         the resolved spec
//! environment.json  the machine
//! doctor.json       the checks of the machines before the run, if there are any
//! manifest.json     what this is; with it the directory can be resumed
//! journal.jsonl     a line for each attempted trial, synced before the next begins
//! trials/7/         load.json, components.json, response_time.hlog, … of trial 7
//! answer.json       what `run --json` prints; written last
//! report.html
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::answer::{self, Answer};
use crate::components::{self, Components};
use crate::doctor::{self, Doctor};
use crate::environment::Environment;
use crate::journal::Entry;
use crate::load::Load;
use crate::manifest::{Manifest, VERSION};
use crate::version1;

pub use writer::Writer;

mod writer;

#[cfg(test)]
mod tests;

/// An open results directory.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    /// The version of the format in which it is written.
    version: u32,
}

/// An error in a results directory; the text names the file and the remedy.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    problem: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for Error {}

/// The files of one trial, by name.
pub type Files = BTreeMap<String, Vec<u8>>;

impl Directory {
    /// Creates a new directory, which must be empty, with everything known before the first trial.
    /// The manifest is begun first and finished last: a folder with only a begun manifest was left
    /// by a killed process, and is created again.
    pub fn create(
        path: &Path,
        manifest: &Manifest,
        spec: &str,
        environment: &Environment,
    ) -> Result<Directory, Error> {
        let directory = Directory { path: path.to_owned(), version: manifest.version };
        let marker = path.join("manifest.json.partial");
        let only_begun = marker.exists() && !path.join("manifest.json").exists();
        let occupied = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        if occupied && !only_begun {
            let problem = "this folder is not empty; name another with --out, or continue it with \
                           `benchwright resume`";
            return Err(directory.error("", problem));
        }
        let begun = make_folder(path)
            .and_then(|()| write_synced(&marker, b""))
            .and_then(|()| make_folder(&path.join("trials")));
        begun.map_err(|e| directory.error("", &e.to_string()))?;
        directory.write_spec(spec)?;
        directory.write_environment(environment)?;
        directory.write_manifest(manifest)?;
        Ok(directory)
    }

    /// Opens the results of an earlier run, of this version or an older one.
    pub fn open(path: &Path) -> Result<Directory, Error> {
        let mut directory = Directory { path: path.to_owned(), version: VERSION };
        if !path.join("manifest.json").exists() {
            let problem = "no manifest.json here: this is not a results directory";
            return Err(directory.error("", problem));
        }
        let manifest: Value = directory.read("manifest.json")?;
        if manifest["schema"] != "benchwright.results" {
            let problem = "not the manifest of a results directory (no schema benchwright.results)";
            return Err(directory.error("manifest.json", problem));
        }
        let version = manifest["version"].as_u64().unwrap_or(u64::MAX);
        if u64::from(VERSION) < version {
            let problem = format!(
                "results of version {version}; this tool reads up to {VERSION}: update benchwright"
            );
            return Err(directory.error("manifest.json", &problem));
        }
        directory.version = directory.manifest()?.version;
        Ok(directory)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn manifest(&self) -> Result<Manifest, Error> {
        self.read("manifest.json")
    }

    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        self.write_json("manifest.json", manifest)
    }

    /// Writes the spec again, if its budget changed.
    pub fn write_spec(&self, spec: &str) -> Result<(), Error> {
        self.write("spec.yaml", spec.as_bytes())
    }

    pub fn environment(&self) -> Result<Environment, Error> {
        if self.version == 1 {
            return Ok(version1::environment(self.read("environment.json")?));
        }
        self.read("environment.json")
    }

    pub fn write_environment(&self, environment: &Environment) -> Result<(), Error> {
        self.write_json("environment.json", environment)
    }

    /// The checks before the run; `None` if there were none.
    pub fn doctor(&self) -> Result<Option<Doctor>, Error> {
        match self.path.join(doctor::FILE).exists() {
            true => self.read(doctor::FILE).map(Some),
            false => Ok(None),
        }
    }

    pub fn write_doctor(&self, doctor: &Doctor) -> Result<(), Error> {
        self.write_json(doctor::FILE, doctor)
    }

    /// The answer; `None` until a run has ended.
    pub fn answer(&self) -> Result<Option<Answer>, Error> {
        if !self.path.join("answer.json").exists() {
            return Ok(None);
        }
        let mut value: Value = self.read("answer.json")?;
        if self.version == 1 {
            version1::answer(&mut value);
        }
        let is_current = value["schema"] == answer::SCHEMA;
        let mut answer: Answer = self.typed("answer.json", value)?;
        if !is_current {
            answer::earlier::mark(&mut answer);
        }
        Ok(Some(answer))
    }

    pub fn write_answer(&self, answer: &Answer) -> Result<(), Error> {
        self.write_json("answer.json", answer)
    }

    /// Removes the answer, if there is one: a run that goes on has none.
    pub fn remove_answer(&self) -> Result<(), Error> {
        match fs::remove_file(self.path.join("answer.json")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.error("answer.json", &error.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Every entry that was completely written. A crash during an append leaves an incomplete last
    /// line: it never counts, and the next append cuts it off. Any other line that cannot be read
    /// is an error.
    pub fn journal(&self) -> Result<Vec<Entry>, Error> {
        self.read_journal().map(|(entries, _)| entries)
    }

    pub fn trial_path(&self, trial: u32) -> PathBuf {
        self.path.join("trials").join(trial.to_string())
    }

    /// The generator's measurements in this trial, checked against the journal's digest.
    pub fn load(&self, entry: &Entry) -> Result<Load, Error> {
        let (name, bytes) = self.file_of_trial(entry, "load.json")?;
        Load::read(&bytes).map_err(|problem| self.error(&name, &problem))
    }

    /// The components' measurements in this trial, checked likewise; `None` if there were none.
    pub fn components(&self, entry: &Entry) -> Result<Option<Components>, Error> {
        if !self.trial_path(entry.trial).join(components::FILE).exists() {
            return Ok(None);
        }
        let (name, bytes) = self.file_of_trial(entry, components::FILE)?;
        let document: Value = self.parse(&name, &bytes)?;
        if ![components::SCHEMA, components::SCHEMA_1]
            .map(Value::from)
            .contains(&document["schema"])
        {
            let problem =
                format!("of schema {}; this tool reads {}", document["schema"], components::SCHEMA);
            return Err(self.error(&name, &problem));
        }
        self.typed(&name, document).map(Some)
    }

    /// Returns a file in the folder of a trial, and its name in the directory.
    fn file_of_trial(&self, entry: &Entry, file: &str) -> Result<(String, Vec<u8>), Error> {
        let name = format!("trials/{}/{file}", entry.trial);
        let bytes = self.read_bytes(&name)?;
        if entry.files.get(file).is_some_and(|expected| *expected != digest(&bytes)) {
            return Err(self.error(&name, "changed since it was measured (its digest differs)"));
        }
        Ok((name, bytes))
    }

    /// Writes a file so that a reader sees the old or the new contents, never a part.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        write_atomic(&self.path.join(name), bytes).map_err(|e| self.error(name, &e.to_string()))
    }

    /// The size of the directory on disk in bytes.
    pub fn size(&self) -> u64 {
        size_of(&self.path)
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let mut bytes = serde_json::to_vec_pretty(value).expect("results are plain data");
        bytes.push(b'\n');
        self.write(name, &bytes)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let bytes = self.read_bytes(name)?;
        self.parse(name, &bytes)
    }

    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, Error> {
        fs::read(self.path.join(name)).map_err(|e| self.error(name, &e.to_string()))
    }

    /// Reads a converted document as text, as all others are: a second reader doubles the code of its type.
    fn typed<T: DeserializeOwned>(&self, name: &str, value: Value) -> Result<T, Error> {
        self.parse(name, &serde_json::to_vec(&value).expect("it was read from JSON"))
    }

    fn parse<T: DeserializeOwned>(&self, name: &str, bytes: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(bytes).map_err(|e| self.error(name, &format!("cannot be read: {e}")))
    }

    /// The entries, and the end of the last complete line.
    fn read_journal(&self) -> Result<(Vec<Entry>, u64), Error> {
        let bytes = match fs::read(self.path.join("journal.jsonl")) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(self.error("journal.jsonl", &e.to_string())),
        };
        let mut entries = Vec::new();
        let mut end = 0;
        for (number, line) in (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
            if !line.ends_with(b"\n") {
                break;
            }
            let entry = entry(line, self.version).map_err(|e| {
                self.error("journal.jsonl", &format!("line {number} cannot be read: {e}"))
            })?;
            entries.push(entry);
            end += line.len() as u64;
        }
        Ok((entries, end))
    }

    fn keep_files(&self, name: &str, files: &Files) -> io::Result<()> {
        let path = self.path.join(name);
        let partial = self.path.join(format!("{name}.partial"));
        for leftover in [&path, &partial] {
            match fs::remove_dir_all(leftover) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        fs::create_dir_all(&partial)?;
        for (name, bytes) in files {
            write_synced(&partial.join(name), bytes)?;
        }
        sync_folder(&partial)?;
        fs::rename(&partial, &path)?;
        sync_folder(&self.path.join("trials"))
    }

    fn error(&self, name: &str, problem: &str) -> Error {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        Error { path, problem: problem.to_owned() }
    }
}

/// Reads a line of a journal of this version or an older one.
fn entry(line: &[u8], version: u32) -> serde_json::Result<Entry> {
    if version == 1 {
        let mut value: Value = serde_json::from_slice(line)?;
        version1::entry(&mut value);
        // As text, for the reason of `typed`.
        return serde_json::from_slice(&serde_json::to_vec(&value)?);
    }
    serde_json::from_slice(line)
}

/// SHA-256, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".partial");
    write_synced(Path::new(&temporary), bytes)?;
    fs::rename(&temporary, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Creates a folder and its missing parents; each is durable in its parent.
fn make_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match fs::create_dir(path) {
        Ok(()) => sync_folder(parent.unwrap_or(Path::new("."))),
        Err(_) if path.is_dir() => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            make_folder(parent.ok_or(e)?)?;
            make_folder(path)
        }
        Err(e) => Err(e),
    }
}

/// Syncs a folder: only then a new file, folder or name in it is durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn size_of(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
