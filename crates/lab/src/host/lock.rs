//! The lock of a host: one experiment measures on it at a time.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, anyhow};
use nix::fcntl::{Flock, FlockArg, OFlag};

use super::start_of;

#[cfg(test)]
mod tests;

/// One experiment measures on a host at a time: the second would be the first one's noise. The
/// kernel frees the lock when its holder dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Flock<File>,
}

impl Lock {
    pub(crate) fn take(path: &Path) -> anyhow::Result<Lock> {
        let file = open_shared(path).with_context(|| format!("opening {}", path.display()))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(mut file) => {
                // The holder's number is for people; a failure to write it harms nobody.
                let _ = file.set_len(0).and_then(|()| file.rewind());
                let _ = write!(file, "{}", std::process::id());
                Ok(Lock { _file: file })
            }
            Err((mut file, _)) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                // One who could only read the file has left an earlier holder's number in it.
                let alive = |pid: &u32| start_of(*pid).is_some();
                let holder = match holder.trim().parse().ok().filter(alive) {
                    None => "another process".to_owned(),
                    Some(pid) => format!("pid {pid}"),
                };
                Err(anyhow!(
                    "another experiment is measuring on this host ({holder}); two at a time would \
                     disturb each other: wait for it, or stop it"
                ))
            }
        }
    }
}

/// Every user of the host shares the file, so it is opened before it is made: in a sticky folder
/// the kernel refuses to "make" what another user owns. Who may not write it can lock it all the
/// same.
fn open_shared(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // In a folder that everybody writes to, a link may lead to a file that is not to be emptied.
    options.read(true).custom_flags(OFlag::O_NOFOLLOW.bits());
    let opened = match options.clone().write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = options.clone().write(true).create(true).mode(0o666).open(path);
            // The umask may have taken some of it; a file of somebody else's has its own.
            made.inspect(|file| {
                let _ = file.set_permissions(Permissions::from_mode(0o666));
            })
        }
        opened => opened,
    };
    match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => options.open(path),
        opened => opened,
    }
}
