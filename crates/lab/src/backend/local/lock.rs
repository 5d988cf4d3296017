//! The lock of a host: one experiment measures on it at a time.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use measure::Nanos;
use nix::fcntl::{Flock, FlockArg, OFlag};

use crate::host::{self, start_of};

#[cfg(test)]
mod tests;

/// The longest wait for the lock of a dead holder. A child has its parent's lock until its exec; if
/// the parent is killed at that moment, the lock is free only when the child has ended too, which
/// takes a few milliseconds.
const ORPHAN_ENDS_WITHIN: Nanos = Nanos::from_secs(2);

/// The lock of the host: a second experiment would disturb the first. The kernel frees the lock
/// when its holder dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Flock<File>,
}

impl Lock {
    pub(crate) fn take(path: &Path) -> anyhow::Result<Lock> {
        let mut file = open_shared(path).with_context(|| format!("opening {}", path.display()))?;
        let begun = host::now();
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(mut file) => {
                    // The holder's number is for people; a failure to write it does no harm.
                    let _ = file.set_len(0).and_then(|()| file.rewind());
                    let _ = write!(file, "{}", std::process::id());
                    return Ok(Lock { _file: file });
                }
                Err((file, _)) => file,
            };
            let holder = holder(&mut file);
            if holder.is_some() || ORPHAN_ENDS_WITHIN <= host::now() - begun {
                let holder =
                    holder.map_or("another process".to_owned(), |pid| format!("pid {pid}"));
                return Err(anyhow!(
                    "another experiment is measuring on this host ({holder}); two at a time would \
                     disturb each other: wait for it, or stop it"
                ));
            }
            host::rest(Duration::from_millis(10));
        }
    }
}

/// Returns the process named in the file. A holder that could only read the file left the number of
/// an earlier holder, which may be dead.
fn holder(file: &mut File) -> Option<u32> {
    let mut pid = String::new();
    let _ = file.rewind().and_then(|()| file.read_to_string(&mut pid));
    pid.trim().parse().ok().filter(|&pid| start_of(pid).is_some())
}

/// Opens the file of the lock, and creates it only if it is missing: every user of the host shares
/// it, and in a sticky folder the kernel refuses to create a file that another user owns. A user
/// without write permission can still lock it.
fn open_shared(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // In a folder that everybody can write to, a link may lead to a file that must not be emptied.
    options.read(true).custom_flags(OFlag::O_NOFOLLOW.bits());
    let opened = match options.clone().write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = options.clone().write(true).create(true).mode(0o666).open(path);
            // The umask may have removed permissions; a file that another user created has its own.
            made.inspect(|file| {
                let _ = file.set_permissions(Permissions::from_mode(0o666));
            })
        }
        opened => opened,
    };
    match opened {
        Err(error) if is_refused(&error) => options.open(path),
        opened => opened,
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
