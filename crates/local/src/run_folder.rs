//! The folder of a run's temporary files. It is noted before it is made, so that a later run removes what a killed
//! one left.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use lab::Host;
use lab::host::RunId;
use lab::spec::plain;
use nix::unistd::{AccessFlags, access};
use results::{removal, trust};

use crate::notes::Note;
use crate::remains;

/// The folder of a run's temporary files, for us alone, and the note of it.
pub(crate) struct RunFolder {
    runtime: PathBuf,
    temporary: PathBuf,
    run: RunId,
    made: Option<(PathBuf, Note)>,
}

impl RunFolder {
    pub(crate) fn new(host: &Host, run: &RunId) -> RunFolder {
        let (runtime, temporary) = (host.runtime.clone(), host.temporary.clone());
        RunFolder { runtime, temporary, run: run.clone(), made: None }
    }

    /// Returns it if it was made.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.made.as_ref().map(|(path, _)| path.as_path())
    }

    /// Fails if it cannot be made: a run that is refused for that has begun nothing.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let writable = || access(&self.temporary, AccessFlags::W_OK).map_err(io::Error::from);
        let checked = trust::check_place(&self.temporary).and_then(|()| writable());
        checked.map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &io::Error) -> anyhow::Error {
        if self.temporary.as_os_str().is_empty() {
            return anyhow!(
                "TMPDIR is empty; unset it, or set it to a folder that you may write to"
            );
        }
        anyhow!(
            "cannot make a folder for temporary files in {}: {}; set TMPDIR to a folder that you may write to",
            self.temporary.display(),
            plain(error)
        )
    }

    /// Makes it if it does not exist yet.
    pub(crate) fn make(&mut self) -> anyhow::Result<PathBuf> {
        if let Some(path) = self.path() {
            return Ok(path.to_owned());
        }
        trust::check_place(&self.temporary).map_err(|error| self.refused(&error))?;
        // In a folder that everybody can write to, nobody can have guessed its name.
        let random = getrandom::u64().context("asking the kernel for a random number")?;
        let name = format!("{}{}-{random:016x}", remains::FOLDER, self.run);
        let path = self.temporary.join(name);
        // First, so that it is removed whenever we are killed.
        let note = Note::begin(&self.runtime, &self.run, &path)?;
        if let Err(error) = DirBuilder::new().mode(0o700).create(&path) {
            note.end();
            return Err(self.refused(&error));
        }
        self.made = Some((path.clone(), note));
        Ok(path)
    }

    /// Notes a process that leads a group.
    pub(crate) fn note(&mut self, pid: u32) {
        if let Some((_, note)) = &mut self.made {
            note.add(pid);
        }
    }

    /// Notes what is in the groups of these processes now.
    pub(crate) fn note_members(&mut self) {
        if let Some((_, note)) = &mut self.made {
            note.add_members();
        }
    }

    /// Creates a new folder in it, empty, unless one that is there shall be kept.
    pub(crate) fn make_inner(&mut self, name: &str, keep: bool) -> anyhow::Result<PathBuf> {
        let path = self.make()?.join(name);
        if keep && path.is_dir() {
            return Ok(path);
        }
        // It is there if the component was started before.
        match removal::remove_folder(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("emptying {}", path.display()));
            }
            _ => {}
        }
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("making {}", path.display()))?;
        Ok(path)
    }

    /// Removes it with its note, or returns in words why it stays.
    pub(crate) fn remove(&mut self) -> Option<String> {
        let (path, note) = self.made.take()?;
        match removal::remove_folder(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let stays = remains::stays(&path, &plain(&error));
                // It stays noted, too.
                self.made = Some((path, note));
                Some(stays)
            }
            _ => {
                note.end();
                None
            }
        }
    }
}
