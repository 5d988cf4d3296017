//! Standard output, standard error and the files that the user names, of which others may stop reading: a terminal by
//! Ctrl-S, a pipe by a reader that hangs. Who asks this process to end must not wait for them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::Nanos;
use net::clock;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{AccessFlags, access};
use results::{regular, trust};

/// As much as a pipe takes at once when it takes anything (POSIX, `PIPE_BUF`).
const PIECE: usize = 4096;
/// The wait for room, or for a reader, before an interruption is looked for, in milliseconds.
const WAIT: u16 = 100;

/// One of both streams, without a buffer.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn write_to(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Stdout => write_all(io::stdout().as_fd(), bytes),
            Stream::Stderr => write_all(io::stderr().as_fd(), bytes),
        }
    }

    /// True once nobody read it after an interruption: then it stays so.
    fn is_given_up(self) -> &'static AtomicBool {
        static STREAMS: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
        &STREAMS[self as usize]
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_given_up().load(Ordering::Relaxed) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let written = self.write_to(bytes);
        if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            self.is_given_up().store(true, Ordering::Relaxed);
        }
        written.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes all bytes; an interruption ends the wait for a reader that does not read (`TimedOut`).
fn write_all(to: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    for mut piece in bytes.chunks(PIECE) {
        while !piece.is_empty() {
            await_room(to)?;
            match nix::unistd::write(to, piece) {
                Ok(written) => piece = &piece[written..],
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

fn await_room(to: BorrowedFd<'_>) -> io::Result<()> {
    loop {
        let mut polled = [PollFd::new(to, PollFlags::POLLOUT)];
        match poll(&mut polled, PollTimeout::from(WAIT)) {
            Ok(0) if crate::signals::is_interrupted() => return Err(io::ErrorKind::TimedOut.into()),
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A file or pipe that the user has named, without a buffer. An interruption ends the wait for a reader (`TimedOut`).
#[derive(Debug)]
pub struct Destination(File);

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_all(self.0.as_fd(), bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a file that the user names for what is written as it comes. A pipe waits for its reader, unless this is
/// interrupted.
pub fn create(path: &Path) -> io::Result<Destination> {
    check_place(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut is_told = false;
    loop {
        match options.custom_flags(libc::O_NONBLOCK).open(path) {
            // With a reader nothing waits here.
            Ok(_there) => return options.custom_flags(0).open(path).map(Destination),
            Err(error) if error.raw_os_error() != Some(libc::ENXIO) => return Err(error),
            Err(_) if crate::signals::is_interrupted() => {
                return Err(io::Error::other("interrupted: nobody reads this pipe"));
            }
            Err(_) => {}
        }
        if !is_told {
            super::error(&format!("waiting for a reader of {}", regular::shown(path)));
            is_told = true;
        }
        clock::sleep_until(clock::now() + Nanos::from_millis(u64::from(WAIT)));
    }
}

/// Fails if [`create`] or [`replace`] will, with the remedy.
pub(super) fn check_place(path: &Path) -> io::Result<()> {
    trust::check_link(path)?;
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(io::Error::other("it is a folder; name a file in it"));
        }
        // A pipe, or a device.
        Ok(found) if !found.is_file() => {
            let allowed = access(path, AccessFlags::W_OK);
            return allowed.map_err(|error| refused("it", &error.into()));
        }
        Ok(_) | Err(_) => {}
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = regular::folder_of(&target);
    let shown = regular::shown(folder);
    match std::fs::metadata(folder) {
        Ok(found) if !found.is_dir() => {
            Err(io::Error::other(format!("{shown} is not a folder; name a file in a folder")))
        }
        Ok(_) => match regular::check_writable(folder) {
            // A file that may be written in a folder that may not.
            Err(_) if target.exists() && access(&target, AccessFlags::W_OK).is_ok() => Ok(()),
            written => written.map_err(|error| refused(&format!("the folder {shown}"), &error)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::Error::other(format!(
            "there is no folder {shown}; make it first (mkdir -p {shown}), or name another file"
        ))),
        Err(error) => Err(refused(&format!("the folder {shown}"), &error)),
    }
}

fn refused(place: &str, error: &io::Error) -> io::Error {
    let text = match error.kind() {
        io::ErrorKind::PermissionDenied => "you may not write there".to_owned(),
        io::ErrorKind::NotFound => "no file can be made there".to_owned(),
        _ => regular::in_words(error),
    };
    io::Error::other(format!("{place} cannot be written to: {text}; name another file"))
}

/// Writes a whole file that the user names: a reader sees the old or the new contents, never a part. What is not a
/// regular file is written as it is.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    trust::check_link(path)?;
    let as_it_is = || create(path)?.write_all(bytes);
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return as_it_is();
    }
    // A link of the user's own stays one.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match regular::replace(&target, bytes) {
        // A file that may be written in a folder that may not.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => as_it_is(),
        written => written,
    }
}
