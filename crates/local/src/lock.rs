//! The lock of a host: one experiment of a user measures on it at a time. What other users do there is
//! foreign load, which the doctor sees.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use lab::host::start_of;
use lab::runtime;
use results::regular::{self, Locked};
use results::trust;

#[cfg(test)]
mod tests;

/// The name of the lock's file.
const FILE: &str = "lock";

/// The lock of the host: a second experiment would disturb the first. The kernel frees the lock
/// when its holder dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Locked,
}

impl Lock {
    /// Takes the lock in the runtime folder of a user.
    pub(crate) fn take(runtime: &Path) -> anyhow::Result<Lock> {
        runtime::make(runtime)?;
        let path = runtime.join(FILE);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).mode(0o600);
        let file =
            trust::open(&path, options).with_context(|| format!("opening {}", path.display()))?;
        let seen = Cell::new(None);
        let lives = |file: &File| {
            seen.set(holder(file));
            seen.get().is_some()
        };
        let locked =
            regular::lock(file, lives).with_context(|| format!("locking {}", path.display()))?;
        let Some(file) = locked else {
            let holder =
                seen.get().map_or("another process".to_owned(), |pid| format!("pid {pid}"));
            bail!(
                "another experiment is measuring on this host ({holder}); two at a time would disturb \
                 each other: wait for it, or stop it"
            );
        };
        // The holder's number is for people; a failure to write it does no harm.
        let _ = file.set_len(0).and_then(|()| (&*file).rewind());
        let _ = write!(&*file, "{}", std::process::id());
        Ok(Lock { _file: file })
    }
}

/// Returns the process named in the file, if it can be seen from here.
fn holder(mut file: &File) -> Option<u32> {
    let pid = file.rewind().and_then(|()| trust::read(file)).unwrap_or_default();
    pid.trim().parse().ok().filter(|&pid| start_of(pid).is_some())
}
