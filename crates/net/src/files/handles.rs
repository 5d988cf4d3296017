//! The open folders and files of one [`super::Files`] over the kernel, and the calls on them.

use std::ffi::{CStr, CString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Call, Completion, FileId, FolderId, Listed, Open, Operation, Running, Work, checked};
use crate::socket;

#[cfg(test)]
mod tests;

/// The permissions of a new file.
const OWNER_ALONE: libc::c_uint = 0o600;

/// An open file or folder. Operations in progress share it, so that it is closed after the last.
#[derive(Debug)]
pub(crate) struct Handle {
    file: File,
    /// The folder of a file.
    folder: Option<Arc<Handle>>,
    /// A sync of the folder has covered the file's name. Nothing is known about files that were
    /// found: the process that made them may have died before its sync.
    name_is_durable: AtomicBool,
}

#[derive(Debug, Default)]
pub(crate) struct Handles {
    folders: Vec<Arc<Handle>>,
    files: Vec<Option<Arc<Handle>>>,
    free: Vec<u32>,
}

impl Handles {
    pub(crate) fn folder(&mut self, path: &Path) -> io::Result<FolderId> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path)?;
        self.folders.push(Arc::new(Handle { file, folder: None, name_is_durable: true.into() }));
        Ok(FolderId(self.folders.len() as u32 - 1))
    }

    pub(crate) fn list(&self, folder: FolderId) -> io::Result<Vec<Listed>> {
        let folder = &self.folders[folder.0 as usize].file;
        let mut listed = Vec::new();
        for name in names(folder)? {
            // A file that was removed meanwhile is left out.
            let length = match length_of_regular(folder, &name) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            if let (Some(length), Ok(name)) = (length, name.into_string()) {
                listed.push(Listed { name, length });
            }
        }
        listed.sort();
        Ok(listed)
    }

    pub(crate) fn open(&mut self, folder: FolderId, name: &str, how: Open) -> io::Result<FileId> {
        let folder = self.folders[folder.0 as usize].clone();
        let how = match how {
            Open::Existing => 0,
            Open::New => libc::O_CREAT | libc::O_EXCL,
        };
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC | how;
        let file = open_at(&folder.file, &checked(name)?, flags)?;
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let file = Handle { file, folder: Some(folder), name_is_durable: false.into() };
        let index = self.free.pop().unwrap_or_else(|| {
            self.files.push(None);
            self.files.len() as u32 - 1
        });
        self.files[index as usize] = Some(Arc::new(file));
        Ok(FileId(index))
    }

    pub(crate) fn close(&mut self, file: FileId) {
        let closed = self.files[file.0 as usize].take();
        assert!(closed.is_some(), "a file is closed once");
        self.free.push(file.0);
    }

    pub(crate) fn operation(
        &self,
        file: FileId,
        operation: Operation,
        token: u64,
    ) -> Running<Arc<Handle>> {
        let file = self.files[file.0 as usize].clone().expect("only an open file is operated on");
        let work = Work::of(operation, file.name_is_durable.load(Ordering::Relaxed));
        Running::new(token, file, work)
    }

    pub(crate) fn removal(
        &self,
        folder: FolderId,
        name: &str,
        token: u64,
    ) -> io::Result<Running<Arc<Handle>>> {
        let folder = self.folders[folder.0 as usize].clone();
        Ok(Running::new(token, folder, Work::Remove { name: checked(name)? }))
    }

    pub(crate) fn renaming(
        &self,
        folder: FolderId,
        [from, to]: [&str; 2],
        token: u64,
    ) -> io::Result<Running<Arc<Handle>>> {
        let folder = self.folders[folder.0 as usize].clone();
        let work = Work::Rename { from: checked(from)?, to: checked(to)? };
        Ok(Running::new(token, folder, work))
    }
}

impl Handle {
    pub(crate) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Returns the folder of a file, or the folder itself.
    pub(crate) fn folder(&self) -> &Handle {
        self.folder.as_deref().unwrap_or(self)
    }

    /// Makes a call, and waits until it ends.
    pub(crate) fn perform(&self, call: Call<'_>) -> io::Result<usize> {
        match call {
            Call::Read(at, into) => self.file.read_at(into, at),
            Call::Write(at, from) => self.file.write_at(from, at),
            Call::SyncFile => self.file.sync_data().map(|()| 0),
            Call::SyncFolder => self.folder().file.sync_all().map(|()| 0),
            Call::Truncate(length) => self.file.set_len(length).map(|()| 0),
            Call::Remove(name) => remove_at(&self.file, name),
            Call::Rename(from, to) => rename_at(&self.file, from, to),
        }
    }
}

impl Running<Arc<Handle>> {
    /// Makes calls until the operation ends.
    pub(crate) fn perform(mut self) -> Completion {
        loop {
            let (file, call) = self.call();
            let result = file.perform(call);
            if let Some(result) = self.advance(result) {
                return self.end(result);
            }
        }
    }

    pub(crate) fn end(self, result: io::Result<usize>) -> Completion {
        if self.makes_durable() && result.is_ok() {
            self.file.name_is_durable.store(true, Ordering::Relaxed);
        }
        self.complete(result)
    }
}

fn open_at(folder: &File, name: &CStr, flags: libc::c_int) -> io::Result<File> {
    let folder = folder.as_raw_fd();
    // SAFETY: `name` is a text with its end, valid for the call.
    let fd = unsafe { libc::openat(folder, name.as_ptr(), flags, OWNER_ALONE) };
    socket::owned(fd).map(File::from)
}

fn remove_at(folder: &File, name: &CStr) -> io::Result<usize> {
    // SAFETY: as in `open_at`.
    let result = unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), 0) };
    if result == 0 { Ok(0) } else { Err(io::Error::last_os_error()) }
}

fn rename_at(folder: &File, from: &CStr, to: &CStr) -> io::Result<usize> {
    let folder = folder.as_raw_fd();
    // SAFETY: as in `open_at`, for both names.
    let result = unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) };
    if result == 0 { Ok(0) } else { Err(io::Error::last_os_error()) }
}

/// Returns the length of a file; `None` if it is not a regular one.
fn length_of_regular(folder: &File, name: &CStr) -> io::Result<Option<u64>> {
    // SAFETY: all-zero bytes are a valid status.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: as in `open_at`; `status` is valid to be written to.
    let result = unsafe {
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        libc::fstatat(folder.as_raw_fd(), name.as_ptr(), &mut status, flags)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_regular = status.st_mode & libc::S_IFMT == libc::S_IFREG;
    Ok(is_regular.then_some(status.st_size as u64))
}

/// Returns the names of everything in a folder.
fn names(folder: &File) -> io::Result<Vec<CString>> {
    // A descriptor of its own, which reads from the beginning and belongs to the stream.
    let fd = open_at(folder, c".", libc::O_DIRECTORY | libc::O_CLOEXEC)?.into_raw_fd();
    // SAFETY: the descriptor is open, and nothing else uses it.
    let stream = unsafe { libc::fdopendir(fd) };
    if stream.is_null() {
        let error = io::Error::last_os_error();
        // SAFETY: the stream has not taken it.
        unsafe { libc::close(fd) };
        return Err(error);
    }
    let names = read_names(stream);
    // SAFETY: it is open, and is not used any more.
    unsafe { libc::closedir(stream) };
    names
}

fn read_names(stream: *mut libc::DIR) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    loop {
        // SAFETY: this thread's own error number, which tells the end from a failure; and a stream
        // that is open.
        let entry = unsafe {
            *libc::__errno_location() = 0;
            libc::readdir(stream)
        };
        if entry.is_null() {
            let error = io::Error::last_os_error();
            return if error.raw_os_error() == Some(0) { Ok(names) } else { Err(error) };
        }
        // SAFETY: the entry is valid until the next call, and its name ends in a zero.
        names.push(unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) }.to_owned());
    }
}
