//! Changes settings of the machine for a measurement, and puts them back.
//!
//! Before each change the value that stood there is in a state file, synced, so that a process that
//! is killed at any moment leaves enough to put everything back. The file is in `/run`, which does
//! not outlive the machine's boot: neither do the settings. It is believed only where nobody else can
//! have written it, since root does what it says.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};
use results::{regular, trust};
use serde::{Deserialize, Serialize};

use super::look::Files;
use super::memory::chosen;
use super::platform::has_swap;
use super::{Demands, SUT};
use crate::spec::{Cpus, Literal};

#[cfg(test)]
mod tests;

const SCHEMA: &str = "benchwright.doctor-fix/1";
/// The folder of the state files below the root, and its place.
const PLACE: &str = "run";
const FOLDER: &str = "benchwright";
/// The folders below the root with files that may be changed: no link in them leads to another place.
const SETTINGS: [&str; 3] = ["proc/irq", "proc/sys", "sys"];
/// The state file of `doctor --fix`, and that of the process that has pinned interrupts.
const FIXED: &str = "doctor.json";
const PINNED: &str = "pin-irq.json";

/// A machine, and one of the state files for its changes.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    root: &'a Path,
    file: &'static str,
}

impl<'a> Place<'a> {
    /// The changes of `doctor --fix`, until somebody puts them back.
    pub fn fixed(root: &'a Path) -> Place<'a> {
        Place { root, file: FIXED }
    }

    /// The interrupts that a process has pinned for as long as it runs.
    pub fn pinned(root: &'a Path) -> Place<'a> {
        Place { root, file: PINNED }
    }

    /// Returns the path of the state file.
    pub fn state_file(&self) -> PathBuf {
        self.folder().join(self.file)
    }

    pub fn folder(&self) -> PathBuf {
        self.root.join(PLACE).join(FOLDER)
    }

    /// Returns the path of the state file while it is written.
    fn part(&self) -> PathBuf {
        self.folder().join(format!("{}.part", self.file))
    }
}

/// One setting: a file with its value before and after.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Setting {
    /// Below the root: `proc/sys/vm/swappiness`.
    pub path: String,
    pub before: String,
    pub after: String,
}

/// The content of the state file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct State {
    schema: String,
    /// The boot in which the settings were changed.
    boot: Option<String>,
    settings: Vec<Setting>,
}

/// The operations by which settings and the state file are changed.
pub trait Disk {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()>;
    /// Writes a file of ours and waits until it is stored.
    fn store(&mut self, path: &Path, text: &str) -> io::Result<()>;
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&mut self, path: &Path) -> io::Result<()>;
}

/// The real one.
#[derive(Clone, Copy, Debug)]
pub struct Real;

impl Disk for Real {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        fs::write(path, text)
    }

    fn store(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let mut file = regular::create(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        let folder = to.parent().expect("a file lies in a folder");
        File::open(folder)?.sync_all()
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Returns the settings to change, in this order; a pure function of a look at all
/// CPUs and interrupts.
/// Turbo costs a third of the speed, so it is turned off only if the spec requires it.
pub fn changes(files: &Files, wanted: &Demands) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut change = |path: &str, before: &str, after: &str| {
        if before != after {
            let (path, before, after) = (path.to_owned(), before.to_owned(), after.to_owned());
            found.push(Setting { path, before, after });
        }
    };
    let of_cpus = |end: &'static str| files.between("sys/devices/system/cpu/cpu", end);
    // The preference before the governor, with which the kernel would refuse it.
    for (cpu, value) in of_cpus("/cpufreq/energy_performance_preference") {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/energy_performance_preference");
        change(&path, value, "performance");
    }
    for (cpu, value) in of_cpus("/cpufreq/scaling_governor") {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        change(&path, value, "performance");
    }
    if wanted.terms.required.contains("local.turbo") {
        for (path, off) in [
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
            ("sys/devices/system/cpu/cpufreq/boost", "0"),
        ] {
            files.text(path).into_iter().for_each(|value| change(path, value, off));
        }
    }
    let huge = "sys/kernel/mm/transparent_hugepage/enabled";
    if files.text(huge).map(chosen) == Some("always") {
        change(huge, "always", "madvise");
    }
    let ksm = "sys/kernel/mm/ksm/run";
    if files.text(ksm) == Some("1") {
        change(ksm, "1", "0");
    }
    let nodes = files.between("sys/devices/system/node/node", "/cpulist").count();
    let balancing = "proc/sys/kernel/numa_balancing";
    if 1 < nodes
        && let Some(value) = files.text(balancing)
    {
        change(balancing, value, "0");
    }
    let watchdog = "proc/sys/kernel/nmi_watchdog";
    files.text(watchdog).into_iter().for_each(|value| change(watchdog, value, "0"));
    let swappiness = "proc/sys/vm/swappiness";
    if let Some(value) = files.text(swappiness)
        && has_swap(files)
        && files.number(swappiness).is_some_and(|value| 10 < value)
    {
        change(swappiness, value, "1");
    }
    let backlog = "proc/sys/net/core/somaxconn";
    if files.number(backlog).is_some_and(|value| value < 4096) {
        change(backlog, files.text(backlog).unwrap_or_default(), "4096");
    }
    // Interrupts leave the system's CPUs only if there are CPUs without a role.
    let of_roles: Vec<u32> = wanted.roles.values().flat_map(|cpus| cpus.0.clone()).collect();
    let free = |cpus: Cpus| Cpus(cpus.0.into_iter().filter(|c| !of_roles.contains(c)).collect());
    let elsewhere = free(files.online());
    if let Some(sut) = wanted.roles.get(SUT)
        && !elsewhere.0.is_empty()
    {
        for (irq, list) in files.between("proc/irq/", "/smp_affinity_list") {
            let is_on = |cpus: &Cpus| cpus.0.iter().any(|cpu| sut.0.contains(cpu));
            if Cpus::read(list).is_ok_and(|cpus| is_on(&cpus)) {
                let path = format!("proc/irq/{irq}/smp_affinity_list");
                change(&path, list, &elsewhere.to_string());
            }
        }
    }
    found
}

/// The outcome of changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    pub done: Vec<Setting>,
    /// Those that the kernel refused, with its reason.
    pub refused: Vec<(Setting, String)>,
}

/// Changes settings, one after the other. The state file of a process that was killed is continued: what it changed keeps its first
/// value.
pub fn apply(
    place: Place<'_>,
    changes: &[Setting],
    disk: &mut dyn Disk,
) -> anyhow::Result<Applied> {
    let root = place.root;
    let mut state = read(place)?.unwrap_or_default();
    if state.boot != boot(root) {
        // The machine has started since: nothing of that is left.
        state = State::default();
    }
    state.schema = SCHEMA.to_owned();
    state.boot = boot(root);
    if !changes.is_empty() {
        make_folder(place)?;
    }
    let mut applied = Applied::default();
    for change in changes {
        let known = state.settings.iter_mut().find(|known| known.path == change.path);
        match known {
            Some(known) => known.after.clone_from(&change.after),
            None => state.settings.push(change.clone()),
        }
        save(place, &state, disk)?;
        match disk.write(&root.join(&change.path), &change.after) {
            Ok(()) => applied.done.push(change.clone()),
            // Its entry stays: a refused write may have changed a part.
            Err(error) => applied.refused.push((change.clone(), error.to_string())),
        }
    }
    Ok(applied)
}

/// Puts back what the state file names, in the opposite order, and removes the file. Returns the
/// settings; none if there is no such file. The file stays if the kernel refuses one.
pub fn restore(place: Place<'_>, disk: &mut dyn Disk) -> anyhow::Result<Vec<Setting>> {
    let root = place.root;
    let (file, part) = (place.state_file(), place.part());
    let state = read(place)?.filter(|state| state.boot == boot(root)).unwrap_or_default();
    let mut refused = Vec::new();
    for setting in state.settings.iter().rev() {
        let path = root.join(&setting.path);
        let is_back = |path: &Path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            chosen(text.trim()) == setting.before
        };
        // What already stands there is not written: the kernel may refuse even that.
        if !is_back(&path)
            && let Err(error) = disk.write(&path, &setting.before)
        {
            refused.push(format!("/{} to {}: {error}", setting.path, setting.before));
        }
    }
    if !refused.is_empty() {
        return Err(anyhow!(
            "the kernel refuses to put back\n  {}\nrun `benchwright doctor --restore` as root; {} \
             keeps the values",
            refused.join("\n  "),
            file.display()
        ));
    }
    for path in [part, file] {
        match disk.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("removing {}", path.display()));
            }
            _ => {}
        }
    }
    // A folder with other files stays.
    let _ = fs::remove_dir(place.folder());
    Ok(state.settings)
}

/// Makes the folder of the state files for us alone; root's other files of this program may be in it already.
fn make_folder(place: Place<'_>) -> anyhow::Result<()> {
    let (parent, folder) = (place.root.join(PLACE), place.folder());
    let made = fs::create_dir_all(&parent)
        .and_then(|()| trust::check_place(&parent))
        .and_then(|()| trust::make_folder(&folder));
    made.with_context(|| format!("making {}; run it as root", folder.display()))
}

/// Reads the state file, if there is one.
fn read(place: Place<'_>) -> anyhow::Result<Option<State>> {
    let path = place.state_file();
    let found = trust::check_place(&place.root.join(PLACE))
        .and_then(|()| trust::check_folder(&place.folder()))
        .and_then(|()| trust::open(&path, OpenOptions::new().read(true)));
    let text = match found.and_then(|file| trust::read(&file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| {
            let path = path.display();
            format!(
                "{path} cannot be trusted; run it as root, or put its values back by hand and remove it"
            )
        })?,
    };
    let unusable = || format!("{} cannot be read; put its values back by hand", path.display());
    let state: State = serde_json::from_str(&text).with_context(unusable)?;
    match state.settings.iter().find(|setting| !is_setting(Path::new(&setting.path))) {
        Some(Setting { path, .. }) => {
            let why = anyhow!("`{}` is not a setting of the kernel", regular::one_line(path));
            Err(why.context(unusable()))
        }
        None => Ok(Some(state)),
    }
}

/// Returns true for a path that leads nowhere but to a setting of the kernel.
fn is_setting(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
        && SETTINGS.iter().any(|folder| path.starts_with(folder))
}

/// Replaces the state file at once: it is never half written.
fn save(place: Place<'_>, state: &State, disk: &mut dyn Disk) -> anyhow::Result<()> {
    let (part, file) = (place.part(), place.state_file());
    let text = serde_json::to_string_pretty(state).expect("a state is plain data");
    let stored = disk.store(&part, &text).and_then(|()| disk.rename(&part, &file));
    stored.with_context(|| format!("writing {}; run it as root", file.display()))
}

fn boot(root: &Path) -> Option<String> {
    let id = fs::read_to_string(root.join("proc/sys/kernel/random/boot_id")).ok()?;
    Some(id.trim().to_owned())
}
