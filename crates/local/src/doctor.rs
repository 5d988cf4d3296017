//! The doctor of this machine: when it looks, and what it measures beside the files. The rules are
//! in `lab::doctor`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lab::backend::Stop;
use lab::doctor::found::Terms;
use lab::doctor::read::Reader;
use lab::doctor::{Demands, Look, Moment, diagnose, store};
use lab::spec::Resolved;
use lab::{Host, host};
use measure::{Instant, Nanos};
use results::Doctor;

use crate::cpus::roles;
use crate::{calm, digests, reads};

#[cfg(test)]
mod tests;

/// The time between the two looks before a load: two percent of it are less than what the kernel's
/// ticks show, ten are more.
const WINDOW: Nanos = Nanos::from_millis(300);
/// The length of the spins before a run, which waits for them, and of those that somebody asked for.
pub(super) const SPIN_BEFORE_RUN: Nanos = Nanos::from_millis(200);
pub const SPIN: Nanos = Nanos::SECOND;
/// The number of readings of the clock that show their cost.
const CLOCK_READINGS: u32 = 1000;

/// A machine that is looked at again and again.
pub struct Machine {
    reader: Reader,
    last: Option<Look>,
    programs: Programs,
}

/// The digests of programs, which are computed again only if a file has changed.
#[derive(Default)]
struct Programs {
    of: BTreeMap<String, (PathBuf, Option<Stamp>)>,
    digests: BTreeMap<String, String>,
}

/// The properties of a file that change with its content.
type Stamp = (std::time::SystemTime, u64);

impl Machine {
    /// Returns the machine below `root`, which is `/` or a folder with recorded files.
    pub fn new(root: &Path) -> Machine {
        Machine { reader: Reader::new(root), last: None, programs: Programs::default() }
    }

    /// Judges this machine before a load: looks twice, and then spins.
    ///
    /// # Errors
    ///
    /// If it is interrupted.
    pub fn before(
        &mut self,
        wanted: &Demands,
        programs: BTreeMap<String, PathBuf>,
        spin: Nanos,
        host: &Host,
    ) -> Result<Doctor, Stop> {
        let mut first = self.look(wanted);
        host.pause(WINDOW)?;
        let mut now = self.look(wanted);
        // What the log said before the first look counts too.
        first.log.append(&mut now.log);
        now.log = std::mem::take(&mut first.log);
        now.clock_read = Some(clock_read());
        now.binaries = self.programs.digests(programs, host)?;
        let cpus = wanted.cpus(&now.files);
        now.spins = calm::probe(&cpus, spin);
        if let Some(folder) = &wanted.storage {
            now.disks.entry(folder.clone()).or_default().reads_per_s =
                Some(reads::per_second(folder));
        }
        host.check_interrupt()?;
        let doctor = diagnose(Some(&first), &now, Moment::Before, wanted);
        // The spins and the digests are no part of what the next look is compared with.
        self.last = Some(self.look(wanted));
        Ok(doctor)
    }

    /// Judges this machine after a load, by the look before it.
    pub(super) fn after(
        &mut self,
        wanted: &Demands,
        programs: BTreeMap<String, PathBuf>,
        host: &Host,
    ) -> Result<Doctor, Stop> {
        let mut now = self.look(wanted);
        now.binaries = self.programs.digests(programs, host)?;
        let doctor = diagnose(self.last.as_ref(), &now, Moment::After, wanted);
        self.last = Some(now);
        Ok(doctor)
    }

    /// Judges recorded files: their counters by their growth since that machine began.
    pub fn recorded(&mut self, wanted: &Demands) -> Doctor {
        let now = self.look(wanted);
        let begin = Look::begin_of(&now);
        diagnose(begin.as_ref(), &now, Moment::Before, wanted)
    }

    fn look(&mut self, wanted: &Demands) -> Look {
        let of_roles: Vec<u32> = wanted.roles.values().flat_map(|cpus| cpus.0.clone()).collect();
        let mut look = self.reader.look(&of_roles, host::now);
        let folders = wanted.stores.iter().filter_map(|store| store.folder.as_ref());
        let folders = folders.chain(&wanted.storage);
        look.disks = folders.map(|folder| (folder.clone(), self.reader.disk(folder))).collect();
        look
    }
}

impl Programs {
    /// Returns the digests of files; of none if one of them cannot be read.
    fn digests(
        &mut self,
        files: BTreeMap<String, PathBuf>,
        host: &Host,
    ) -> Result<BTreeMap<String, String>, Stop> {
        let stamp = |path: &Path| -> Option<Stamp> {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        let stamped = files.iter().map(|(name, path)| (name.clone(), (path.clone(), stamp(path))));
        let stamped: BTreeMap<_, _> = stamped.collect();
        if stamped != self.of {
            self.digests = match digests::digests_of(files, host) {
                Err(Stop::Interrupted) => return Err(Stop::Interrupted),
                digests => digests.unwrap_or_default(),
            };
            self.of = stamped;
        }
        Ok(self.digests.clone())
    }
}

/// Returns what a spec demands of this machine.
///
/// # Errors
///
/// If a role has a CPU that is not here.
pub fn wanted(resolved: &Resolved) -> Result<Demands, Stop> {
    let roles = roles(resolved)?.into_iter().map(|(role, cpus)| (role.to_owned(), cpus));
    let terms = Terms::of(&resolved.spec.doctor);
    let stores = store::of(resolved);
    Ok(Demands { roles: roles.collect(), stores, terms, ..Demands::default() })
}

/// Returns the programs of a spec, or those that are always there, by name.
///
/// # Errors
///
/// If a program of the spec is not found.
pub fn programs(
    resolved: Option<&Resolved>,
    host: &Host,
) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    match resolved {
        Some(resolved) => digests::files(resolved, host),
        None => Ok(BTreeMap::from([("benchwright".to_owned(), host.benchwright.clone())])),
    }
}

/// Returns the mean time of a reading of the clock.
fn clock_read() -> Nanos {
    let begun: Instant = host::now();
    for _ in 1..CLOCK_READINGS {
        std::hint::black_box(host::now());
    }
    Nanos((host::now() - begun).0 / u64::from(CLOCK_READINGS))
}
