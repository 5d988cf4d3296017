//! The lock of a host: one experiment of a user measures on it at a time. What other users do there is
//! foreign load, which the doctor sees.

use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use measure::Nanos;
use nix::fcntl::{Flock, FlockArg};

use crate::host::{self, start_of};
use crate::{runtime, trust};

#[cfg(test)]
mod tests;

/// The name of the lock's file.
const FILE: &str = "lock";
/// The longest wait for the lock of a dead holder. A child has its parent's lock until its exec; if
/// the parent is killed at that moment, the lock is free only when the child has ended too, which
/// takes a few milliseconds.
pub(super) const ORPHAN_ENDS_WITHIN: Nanos = Nanos::from_secs(2);

/// The lock of the host: a second experiment would disturb the first. The kernel frees the lock
/// when its holder dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Flock<File>,
}

impl Lock {
    /// Takes the lock in the runtime folder of a user.
    pub(crate) fn take(runtime: &Path) -> anyhow::Result<Lock> {
        runtime::make(runtime)?;
        let path = runtime.join(FILE);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).mode(0o600);
        let mut file =
            trust::open(&path, options).with_context(|| format!("opening {}", path.display()))?;
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

/// Returns the process named in the file, if it can be seen from here.
fn holder(file: &mut File) -> Option<u32> {
    let pid = file.rewind().and_then(|()| trust::read(file)).unwrap_or_default();
    pid.trim().parse().ok().filter(|&pid| start_of(pid).is_some())
}
