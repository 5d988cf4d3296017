//! The interface between a shard and its files.
//!
//! An operation owns its buffer from its begin to its completion, which returns it: so no memory is
//! allocated for an operation, and nothing else can touch what the kernel reads or writes. Nothing
//! here orders operations that are in progress together; only [`Operation::Sync`] says what it
//! covers.

use std::ffi::CString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::io::Io;

pub(crate) use self::handles::{Handle, Handles};
pub(crate) use self::pool::Pool;
pub(crate) use self::running::{Call, Running, Work};

mod handles;
mod pool;
mod running;

/// The most operations in progress on one [`Files`]; completions that were not taken count.
pub const MOST_IN_PROGRESS: usize = 256;

/// The id of an open folder, which stays open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FolderId(pub u32);

/// The id of an open file until it is closed; then it is used again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FileId(pub u32);

/// The file that is to be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Open {
    Existing,
    /// A file that does not exist yet. It is made empty, for its owner alone.
    New,
}

/// A regular file of a folder.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Listed {
    pub name: String,
    /// The length in bytes.
    pub length: u64,
}

/// An operation on a file. Positions and lengths are in bytes.
#[derive(Debug)]
pub enum Operation {
    /// Fills the buffer with what the file has from `at` on; its result is less than the buffer's
    /// length only where the file ends.
    Read { at: u64, buffer: Vec<u8> },
    /// Writes all bytes from `at` on, and makes the file longer as needed. After a failure, such as
    /// of no space, some of the bytes may have been written.
    Write { at: u64, bytes: Vec<u8> },
    /// Makes durable what had completed before this began: the bytes, the length, and the name of
    /// a new file. After a failure, what it was to cover may be lost even if a later sync succeeds:
    /// the kernel may have dropped it.
    Sync,
    /// Makes the file this long; what is added reads as zeros.
    Truncate { length: u64 },
}

/// The end of an operation.
#[derive(Debug)]
pub struct Completion {
    /// The token that the operation was begun with.
    pub token: u64,
    /// The number of bytes read or written.
    pub result: io::Result<usize>,
    /// The operation's buffer; empty if it had none.
    pub buffer: Vec<u8>,
}

/// A source of bytes and time that also has files.
///
/// [`Io::wait`] also ends when operations have completed. Operations cannot be cancelled. Those in
/// progress when this is dropped are abandoned: each of them has happened, in part or as a whole, or
/// has not.
pub trait Files: Io {
    /// Opens an existing folder. This and the other functions that return a result at once may wait
    /// for the disk for a moment.
    fn folder(&mut self, path: &Path) -> io::Result<FolderId>;

    /// Returns the regular files of a folder in the order of their names. A link is not one of them,
    /// nor is a file whose name is not UTF-8.
    fn list(&mut self, folder: FolderId) -> io::Result<Vec<Listed>>;

    /// Opens a file of a folder for reading and writing. Fails if the name leads elsewhere (a path,
    /// a link), or not to a regular file.
    fn open(&mut self, folder: FolderId, name: &str, how: Open) -> io::Result<FileId>;

    /// Closes a file. Its operations in progress still complete.
    fn close_file(&mut self, file: FileId);

    /// The number of operations that may begin now.
    fn room(&self) -> usize;

    /// Begins an operation, for which there must be room. A completion with this token follows.
    fn begin(&mut self, file: FileId, operation: Operation, token: u64);

    /// Begins to remove a file from its folder, as [`Files::begin`]. It should be closed before:
    /// otherwise its space is freed when it is closed, which may take long. After a crash the file
    /// may exist again.
    fn remove(&mut self, folder: FolderId, name: &str, token: u64);

    /// Begins to rename a file of a folder, as [`Files::begin`]; a file that has the name already is
    /// replaced. Its completion says that the new name is durable. After a crash before that, the
    /// file has one of the names, or both.
    fn rename(&mut self, folder: FolderId, from: &str, to: &str, token: u64);

    /// Returns the next completion.
    fn next_completion(&mut self) -> Option<Completion>;
}

/// The operations on files of the kernel that are in progress, and what makes their calls.
pub(crate) trait Calls {
    fn handles(&mut self) -> &mut Handles;

    /// As [`Files::room`].
    fn room(&self) -> usize;

    /// Begins an operation, for which there must be room.
    fn begin(&mut self, running: Running<Arc<Handle>>);

    /// Completes an operation that fails without a call; there must be room for it.
    fn fail(&mut self, token: u64, error: io::Error);

    /// As [`Files::next_completion`].
    fn next(&mut self) -> Option<Completion>;
}

/// An [`Io`] with files of the kernel. It has no calls before the first folder is open, since most have no files.
pub(crate) trait WithCalls: Io {
    type Calls: Calls;

    fn make_calls(&mut self) -> io::Result<Self::Calls>;

    fn calls(&mut self) -> &mut Option<Box<Self::Calls>>;

    /// The same, to look at.
    fn seen_calls(&self) -> Option<&Self::Calls>;
}

/// An id of a folder or of a file shows that a folder is open.
fn open_calls<I: WithCalls>(io: &mut I) -> &mut I::Calls {
    io.calls().as_mut().expect("an id of a folder or a file shows that a folder is open")
}

impl<I: WithCalls> Files for I {
    fn folder(&mut self, path: &Path) -> io::Result<FolderId> {
        if self.calls().is_none() {
            let made = self.make_calls()?;
            *self.calls() = Some(Box::new(made));
        }
        open_calls(self).handles().folder(path)
    }

    fn list(&mut self, folder: FolderId) -> io::Result<Vec<Listed>> {
        open_calls(self).handles().list(folder)
    }

    fn open(&mut self, folder: FolderId, name: &str, how: Open) -> io::Result<FileId> {
        open_calls(self).handles().open(folder, name, how)
    }

    fn close_file(&mut self, file: FileId) {
        open_calls(self).handles().close(file);
    }

    fn room(&self) -> usize {
        self.seen_calls().map_or(MOST_IN_PROGRESS, Calls::room)
    }

    fn begin(&mut self, file: FileId, operation: Operation, token: u64) {
        let calls = open_calls(self);
        let running = calls.handles().operation(file, operation, token);
        calls.begin(running);
    }

    fn remove(&mut self, folder: FolderId, name: &str, token: u64) {
        let calls = open_calls(self);
        match calls.handles().removal(folder, name, token) {
            Ok(running) => calls.begin(running),
            Err(error) => calls.fail(token, error),
        }
    }

    fn rename(&mut self, folder: FolderId, from: &str, to: &str, token: u64) {
        let calls = open_calls(self);
        match calls.handles().renaming(folder, [from, to], token) {
            Ok(running) => calls.begin(running),
            Err(error) => calls.fail(token, error),
        }
    }

    fn next_completion(&mut self) -> Option<Completion> {
        self.calls().as_mut()?.next()
    }
}

/// Returns a name for a call, if it is that of a file in a folder.
pub(crate) fn checked(name: &str) -> io::Result<CString> {
    let leads_elsewhere = matches!(name, "" | "." | "..") || name.contains('/');
    let name = CString::new(name).ok().filter(|_| !leads_elsewhere);
    name.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
