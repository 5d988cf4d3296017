//! The host of a run: its lock, its clock, its programs, and names that cannot collide.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, anyhow};
use measure::Instant;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::time::{ClockId, clock_gettime};

use crate::Host;
use crate::spec::{Resolved, Step};

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
                let _ = file.set_permissions(fs::Permissions::from_mode(0o666));
            })
        }
        opened => opened,
    };
    match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => options.open(path),
        opened => opened,
    }
}

/// The host's monotonic clock, the one that the generator stamps its phases with.
pub(crate) fn now() -> Instant {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    Instant(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has a clock");
    u64::try_from(time.tv_sec()).unwrap_or_default()
}

/// `results/<name>-2026-11-21-0942`, in universal time; numbered on if it is taken.
pub(crate) fn default_folder(name: &str) -> PathBuf {
    let base = format!("results/{name}-{}", date(unix_seconds()));
    let numbered = (2..).map(|n| format!("{base}-{n}"));
    std::iter::once(base.clone())
        .chain(numbered)
        .map(PathBuf::from)
        .find(|path| !path.exists())
        .expect("some number is free")
}

/// A civil date and time of day (Hinnant's algorithm, proleptic Gregorian).
fn date(unix_seconds: u64) -> String {
    let days = (unix_seconds / 86_400) as i64 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let minutes = unix_seconds % 86_400 / 60;
    format!("{year}-{month:02}-{day:02}-{:02}{:02}", minutes / 60, minutes % 60)
}

/// Digests of all that measures and is measured, by name: the programs and the script.
pub(crate) fn binaries(
    resolved: &Resolved,
    host: &Host,
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::from([("benchwright".to_owned(), host.benchwright.clone())]);
    for step in &resolved.spec.sut.deploy {
        let (name, path) = match step {
            Step::App(_) => {
                ("benchwright-apps", host.benchwright.with_file_name("benchwright-apps"))
            }
            Step::Process(process) if process.command.0[0] == "benchwright" => continue,
            Step::Process(process) => {
                let program = resolved.text(&process.command.0[0], 1);
                let Some(path) = find_program(&program, &resolved.folder) else {
                    return Err(no_program(resolved, &process.command.0[0], &program).into());
                };
                files.insert(process.name.to_string(), path);
                continue;
            }
        };
        files.insert(name.to_owned(), path);
    }
    files.extend(resolved.script().map(|script| ("script".to_owned(), script)));
    let digest = |(name, path): (String, PathBuf)| {
        let bytes = fs::read(&path).map_err(|error| {
            anyhow!("cannot read {name}, {}: {}", path.display(), crate::spec::plain(&error))
        })?;
        Ok((name, results::directory::digest(&bytes)))
    };
    files.into_iter().map(digest).collect()
}

fn no_program(resolved: &Resolved, written: &str, program: &str) -> crate::spec::SpecError {
    resolved.source.error(
        format!("there is no program `{program}`"),
        resolved.source.find("command", written),
        "a path with `/` begins at the spec's folder, a name is looked up in PATH",
    )
}

/// A program with a `/` stands relative to the spec; any other is looked up in PATH.
pub(crate) fn find_program(program: &str, folder: &Path) -> Option<PathBuf> {
    let executable = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return std::path::absolute(folder.join(program)).ok().filter(executable);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(executable)
}

/// A run by its process: the number alone would be given to another process some day.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct RunId {
    pub(crate) pid: u32,
    /// When the process began, in the kernel's ticks since boot.
    pub(crate) start: u64,
    /// Counts the runs of one process.
    number: u32,
}

impl RunId {
    /// A new run of this process.
    pub(crate) fn new() -> RunId {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let start = start_of(pid).expect("this process is alive");
        RunId { pid, start, number: RUNS.fetch_add(1, Ordering::Relaxed) }
    }

    /// Reads `<prefix><pid>-<start>` and `<prefix><pid>-<start>-<number>`.
    pub(crate) fn parse(name: &str, prefix: &str) -> Option<RunId> {
        let mut parts = name.strip_prefix(prefix)?.split('-');
        let pid = parts.next()?.parse().ok()?;
        let start = parts.next()?.parse().ok()?;
        let number = parts.next().map_or(Some(0), |part| part.parse().ok())?;
        parts.next().is_none().then_some(RunId { pid, start, number })
    }

    pub(crate) fn is_alive(&self) -> bool {
        start_of(self.pid) == Some(self.start)
    }
}

/// `4711-829312`; further runs of the same process are numbered.
impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.pid, self.start)?;
        if 0 < self.number { write!(f, "-{}", self.number) } else { Ok(()) }
    }
}

/// The 22nd field of the process's stat, behind its name, which may hold anything.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
