//! Files of a results directory, which may come from somebody else: they are regular files, and no link
//! leads to them. So nothing in their place makes a reader wait, and what is written replaces nothing
//! outside the directory.
//!
//! A file may be read by those who may read its folder.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, IsTerminal, Read, Write};
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use nix::libc;

#[cfg(test)]
mod tests;

/// The most bytes that are read of a file that grows with the trials, and of any other.
pub const MOST: u64 = 256 << 20;
pub const MOST_OF_SHORT: u64 = 16 << 20;
/// The most bytes that are read of a mix, or of a table of trials: their lines are written by people and by small
/// programs.
pub const MOST_OF_LINES: u64 = 64 << 20;

/// Opens a regular file.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // A FIFO would wait for its other end.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file =
        options.custom_flags(flags).open(path).map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => io::Error::other("a link, not a regular file"),
            Some(libc::ENXIO) => io::Error::other("not a regular file"),
            _ => error,
        })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// The waits for the lock of a dead process, and the longest of all together.
const LOCK_WAIT: Duration = Duration::from_millis(10);
const LOCK_WAITS: u32 = 200;

/// A file that this process has locked until this is dropped.
#[derive(Debug)]
pub struct Locked(File);

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing is not enough: a process that is being started has the file open until its exec.
        let _ = self.0.unlock();
    }
}

/// Locks a file, unless another process has the lock, which `lives` if that is known. A child has its
/// parent's locks until its exec: if the parent is killed at that moment, the lock is free only a few
/// milliseconds later, so the lock of a process of which nothing is known is waited for.
pub fn lock(file: File, lives: impl Fn(&File) -> bool) -> io::Result<Option<Locked>> {
    for _ in 0..LOCK_WAITS {
        match file.try_lock() {
            Ok(()) => return Ok(Some(Locked(file))),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if lives(&file) => return Ok(None),
            Err(TryLockError::WouldBlock) => {
                #[expect(clippy::disallowed_methods, reason = "another process ends in real time")]
                std::thread::sleep(LOCK_WAIT);
            }
        }
    }
    Ok(None)
}

/// Reads a regular file of at most so many bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_to(open(path, OpenOptions::new().read(true))?, most)
}

/// Returns true if something has this name, and be it a link that leads nowhere: only what is not there at all
/// was never written.
pub fn is_there(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Opens a file that the user names, which may be a pipe or a terminal. Of other devices only the empty one has an end.
pub fn open_input(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let kind = found.file_type();
    let is_endless = match () {
        () if kind.is_char_device() => found.rdev() != EMPTY && !file.is_terminal(),
        () => kind.is_block_device(),
    };
    match is_endless {
        true => Err(io::Error::other("it is a device, not a file; name a file or a pipe")),
        false => Ok(file),
    }
}

/// The reason why a pipe cannot be a file of an experiment.
pub const PIPE: &str = "a pipe, and an experiment reads it more than once";

/// Opens a file that is read more than once, as those of an experiment are: from a pipe only the first reader would get
/// anything, and nobody may be at its other end.
pub fn open_again(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.file_type().is_fifo() {
        true => Err(io::Error::other(format!("it is {PIPE}"))),
        false => Ok(file),
    }
}

/// The number of the device `/dev/null`, which is the same on every Linux.
const EMPTY: u64 = 0x103;

/// Reads a file that the user names, which may be a pipe, of at most so many bytes.
pub fn read_input(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_to(open_input(path)?, most)
}

fn read_to(file: File, most: u64) -> io::Result<Vec<u8>> {
    // Before anything is read: a file without contents may be long, too.
    match most < file.metadata()?.len() {
        true => Err(too_long(most)),
        false => read_bounded(file, most),
    }
}

/// Reads all that follows, of at most so many bytes.
pub fn read_bounded(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most + 1).read_to_end(&mut bytes)?;
    if most < bytes.len() as u64 { Err(too_long(most)) } else { Ok(bytes) }
}

fn too_long(most: u64) -> io::Error {
    io::Error::other(format!("it is longer than {} MiB", most >> 20))
}

/// Reads a text likewise.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_input(path, most)?).map_err(io::Error::other)
}

/// Reads a text of a file that is read more than once.
pub fn read_text_again(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_bounded(open_again(path)?, most)?).map_err(io::Error::other)
}

/// Returns a message of the system without the number of the error.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Returns the name of a file for a message. Whoever named it may have put the end of a line into it, and behind it a
/// line that looks like one of ours.
pub fn shown(path: &Path) -> String {
    one_line(&path.display().to_string())
}

/// Returns a text of somebody else as one line: control characters are written out, as `\u000a`.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line += &format!("\\u{:04x}", u32::from(c)),
            false => line.push(c),
        }
    }
    line
}

/// Returns what helps against an error in writing, if that is known.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room",
        io::ErrorKind::FileTooLarge => "raise the limit of a file's size (`ulimit -f unlimited`)",
        _ => return None,
    })
}

/// Returns the same message with the remedy.
pub fn in_words(error: &io::Error) -> String {
    let text = plain(error);
    remedy(error).map_or(text.clone(), |remedy| format!("{text}; {remedy}"))
}

/// Fails if no file can be made and written in this folder, as in one of the kernel, or on a full disk: permissions
/// alone do not tell.
pub fn check_writable(folder: &Path) -> io::Result<()> {
    let mut new = tempfile::Builder::new().prefix(NEW).tempfile_in(folder)?;
    new.write_all(b"x")
}

/// Creates a file in place of what has its name.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    new_file(path)
}

/// Writes a file so that a reader sees the old or the new contents, never a part.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    let new = tempfile::Builder::new()
        .prefix(NEW)
        .permissions(PermissionsExt::from_mode(of_files(folder)?))
        .tempfile_in(folder)?;
    new.as_file().write_all(bytes)?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    sync_folder(folder)
}

/// Makes an empty file, durably once its folder is synced; one that is there stays.
pub(crate) fn write_mark(path: &Path) -> io::Result<()> {
    match write_new(path, b"") {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Writes a new file, durably once its folder is synced.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = new_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes a folder that the same may read as the folder that it is in, or accepts one that is there.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let mode = mode_of(folder_of(path))?;
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_folder(path),
        made => made,
    }
}

/// Fails unless this is a folder, and no link to one.
pub(crate) fn check_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a folder")),
    }
}

/// Syncs a folder: only then a new file, folder or name in it is durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The beginning of the name of a file that is being written.
pub(crate) const NEW: &str = ".new-";

fn new_file(path: &Path) -> io::Result<File> {
    let mode = of_files(folder_of(path))?;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Returns the folder of a path.
pub fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn mode_of(folder: &Path) -> io::Result<u32> {
    Ok(fs::metadata(folder)?.permissions().mode() & 0o777)
}

/// The permissions of the files in a folder.
pub(crate) fn of_files(folder: &Path) -> io::Result<u32> {
    Ok(mode_of(folder)? & 0o666 | 0o600)
}
