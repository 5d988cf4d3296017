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

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use nix::libc::O_DIRECTORY;
use nix::unistd::geteuid;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{self, Answer};
use crate::components::{self, Components};
use crate::doctor::{self, Doctor};
use crate::environment::Environment;
use crate::journal::Entry;
use crate::load::Load;
use crate::manifest::{Manifest, VERSION};
use crate::regular::Locked;
use crate::{bounds, digest, regular, removal, shell, version1};

pub use writer::Writer;

mod figures;
mod writer;

#[cfg(test)]
mod tests;

/// An open results directory.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Its path, as it was named: for messages alone.
    path: PathBuf,
    /// The directory itself. Whoever may change a folder above it may put another one, or a link, in its
    /// place; what is read and written is in this one.
    root: Arc<File>,
    /// The version of the format in which it is written.
    version: u32,
    /// The journal, locked; `None` in a directory that is only read.
    journal: Option<Arc<Locked>>,
    /// True if the figures in the journal are not compared with those of the loads.
    believes_journal: bool,
}

/// Those who may read the files of a results directory. They may hold answers of a service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Readers {
    /// The user who runs the experiment.
    Owner,
    /// Those whom the umask allows.
    Shared,
}

/// An error in a results directory; the text names the file and the remedy.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    problem: String,
}

impl Error {
    /// The problem without the path.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The problem may quote what somebody wrote into the file.
        let problem = regular::one_line(&self.problem);
        write!(f, "{}: {problem}", regular::shown(&self.path))
    }
}

impl std::error::Error for Error {}

/// The file that shows that a directory was begun and not finished.
const MARKER: &str = "manifest.json.partial";

/// The files of one trial, by name.
pub type Files = BTreeMap<String, Vec<u8>>;

impl Directory {
    /// Creates a new directory, which must be empty, with everything known before the first trial.
    /// The manifest is begun first and finished last: a folder with only a begun manifest was left
    /// by a killed process, and is created again. Of several processes that create it at the same time one does.
    pub fn create(
        path: &Path,
        readers: Readers,
        manifest: &Manifest,
        spec: &str,
        environment: &Environment,
    ) -> Result<Directory, Error> {
        let version = manifest.version;
        make_folders(path, readers)?;
        let mut directory = Directory::at(path, version)?;
        let inside = directory.inside();
        check_empty(path, &inside)?;
        if let Readers::Owner = readers {
            let mode = PermissionsExt::from_mode(OWNER);
            fs::set_permissions(&inside, mode).map_err(|e| directory.failed("", &e))?;
        }
        directory.claim()?;
        directory.write_spec(spec)?;
        directory.write_environment(environment)?;
        directory.write_manifest(manifest)?;
        directory.remove_unfinished()?;
        Ok(directory)
    }

    /// Takes an empty folder for this process. Another one may have found it empty as well: only the lock decides,
    /// and what is there once this process has it.
    fn claim(&mut self) -> Result<(), Error> {
        let inside = self.inside();
        let marker = inside.join(MARKER);
        let begun = regular::write_mark(&marker)
            .and_then(|()| regular::make_folder(&inside.join("trials")))
            .and_then(|()| regular::sync_folder(&inside));
        begun.map_err(|e| self.failed("", &e))?;
        let claimed = self.lock().and_then(|()| check_empty(&self.path, &inside));
        if claimed.is_err() && self.has("manifest.json") {
            // The other process has removed its own, and this one may be new: it has no use either way.
            let _ = fs::remove_file(&marker);
        }
        claimed
    }

    /// Fails if [`Directory::create`] will, as far as that is known before anything is made: a run whose results
    /// can be kept nowhere does not begin.
    pub fn check_place(path: &Path) -> Result<(), Error> {
        let mut place = path;
        while fs::symlink_metadata(place).is_err() && place != regular::folder_of(place) {
            place = regular::folder_of(place);
        }
        if !place.is_dir() {
            return Err(no_place(place, &io::ErrorKind::NotADirectory.into()));
        }
        if place == path {
            check_own(path)?;
            check_empty(path, path)?;
        }
        regular::check_writable(place).map_err(|error| no_place(place, &error))
    }

    /// Opens the results of an earlier run to continue it. No other process can at the same time.
    pub fn resume(path: &Path) -> Result<Directory, Error> {
        let mut directory = Directory::open(path)?;
        // Locking makes a journal where there is none: then the trials would begin again, over those that are there.
        if !directory.has("journal.jsonl") {
            return Err(directory.without_journal());
        }
        directory.lock()?;
        directory.remove_unfinished()?;
        Ok(directory)
    }

    /// Removes what a killed process was writing.
    fn remove_unfinished(&self) -> Result<(), Error> {
        let trials = self.path_of("trials/1").map(|path| regular::folder_of(&path).to_owned());
        let removed = trials.and_then(|trials| {
            for entry in fs::read_dir(self.inside())?.chain(fs::read_dir(trials)?) {
                let entry = entry?;
                let name = entry.file_name();
                let is_new = name.as_encoded_bytes().starts_with(regular::NEW.as_bytes());
                match entry.file_type()?.is_dir() {
                    true if is_new => removal::remove_folder(&entry.path())?,
                    // A process that was refused may have removed its mark.
                    false if name == MARKER => remove_if_there(&entry.path())?,
                    false if is_new => fs::remove_file(entry.path())?,
                    _ => {}
                }
            }
            Ok(())
        });
        removed.map_err(|e| self.failed("", &e))
    }

    /// Locks the journal until the last copy of this directory is dropped.
    fn lock(&mut self) -> Result<(), Error> {
        let name = "journal.jsonl";
        let opened = self.path_of(name).and_then(|path| {
            let mode = regular::of_files(&self.inside())?;
            let mut options = OpenOptions::new();
            let file = regular::open(&path, options.create(true).append(true).mode(mode))?;
            // The file itself is durable only if its folder is synced.
            regular::sync_folder(&self.inside())?;
            Ok(file)
        });
        let file = opened.map_err(|e| self.failed(name, &e))?;
        let Some(journal) = regular::lock(file, |_| false).map_err(|e| self.failed(name, &e))?
        else {
            let problem = "another run is writing to these results; wait for it, or stop it";
            return Err(self.error(name, problem));
        };
        self.journal = Some(Arc::new(journal));
        Ok(())
    }

    /// Opens the results of an earlier run, of this version or an older one.
    pub fn open(path: &Path) -> Result<Directory, Error> {
        // What is there and cannot be read is said as such: also a link that leads nowhere.
        let is_none = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        };
        if fs::symlink_metadata(path.join("manifest.json")).is_err_and(|error| is_none(&error)) {
            let problem = "no manifest.json here: this is not a results directory".to_owned();
            return Err(Error { path: path.to_owned(), problem });
        }
        let mut directory = Directory::at(path, VERSION)?;
        let Head { schema, version } = directory.read("manifest.json")?;
        if schema != "benchwright.results" {
            let problem = "not the manifest of a results directory (no schema benchwright.results)";
            return Err(directory.error("manifest.json", problem));
        }
        if !version.as_u64().is_some_and(|version| (1..=u64::from(VERSION)).contains(&version)) {
            let problem = format!(
                "results of version {version}; this tool reads 1 to {VERSION}: update benchwright"
            );
            return Err(directory.error("manifest.json", &problem));
        }
        directory.version = directory.manifest()?.version;
        Ok(directory)
    }

    /// The path of the directory, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the directory itself, as long as this is open, whatever is done to the folders above it.
    pub fn inside(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.root.as_raw_fd()))
    }

    /// Returns the directory by the path that it has now, for reading and for its report: somebody may have moved it.
    pub fn at_its_place(&self) -> Result<Directory, Error> {
        let path = self.place().ok_or_else(|| self.removed())?;
        Ok(Directory { path, journal: None, ..self.clone() })
    }

    /// Returns the path of the directory itself: that by which it was named, if it is still there. `None` if it was
    /// removed.
    fn place(&self) -> Option<PathBuf> {
        let identity = |found: fs::Metadata| (found.dev(), found.ino());
        let own = self.root.metadata().map(identity).ok()?;
        let is_here = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| identity(found) == own);
        let named = Some(self.path.clone()).filter(is_here);
        named.or_else(|| fs::read_link(self.inside()).ok().filter(is_here))
    }

    fn removed(&self) -> Error {
        let problem = "this folder was removed, and all that was measured into it is lost; run it again, and leave \
                       the folder alone until the run has ended";
        self.error("", problem)
    }

    fn at(path: &Path, version: u32) -> Result<Directory, Error> {
        let opened = || {
            let root = OpenOptions::new().read(true).custom_flags(O_DIRECTORY).open(path)?;
            let path = path.to_owned();
            let root = Arc::new(root);
            Ok(Directory { path, root, version, journal: None, believes_journal: false })
        };
        opened().map_err(|error: io::Error| failed_at(path, &error))
    }

    /// Returns the directory with a journal that is believed whatever the loads say: for tests that write figures of
    /// their own.
    pub fn believing_its_journal(self) -> Directory {
        Directory { believes_journal: true, ..self }
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
        match self.has(doctor::FILE) {
            true => self.read(doctor::FILE).map(Some),
            false => Ok(None),
        }
    }

    pub fn write_doctor(&self, doctor: &Doctor) -> Result<(), Error> {
        self.write_json(doctor::FILE, doctor)
    }

    /// The answer; `None` until a run has ended.
    pub fn answer(&self) -> Result<Option<Answer>, Error> {
        if !self.has("answer.json") {
            return Ok(None);
        }
        let mut answer: Answer = match self.version {
            1 => {
                let mut value: Value = self.read("answer.json")?;
                version1::answer(&mut value);
                self.typed("answer.json", value)?
            }
            _ => self.read("answer.json")?,
        };
        if answer.schema != answer::SCHEMA {
            answer::earlier::mark(&mut answer);
        }
        Ok(Some(answer))
    }

    pub fn write_answer(&self, answer: &Answer) -> Result<(), Error> {
        self.write_json("answer.json", answer)
    }

    /// Removes the answer, if there is one: a run that goes on has none.
    pub fn remove_answer(&self) -> Result<(), Error> {
        let removed = remove_if_there(&self.inside().join("answer.json"));
        removed.map_err(|e| self.failed("answer.json", &e))
    }

    /// Returns true if something in the directory has this name, whatever it is.
    pub fn has(&self, name: &str) -> bool {
        regular::is_there(&self.inside().join(name))
    }

    /// Every entry that was completely written, each with those of its files that cannot be read any more, or that
    /// contradict it: such a trial is not valid. A crash during an append leaves an incomplete last
    /// line: it never counts, and the next append cuts it off. Any other line that cannot be read
    /// is an error.
    pub fn journal(&self) -> Result<Vec<Entry>, Error> {
        self.read_journal().map(|(entries, _)| entries)
    }

    pub fn trial_path(&self, trial: u32) -> PathBuf {
        self.inside().join("trials").join(trial.to_string())
    }

    /// The generator's measurements in this trial, checked against the journal's digest.
    pub fn load(&self, entry: &Entry) -> Result<Load, Error> {
        let (name, bytes) = self.file_of_trial(entry, LOAD)?;
        Load::read(&bytes).map_err(|problem| self.error(&name, &problem))
    }

    /// The components' measurements in this trial, checked likewise; `None` if there were none.
    pub fn components(&self, entry: &Entry) -> Result<Option<Components>, Error> {
        let name = format!("trials/{}/{}", entry.trial, components::FILE);
        if !entry.files.contains_key(components::FILE) && !self.has(&name) {
            return Ok(None);
        }
        let (name, bytes) = self.file_of_trial(entry, components::FILE)?;
        let Head { schema, .. } = self.parse(&name, &bytes)?;
        if ![components::SCHEMA, components::SCHEMA_1].map(Value::from).contains(&schema) {
            let problem = format!("of schema {schema}; this tool reads {}", components::SCHEMA);
            return Err(self.error(&name, &problem));
        }
        self.parse(&name, &bytes).map(Some)
    }

    /// Returns a file in the folder of a trial, and its name in the directory.
    fn file_of_trial(&self, entry: &Entry, file: &str) -> Result<(String, Vec<u8>), Error> {
        let name = format!("trials/{}/{file}", entry.trial);
        let read = self.promised(entry, file);
        read.map(|bytes| (name.clone(), bytes)).map_err(|why| self.error(&name, &why))
    }

    /// Reads a file of a trial as the journal promises it. An error is the reason, without the file.
    fn promised(&self, entry: &Entry, file: &str) -> Result<Vec<u8>, String> {
        // Somebody else may have written the journal.
        let mut parts = Path::new(file).components();
        let (Some(Component::Normal(_)), None) = (parts.next(), parts.next()) else {
            return Err("is not a name of a file in the trial's folder".to_owned());
        };
        let path = self.path_of(&format!("trials/{}/{file}", entry.trial));
        let read = path.and_then(|path| regular::read(&path, regular::MOST));
        let bytes = read.map_err(|e| format!("cannot be read: {}", regular::plain(&e)))?;
        match entry.files.get(file) {
            Some(expected) if *expected != digest::sha256(&bytes) => {
                Err("changed since it was measured (its digest differs)".to_owned())
            }
            Some(_) | None => Ok(bytes),
        }
    }

    /// Returns the files of a trial that the journal promises and that cannot be read, each with the reason, and what
    /// the journal has otherwise than the load: the load first.
    fn unread(&self, entry: &Entry) -> Vec<String> {
        let mut files: Vec<&String> = entry.files.keys().collect();
        files.sort_by_key(|file| *file != LOAD);
        let mut unread = Vec::new();
        // Each trial with figures has a load, from which they are.
        let has_figures = entry.status.answers() && entry.observed.is_some();
        if has_figures && !self.believes_journal && !entry.files.contains_key(LOAD) {
            unread.push(format!("the journal does not name its {LOAD}"));
        }
        let mut further = 0;
        for file in files {
            let read = self.promised(entry, file).map_err(|why| format!("{file} {why}"));
            let checked = read.and_then(|bytes| match file == LOAD && !self.believes_journal {
                true => figures::check(entry, &bytes),
                false => Ok(()),
            });
            match checked {
                Ok(()) => {}
                Err(why) if unread.len() < MOST_UNREAD => unread.push(why),
                Err(_) => further += 1,
            }
        }
        if 0 < further {
            unread.push(format!("and {further} more of its files"));
        }
        unread
    }

    /// Writes a file so that a reader sees the old or the new contents, never a part.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let written = self.path_of(name).and_then(|path| regular::replace(&path, bytes));
        written.map_err(|e| self.failed(name, &e))
    }

    /// Returns the path of a file whose folders are in this directory itself: none is a link to others.
    fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        let mut path = self.inside();
        let folders = Path::new(name).parent().into_iter().flat_map(Path::components);
        for folder in folders {
            assert!(matches!(folder, Component::Normal(_)), "names are our own: {name}");
            path.push(folder);
            regular::check_folder(&path).map_err(|error| {
                let inside = self.inside();
                let folder = path.strip_prefix(&inside).unwrap_or(&path).display();
                match error.kind() {
                    io::ErrorKind::NotFound => error,
                    _ => io::Error::other(format!("{folder} is a link or a file, not a folder")),
                }
            })?;
        }
        Ok(self.inside().join(name))
    }

    /// The size of the directory on disk in bytes.
    pub fn size(&self) -> u64 {
        size_of(&self.inside())
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
        let is_long = name == "answer.json" || name.starts_with("trials/");
        let most = if is_long { regular::MOST } else { regular::MOST_OF_SHORT };
        let read = self.path_of(name).and_then(|path| regular::read(&path, most));
        read.map_err(|e| self.failed(name, &e))
    }

    /// The resolved spec, as it was written.
    pub fn spec(&self) -> Result<Vec<u8>, Error> {
        self.read_bytes("spec.yaml")
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
        let bytes = match regular::read(&self.inside().join("journal.jsonl"), regular::MOST) {
            Ok(bytes) => bytes,
            // It is made before the manifest, without which this is not a results directory.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(self.without_journal()),
            Err(e) => return Err(self.failed("journal.jsonl", &e)),
        };
        let mut entries = Vec::new();
        let mut trials = BTreeSet::new();
        let mut end = 0;
        for (number, line) in (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
            if !line.ends_with(b"\n") {
                break;
            }
            let mut entry: Entry = entry(line, self.version).map_err(|e| {
                self.error("journal.jsonl", &format!("line {number} cannot be read: {e}"))
            })?;
            if !trials.insert(entry.trial) {
                let problem = format!("line {number} repeats trial {}", entry.trial);
                return Err(self.error("journal.jsonl", &problem));
            }
            entry.distrust(self.unread(&entry));
            entries.push(entry);
            end += line.len() as u64;
        }
        Ok((entries, end))
    }

    fn without_journal(&self) -> Error {
        let problem = "it is gone, and with it the order of the trials; put it back: a new one would begin them again";
        self.error("journal.jsonl", problem)
    }

    fn keep_files(&self, name: &str, files: &Files) -> io::Result<()> {
        let path = self.path_of(name)?;
        let trials = regular::folder_of(&path).to_owned();
        // Those of a crash before the entry of this trial. A link is removed, not what it leads to.
        match removal::remove_folder(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let new = tempfile::Builder::new().prefix(regular::NEW).tempdir_in(&trials)?;
        fs::set_permissions(new.path(), fs::metadata(&trials)?.permissions())?;
        for (name, bytes) in files {
            regular::write_new(&new.path().join(name), bytes)?;
        }
        regular::sync_folder(new.path())?;
        fs::rename(new.keep(), &path)?;
        regular::sync_folder(&trials)
    }

    fn failed(&self, name: &str, error: &io::Error) -> Error {
        if error.kind() == io::ErrorKind::NotFound && self.place().is_none() {
            return self.removed();
        }
        let text = regular::plain(error);
        match regular::remedy(error) {
            Some(remedy) => {
                let resume = shell::resume(&self.path.display().to_string(), &[]);
                let journal = fs::metadata(self.inside().join("journal.jsonl"));
                let problem = match journal.is_ok_and(|journal| 0 < journal.len()) {
                    true => format!(
                        "{text}; the finished trials are safe: {remedy}, and go on with `{resume}`"
                    ),
                    false => format!("{text}; no trial was finished: {remedy}, and run it again"),
                };
                self.error(name, &problem)
            }
            None => self.error(name, &text),
        }
    }

    fn error(&self, name: &str, problem: &str) -> Error {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        Error { path, problem: problem.to_owned() }
    }
}

/// The identity of a document of any version.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Value,
    #[serde(default)]
    version: Value,
}

/// The file of a trial that has its load.
const LOAD: &str = "load.json";

/// The most files of a trial that are named because they cannot be read.
const MOST_UNREAD: usize = 3;

/// The permissions of a folder that only its owner may read.
const OWNER: u32 = 0o700;

fn failed_at(path: &Path, error: &io::Error) -> Error {
    Error { path: path.to_owned(), problem: regular::plain(error) }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads a line of a journal of this version or an older one.
fn entry(line: &[u8], version: u32) -> serde_json::Result<Entry> {
    bounds::check(line).map_err(serde_json::Error::custom)?;
    if version == 1 {
        let mut value: Value = serde_json::from_slice(line)?;
        version1::entry(&mut value);
        // As text, for the reason of `typed`.
        return serde_json::from_slice(&serde_json::to_vec(&value)?);
    }
    serde_json::from_slice(line)
}

/// Returns the error of a place where no results can be kept.
fn no_place(path: &Path, error: &io::Error) -> Error {
    let text = match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "it is not a folder".to_owned()
        }
        io::ErrorKind::PermissionDenied => "you may not write here".to_owned(),
        io::ErrorKind::NotFound => "nothing can be made here".to_owned(),
        _ => regular::in_words(error),
    };
    let problem = format!("{text}; name another place for the results with --out");
    Error { path: path.to_owned(), problem }
}

/// Fails unless a folder is empty, or was only begun by a killed process. `inside` is the folder itself.
fn check_empty(path: &Path, inside: &Path) -> Result<(), Error> {
    let has = |name: &str| regular::is_there(&inside.join(name));
    let only_begun = has(MARKER) && !has("manifest.json");
    let occupied = fs::read_dir(inside).is_ok_and(|mut entries| entries.next().is_some());
    if !occupied || only_begun {
        return Ok(());
    }
    let problem = "this folder is not empty; name another with --out, or continue it with `benchwright resume`";
    Err(Error { path: path.to_owned(), problem: problem.to_owned() })
}

/// Creates the folder of the results and its missing parents; each is durable in its parent.
fn make_folders(path: &Path, readers: Readers) -> Result<(), Error> {
    let mode = match readers {
        Readers::Owner => OWNER,
        Readers::Shared => 0o777,
    };
    let parent = regular::folder_of(path);
    if !parent.exists() {
        // A file system of the kernel, or a root that is gone.
        if parent == path {
            return Err(no_place(path, &io::ErrorKind::NotFound.into()));
        }
        make_folders(parent, Readers::Shared)?;
    }
    let failed = |error: io::Error| no_place(path, &error);
    let found = fs::symlink_metadata(parent).map_err(|error| no_place(parent, &error))?;
    if found.is_symlink() && ![geteuid().as_raw(), 0].contains(&found.uid()) {
        let problem =
            format!("it is a link of user {}; name a folder of your own by --out", found.uid());
        return Err(Error { path: parent.to_owned(), problem });
    }
    match DirBuilder::new().mode(mode).create(path) {
        Ok(()) => regular::sync_folder(parent).map_err(failed),
        Err(_) if path.is_dir() => check_own(path),
        Err(error) => Err(failed(error)),
    }
}

/// Fails unless a folder is ours, and so is the link that leads to it, if any.
fn check_own(path: &Path) -> Result<(), Error> {
    let owners = || io::Result::Ok([fs::symlink_metadata(path)?.uid(), fs::metadata(path)?.uid()]);
    match owners().map_err(|error| no_place(path, &error))? == [geteuid().as_raw(); 2] {
        true => Ok(()),
        false => {
            let problem = "it belongs to another user; name a folder of your own by --out";
            Err(Error { path: path.to_owned(), problem: problem.to_owned() })
        }
    }
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
