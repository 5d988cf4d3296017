//! The interface between a store and its files.
//!
//! Operations are begun and completed as in [`net::Files`], so that a thread waits for files and
//! connections at once. A store orders them itself.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;

use measure::{Instant, Nanos};
use net::files::Listed;
use net::{Completion, FileId, Files, FolderId, Open, Operation};

use crate::segment::Segment;

/// The longest single wait for an operation.
const MOMENT: Nanos = Nanos::from_millis(100);

/// The files of a store, as one thread uses them: all sessions of the thread share it.
pub trait Storage {
    /// False if nothing can be stored.
    fn exists(&self) -> bool {
        true
    }

    /// Returns the files in the order of their names.
    fn list(&mut self) -> io::Result<Vec<Listed>>;

    /// Returns the open file with this name; it is opened if it is not, and made if there is none.
    fn file(&mut self, name: &str) -> io::Result<FileId>;

    /// The time, by which what found no space is tried again.
    fn now(&mut self) -> Instant;

    /// The number of operations that may begin now.
    fn room(&self) -> usize;

    /// Begins an operation, for which there must be room. A completion with this token follows.
    fn begin(&mut self, file: FileId, operation: Operation, token: u64);

    /// Closes the open files of the log with names before this one.
    fn close_before(&mut self, name: &str);

    /// Begins to remove a file, as [`Storage::begin`].
    fn remove(&mut self, name: &str, token: u64);

    /// Begins to rename a file, as [`net::Files::rename`].
    fn rename(&mut self, from: &str, to: &str, token: u64);

    /// Waits until an operation has completed, or for a moment. Only a store that is being opened
    /// waits: the thread has no connections yet.
    fn wait(&mut self);

    /// Keeps work of the store that the next session of this thread goes on with.
    fn keep_work(&mut self, work: Box<dyn Any + Send>);

    /// Returns the work that was kept.
    fn kept_work(&mut self) -> Option<Box<dyn Any + Send>>;

    fn next_completion(&mut self) -> Option<Completion>;

    /// Keeps a completion that is for another session of this thread.
    fn keep(&mut self, completion: Completion);

    /// Returns a completion that was kept for these tokens.
    fn kept(&mut self, is_wanted: &dyn Fn(u64) -> bool) -> Option<Completion>;
}

/// A folder that has only the files of one store: the state of a thread. With the thread's source of
/// events, [`Folder::on`], it is a [`Storage`].
#[derive(Debug)]
pub struct Folder {
    folder: FolderId,
    open: BTreeMap<String, FileId>,
    kept: Vec<Completion>,
    work: Option<Box<dyn Any + Send>>,
}

impl Folder {
    /// A folder that the thread has opened with [`Files::folder`].
    pub fn new(folder: FolderId) -> Folder {
        Folder { folder, open: BTreeMap::new(), kept: Vec::new(), work: None }
    }

    pub fn on<'a, F: Files>(&'a mut self, files: &'a mut F) -> OnFiles<'a, F> {
        OnFiles { folder: self, files }
    }
}

/// A folder and the files of its thread.
#[derive(Debug)]
pub struct OnFiles<'a, F> {
    folder: &'a mut Folder,
    files: &'a mut F,
}

impl<F: Files> Storage for OnFiles<'_, F> {
    fn list(&mut self) -> io::Result<Vec<Listed>> {
        self.files.list(self.folder.folder)
    }

    fn file(&mut self, name: &str) -> io::Result<FileId> {
        if let Some(file) = self.folder.open.get(name) {
            return Ok(*file);
        }
        // Another thread may make it in between.
        let mut open = |how| self.files.open(self.folder.folder, name, how);
        let file = match open(Open::Existing) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match open(Open::New) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(Open::Existing),
                made => made,
            },
            opened => opened,
        }?;
        self.folder.open.insert(name.to_owned(), file);
        Ok(file)
    }

    fn now(&mut self) -> Instant {
        self.files.now()
    }

    fn room(&self) -> usize {
        self.files.room()
    }

    fn begin(&mut self, file: FileId, operation: Operation, token: u64) {
        self.files.begin(file, operation, token);
    }

    fn close_before(&mut self, name: &str) {
        let mut kept = self.folder.open.split_off(name);
        while let Some((name, file)) = self.folder.open.pop_last() {
            match Segment::is_name(&name) {
                true => self.files.close_file(file),
                false => drop(kept.insert(name, file)),
            }
        }
        self.folder.open = kept;
    }

    fn remove(&mut self, name: &str, token: u64) {
        if let Some(file) = self.folder.open.remove(name) {
            self.files.close_file(file);
        }
        self.files.remove(self.folder.folder, name, token);
    }

    fn rename(&mut self, from: &str, to: &str, token: u64) {
        for name in [from, to] {
            if let Some(file) = self.folder.open.remove(name) {
                self.files.close_file(file);
            }
        }
        self.files.rename(self.folder.folder, from, to, token);
    }

    fn wait(&mut self) {
        let until = self.files.now() + MOMENT;
        self.files.wait(until);
    }

    fn keep_work(&mut self, work: Box<dyn Any + Send>) {
        self.folder.work = Some(work);
    }

    fn kept_work(&mut self) -> Option<Box<dyn Any + Send>> {
        self.folder.work.take()
    }

    fn next_completion(&mut self) -> Option<Completion> {
        self.files.next_completion()
    }

    fn keep(&mut self, completion: Completion) {
        self.folder.kept.push(completion);
    }

    fn kept(&mut self, is_wanted: &dyn Fn(u64) -> bool) -> Option<Completion> {
        let index = self.folder.kept.iter().position(|kept| is_wanted(kept.token))?;
        Some(self.folder.kept.swap_remove(index))
    }
}

/// No storage: the store lives in memory only, and a full log answers `Full`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Storage for Nowhere {
    fn exists(&self) -> bool {
        false
    }

    fn list(&mut self) -> io::Result<Vec<Listed>> {
        Ok(Vec::new())
    }

    fn file(&mut self, _: &str) -> io::Result<FileId> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn now(&mut self) -> Instant {
        Instant::default()
    }

    fn room(&self) -> usize {
        0
    }

    fn begin(&mut self, _: FileId, _: Operation, _: u64) {
        unreachable!("there is never room for an operation");
    }

    fn close_before(&mut self, _: &str) {}

    fn remove(&mut self, _: &str, _: u64) {
        unreachable!("there is never room for an operation");
    }

    fn rename(&mut self, _: &str, _: &str, _: u64) {
        unreachable!("there is never room for an operation");
    }

    fn wait(&mut self) {
        unreachable!("there is never room for an operation");
    }

    fn keep_work(&mut self, _: Box<dyn Any + Send>) {
        unreachable!("a store without a storage has no such work");
    }

    fn kept_work(&mut self) -> Option<Box<dyn Any + Send>> {
        None
    }

    fn next_completion(&mut self) -> Option<Completion> {
        None
    }

    fn keep(&mut self, _: Completion) {}

    fn kept(&mut self, _: &dyn Fn(u64) -> bool) -> Option<Completion> {
        None
    }
}
