//! An operation in progress: a sequence of system calls, which each implementation makes in its own
//! way. Only here is decided which call is next and when the operation has ended.

use std::ffi::CString;
use std::io;

use super::{Completion, Operation};

#[cfg(test)]
mod tests;

/// The most bytes of one call: the result of a longer one does not fit the kernel's counts.
const MOST_OF_A_CALL: usize = 1 << 30;

/// An operation in progress on `file`, and its buffer.
#[derive(Debug)]
pub(crate) struct Running<F> {
    pub(crate) token: u64,
    pub(crate) file: F,
    work: Work,
    /// The number of bytes that were moved so far.
    moved: usize,
}

/// The work of an operation.
#[derive(Debug)]
pub(crate) enum Work {
    Read {
        at: u64,
        buffer: Vec<u8>,
    },
    Write {
        at: u64,
        bytes: Vec<u8>,
    },
    /// Syncs the file, and then its folder if the file's name is not durable yet.
    Sync {
        then_folder: bool,
    },
    SyncFolder,
    Truncate {
        length: u64,
    },
    /// Removes a file from the folder that this is done on.
    Remove {
        name: CString,
    },
    /// Renames a file of the folder that this is done on, and then syncs the folder.
    Rename {
        from: CString,
        to: CString,
    },
}

/// The next system call of an operation.
pub(crate) enum Call<'a> {
    Read(u64, &'a mut [u8]),
    Write(u64, &'a [u8]),
    /// Syncs the bytes and the length.
    SyncFile,
    SyncFolder,
    Truncate(u64),
    Remove(&'a CString),
    Rename(&'a CString, &'a CString),
}

impl Work {
    pub(crate) fn of(operation: Operation, name_is_durable: bool) -> Work {
        match operation {
            Operation::Read { at, buffer } => Work::Read { at, buffer },
            Operation::Write { at, bytes } => Work::Write { at, bytes },
            Operation::Sync => Work::Sync { then_folder: !name_is_durable },
            Operation::Truncate { length } => Work::Truncate { length },
        }
    }
}

impl<F> Running<F> {
    pub(crate) fn new(token: u64, file: F, work: Work) -> Running<F> {
        Running { token, file, work, moved: 0 }
    }

    /// Returns the file and the next call on it.
    pub(crate) fn call(&mut self) -> (&F, Call<'_>) {
        let moved = self.moved;
        let end = |length: usize| length.min(moved + MOST_OF_A_CALL);
        let call = match &mut self.work {
            Work::Read { at, buffer } => {
                let end = end(buffer.len());
                Call::Read(*at + moved as u64, &mut buffer[moved..end])
            }
            Work::Write { at, bytes } => {
                Call::Write(*at + moved as u64, &bytes[moved..end(bytes.len())])
            }
            Work::Sync { .. } => Call::SyncFile,
            Work::SyncFolder => Call::SyncFolder,
            Work::Truncate { length } => Call::Truncate(*length),
            Work::Remove { name } => Call::Remove(name),
            Work::Rename { from, to } => Call::Rename(from, to),
        };
        (&self.file, call)
    }

    /// Takes the result of the call; returns that of the operation if it has ended. Otherwise the
    /// next call is to be made.
    pub(crate) fn advance(&mut self, result: io::Result<usize>) -> Option<io::Result<usize>> {
        let count = match result {
            Ok(count) => count,
            Err(error) if is_passing(&error) => return None,
            Err(error) => return Some(Err(error)),
        };
        self.moved += count;
        let length = match &self.work {
            Work::Read { .. } if count == 0 => self.moved,
            Work::Read { buffer, .. } => buffer.len(),
            // No disk does so; but it must not be asked for ever.
            Work::Write { bytes, .. } if count == 0 && self.moved < bytes.len() => {
                return Some(Err(io::ErrorKind::WriteZero.into()));
            }
            Work::Write { bytes, .. } => bytes.len(),
            Work::Sync { then_folder: true } | Work::Rename { .. } => {
                self.work = Work::SyncFolder;
                return None;
            }
            _ => 0,
        };
        (length <= self.moved).then_some(Ok(self.moved))
    }

    /// True if this syncs a file and its name.
    pub(crate) fn makes_durable(&self) -> bool {
        matches!(self.work, Work::Sync { .. } | Work::SyncFolder)
    }

    /// Returns the bytes that are still to be written, and their position.
    pub(crate) fn unwritten(&self) -> Option<(u64, &[u8])> {
        match &self.work {
            Work::Write { at, bytes } => Some((*at + self.moved as u64, &bytes[self.moved..])),
            _ => None,
        }
    }

    pub(crate) fn complete(self, result: io::Result<usize>) -> Completion {
        let buffer = match self.work {
            Work::Read { buffer, .. } => buffer,
            Work::Write { bytes, .. } => bytes,
            _ => Vec::new(),
        };
        Completion { token: self.token, result, buffer }
    }
}

/// True if the same call may succeed at once: a signal came, or the ring could not wait.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}
