//! Confinement of components: a control group for each (version 2, else version 1), or plain
//! affinity where neither can be written. The one that is used is printed and recorded.
//!
//! Quotas have a period of 10 ms: with the usual 100 ms a component that used up its quota would
//! stop for up to 90 ms, and that would become its tail latency.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lab::backend::Limits;
use lab::spec::{Cpus, plain};

use super::process::{self, Process, kill_if};

#[cfg(test)]
mod tests;

/// The period of a quota, in microseconds.
const PERIOD_US: f64 = 10_000.0;
/// The shortest quota that kernels accept, in microseconds.
const LEAST_QUOTA_US: f64 = 1_000.0;

/// The weight of a component without a limit, and of one that is limited to one CPU: in the unit of
/// version 2, and in that of version 1.
const WEIGHT: f64 = 100.0;
const SHARES: f64 = 1024.0;

/// The controllers of version 1 in which a run has a group.
const VERSION_1: [&str; 4] = ["cpu", "cpuacct", "cpuset", "memory"];

/// The controllers of version 2 that are used, if they are available.
const VERSION_2: [&str; 3] = ["cpu", "cpuset", "memory"];

/// The name prefix of the empty group that lists the controllers enabled for a run alone.
const ADDED: &str = "added:";

/// The means of confinement on this host, with the group of the run already created.
#[derive(Debug)]
pub(crate) enum Confinement {
    /// With or without `cpuset`: sessions of users often have only the other controllers.
    V2 {
        run: PathBuf,
        cpuset: bool,
        memory: bool,
    },
    V1 {
        cpu: PathBuf,
        cpuacct: PathBuf,
        cpuset: PathBuf,
        memory: Option<PathBuf>,
    },
    Affinity {
        why: String,
    },
}

/// Returns the contents of `/proc/self/cgroup`.
pub(crate) fn own() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

impl Confinement {
    /// Creates the group of the run called `name` under the hierarchies mounted at `root`; `own` is
    /// the group membership of this process.
    pub(crate) fn find(root: &Path, own: &str, name: &str) -> Confinement {
        let two = version_2(root, own, name);
        if let Ok(confinement) = two {
            return confinement;
        }
        match (two, version_1(root, own, name)) {
            (_, Ok(confinement)) => confinement,
            (Err(two), Err(one)) => Confinement::Affinity { why: format!("{two}; {one}") },
            (Ok(confinement), Err(_)) => confinement,
        }
    }

    /// Creates a group for one component. If that fails, nothing is left of it.
    pub(crate) fn group(
        &self,
        name: &str,
        cpus: Option<&Cpus>,
        limits: Limits,
    ) -> io::Result<Group> {
        self.made(name, cpus, limits).inspect_err(|_| {
            for run in self.runs() {
                remove(&run.join(name));
            }
        })
    }

    fn made(&self, name: &str, cpus: Option<&Cpus>, limits: Limits) -> io::Result<Group> {
        match self {
            Confinement::V2 { run, cpuset, memory } => {
                let folder = run.join(name);
                make(&folder)?;
                if let Some(cpus) = cpus.filter(|_| *cpuset) {
                    write(&folder, "cpuset.cpus", &cpus.to_string())?;
                }
                if let Some(limit) = limits.cpu {
                    let (quota, period) = quota(limit);
                    write(&folder, "cpu.max", &format!("{quota} {period}"))?;
                    write(&folder, "cpu.weight", &weight(limit, WEIGHT))?;
                }
                if let Some(bytes) = limits.memory.filter(|_| *memory) {
                    write(&folder, "memory.max", &bytes.to_string())?;
                }
                let usage = Usage::Stat(folder.join("cpu.stat"));
                Ok(Group { folders: vec![folder], usage, pins: *cpuset })
            }
            Confinement::V1 { cpu, cpuacct, cpuset, memory } => {
                let [cpu, cpuacct, cpuset] = [cpu, cpuacct, cpuset].map(|run| run.join(name));
                let mut folders = vec![cpuacct.clone(), cpuset.clone()];
                for folder in &folders {
                    make(folder)?;
                }
                inherit(&cpuset)?;
                if let Some(cpus) = cpus {
                    write(&cpuset, "cpuset.cpus", &cpus.to_string())?;
                }
                // Only a limited component needs a `cpu` group: where the kernel schedules real
                // time by group, a new group may not run real-time threads, and the generator's
                // hiccup meter is one.
                if let Some(limit) = limits.cpu {
                    let (quota, period) = quota(limit);
                    make(&cpu)?;
                    write(&cpu, "cpu.cfs_period_us", &period.to_string())?;
                    write(&cpu, "cpu.cfs_quota_us", &quota.to_string())?;
                    write(&cpu, "cpu.shares", &weight(limit, SHARES))?;
                    folders.insert(0, cpu);
                }
                if let (Some(run), Some(bytes)) = (memory, limits.memory) {
                    let memory = run.join(name);
                    make(&memory)?;
                    write(&memory, "memory.limit_in_bytes", &bytes.to_string())?;
                    folders.insert(0, memory);
                }
                let usage = Usage::Nanos(cpuacct.join("cpuacct.usage"));
                Ok(Group { folders, usage, pins: true })
            }
            Confinement::Affinity { .. } => {
                Ok(Group { folders: Vec::new(), usage: Usage::Process, pins: false })
            }
        }
    }

    /// True if a CPU limit can be enforced here.
    pub(crate) fn can_limit(&self) -> bool {
        !matches!(self, Confinement::Affinity { .. })
    }

    pub(crate) fn can_limit_memory(&self) -> bool {
        matches!(
            self,
            Confinement::V2 { memory: true, .. } | Confinement::V1 { memory: Some(_), .. }
        )
    }

    /// Removes the run's own groups, once their components are gone; returns true if none is left.
    pub(crate) fn remove(&self) -> bool {
        for run in self.runs() {
            remove_run(run);
        }
        self.runs().iter().all(|run| !run.exists())
    }

    /// Returns true if the run's own groups are there.
    pub(crate) fn is_whole(&self) -> bool {
        self.runs().iter().all(|run| run.exists())
    }

    /// Returns the group of the run in each hierarchy.
    fn runs(&self) -> Vec<&PathBuf> {
        match self {
            Confinement::V2 { run, .. } => vec![run],
            Confinement::V1 { cpu, cpuacct, cpuset, memory } => {
                [cpu, cpuacct, cpuset].into_iter().chain(memory).collect()
            }
            Confinement::Affinity { .. } => Vec::new(),
        }
    }
}

/// For the record: `cgroup v1 (cpu, cpuacct, cpuset)`.
impl std::fmt::Display for Confinement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Confinement::V2 { cpuset: true, .. } => {
                write!(f, "cgroup v2 (cpu, cpuset), quota period 10 ms")
            }
            Confinement::V2 { cpuset: false, .. } => {
                write!(f, "cgroup v2 (cpu) and affinity, quota period 10 ms")
            }
            Confinement::V1 { .. } => {
                write!(f, "cgroup v1 (cpu, cpuacct, cpuset), quota period 10 ms")
            }
            Confinement::Affinity { why } => write!(f, "affinity only: {why}"),
        }
    }
}

/// The group of one component.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    folders: Vec<PathBuf>,
    usage: Usage,
    /// True if the group itself keeps its processes on their CPUs; otherwise affinity must.
    pins: bool,
}

#[derive(Clone, Debug)]
enum Usage {
    /// `usage_usec` in a `cpu.stat`.
    Stat(PathBuf),
    /// A file with nanoseconds.
    Nanos(PathBuf),
    /// No counter of a group: only of the process itself.
    Process,
}

impl Group {
    /// Starts a process in it, on these CPUs.
    pub(crate) fn spawn(&self, command: Command, cpus: Option<&Cpus>) -> io::Result<Process> {
        let open =
            |folder: &PathBuf| OpenOptions::new().write(true).open(folder.join("cgroup.procs"));
        let entrances: Vec<File> = self.folders.iter().map(open).collect::<io::Result<_>>()?;
        process::spawn(command, entrances, cpus.filter(|_| !self.pins))
    }

    /// Returns the folders with the kernel's counters of the group; empty if there are none.
    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Returns the CPU time used so far, in nanoseconds: of the group, or of process `pid`.
    pub(crate) fn usage_ns(&self, pid: u32) -> Option<u64> {
        match &self.usage {
            Usage::Nanos(path) => fs::read_to_string(path).ok()?.trim().parse().ok(),
            Usage::Stat(path) => {
                let stat = fs::read_to_string(path).ok()?;
                let usage = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
                Some(usage.trim().parse::<u64>().ok()? * 1_000)
            }
            Usage::Process => process_ns(pid),
        }
    }

    /// Returns the processes in it, or `pid` without a group.
    pub(crate) fn processes(&self, pid: u32) -> Vec<i32> {
        match self.folders.last() {
            Some(folder) => processes_in(folder),
            None => vec![pid as i32],
        }
    }

    /// Returns how many of its processes the kernel has killed because the group reached its memory limit.
    pub(crate) fn killed_for_memory(&self) -> u64 {
        // Version 2 and version 1 name the file differently.
        let files = ["memory.events", "memory.oom_control"];
        let paths = self.folders.iter().flat_map(|folder| files.map(|file| folder.join(file)));
        let count = |path: PathBuf| -> Option<u64> {
            let text = fs::read_to_string(path).ok()?;
            text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
        };
        paths.filter_map(count).max().unwrap_or(0)
    }

    /// Kills the processes that are left in it and removes it.
    pub(crate) fn remove(&self) {
        for folder in &self.folders {
            kill_all_in(folder);
            remove(folder);
        }
    }
}

/// Returns the time of all threads in user and kernel mode, from the scheduler's own counters.
fn process_ns(pid: u32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(threads.flatten().filter_map(of_thread).sum())
}

fn version_2(root: &Path, own: &str, name: &str) -> Result<Confinement, String> {
    let mut last = "cgroup v2: the controller cpu is not available".to_owned();
    for parent in parents_v2(root, own) {
        let offered = words(&parent.join("cgroup.controllers"));
        let offers = |controller: &str| offered.iter().any(|word| word == controller);
        let (cpuset, memory) = (offers("cpuset"), offers("memory"));
        let wanted: Vec<&str> = VERSION_2.into_iter().filter(|&name| offers(name)).collect();
        if offers("cpu") {
            let run = parent.join(name);
            match make_run(&run, &wanted) {
                Ok(()) => return Ok(Confinement::V2 { run, cpuset, memory }),
                Err(error) => last = format!("cgroup v2: {}", plain(&error)),
            }
        }
        // A group above this one would not have the limit that applies to us.
        if let Some(limit) = limit_of(&parent) {
            return Err(format!(
                "{last}; and a group above {} would not be bound by its limit ({limit})",
                parent.display()
            ));
        }
    }
    Err(last)
}

/// Creates the group of a run, and enables the controllers in its parent.
fn make_run(run: &Path, wanted: &[&str]) -> io::Result<()> {
    let parent = run.parent().expect("a group lies in its parent");
    let enabled = words(&parent.join("cgroup.subtree_control"));
    let added: Vec<&str> =
        wanted.iter().copied().filter(|name| !enabled.iter().any(|word| word == name)).collect();
    let made = make(run)
        .and_then(|()| match added.is_empty() {
            true => Ok(()),
            // Recorded before it is done: see `remove_run`.
            false => make(&run.join(format!("{ADDED}{}", added.join("+"))))
                .and_then(|()| enable(parent, '+', &added)),
        })
        .and_then(|()| enable(run, '+', wanted));
    made.inspect_err(|_| {
        remove_run(run);
    })
}

/// Removes the group of a run and the groups in it; returns how many. Disables the controllers that
/// were enabled in its parent for this run alone: an empty group in it lists them, so that they are
/// known after a crash.
pub(crate) fn remove_run(run: &Path) -> usize {
    let added = children(run).into_iter().find_map(|child| {
        let added = child.file_name()?.to_str()?.strip_prefix(ADDED)?;
        Some(added.to_owned())
    });
    let removed = remove(run);
    if let (Some(added), Some(parent), false) = (added, run.parent(), run.exists()) {
        // If another group has come to need a controller meanwhile, the kernel keeps it enabled.
        let _ = enable(parent, '-', &added.split('+').collect::<Vec<_>>());
    }
    removed
}

/// Returns a limit that a group sets for what is in it, if any. The number of processes is not
/// considered: systemd limits it in every group.
fn limit_of(group: &Path) -> Option<String> {
    ["cpu.max", "cpuset.cpus", "memory.high", "memory.max", "io.max"].into_iter().find_map(|file| {
        let text = fs::read_to_string(group.join(file)).unwrap_or_default();
        let text = text.trim();
        (!text.is_empty() && !text.starts_with("max")).then(|| format!("{file} {text}"))
    })
}

/// Enables (`+`) or disables (`-`) controllers for the children of a group.
fn enable(folder: &Path, sign: char, controllers: &[&str]) -> io::Result<()> {
    let words: Vec<String> = controllers.iter().map(|name| format!("{sign}{name}")).collect();
    write(folder, "cgroup.subtree_control", &words.join(" "))
}

fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn version_1(root: &Path, own: &str, name: &str) -> Result<Confinement, String> {
    let run = |controller: &str| {
        let folder = parent_v1(root, own, controller)
            .ok_or_else(|| format!("cgroup v1: the controller {controller} is not mounted"))?
            .join(name);
        make(&folder).map_err(|error| format!("cgroup v1: {}", plain(&error)))?;
        Ok::<PathBuf, String>(folder)
    };
    let made = run("cpu").and_then(|cpu| Ok((cpu, run("cpuacct")?, run("cpuset")?)));
    let inherited = made.and_then(|(cpu, cpuacct, cpuset)| {
        inherit(&cpuset).map_err(|error| format!("cgroup v1: {}", plain(&error)))?;
        Ok(Confinement::V1 { cpu, cpuacct, cpuset, memory: run("memory").ok() })
    });
    if inherited.is_err() {
        for controller in VERSION_1 {
            parent_v1(root, own, controller).map(|parent| remove(&parent.join(name)));
        }
    }
    inherited
}

/// Gives a cpuset CPUs and memory: a new one of version 1 has none, and takes no process until
/// then.
fn inherit(cpuset: &Path) -> io::Result<()> {
    let parent = cpuset.parent().expect("a group lies in its parent");
    for file in ["cpuset.mems", "cpuset.cpus"] {
        let value = fs::read_to_string(parent.join(file))?;
        write(cpuset, file, value.trim())?;
    }
    Ok(())
}

/// Returns every folder in which a run's group may be, of any version.
pub(crate) fn parents(root: &Path, own: &str) -> Vec<PathBuf> {
    let one = VERSION_1.into_iter().filter_map(|c| parent_v1(root, own, c));
    let mut parents: Vec<PathBuf> = parents_v2(root, own).into_iter().chain(one).collect();
    parents.sort();
    parents.dedup();
    parents
}

/// Returns our own group and those above it, the nearest first: a group that has processes cannot
/// enable controllers for its children, but one above it may be delegated to us.
fn parents_v2(root: &Path, own: &str) -> Vec<PathBuf> {
    let mounts = [root.to_owned(), root.join("unified")];
    let Some(mount) = mounts.into_iter().find(|m| m.join("cgroup.controllers").exists()) else {
        return Vec::new();
    };
    let path = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let own = mount.join(path.trim_start_matches('/'));
    own.ancestors()
        .take_while(|ancestor| ancestor.starts_with(&mount))
        .filter(|ancestor| ancestor.is_dir())
        .map(Path::to_owned)
        .collect()
}

/// Returns our own group of this controller; inside a container only its root is visible.
fn parent_v1(root: &Path, own: &str, controller: &str) -> Option<PathBuf> {
    let mount = root.join(controller);
    if !mount.join("cgroup.procs").exists() {
        return None;
    }
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        controllers.split(',').any(|c| c == controller).then_some(path)
    });
    let own = mount.join(path.unwrap_or("/").trim_start_matches('/'));
    // Controllers that are mounted together have one folder under two names.
    fs::canonicalize(if own.is_dir() { own } else { mount }).ok()
}

/// Returns quota and period in microseconds.
fn quota(limit: f64) -> (u64, u64) {
    let period = PERIOD_US.max(LEAST_QUOTA_US / limit).min(1e6);
    ((limit * period).round() as u64, period.round() as u64)
}

/// Returns the weight on a CPU that others want too: in proportion to the limit, as on Kubernetes,
/// where a limit alone is the request as well. The bounds are those that both versions accept.
fn weight(limit: f64, of_one_cpu: f64) -> String {
    (limit * of_one_cpu).round().clamp(2.0, 10_000.0).to_string()
}

/// Returns the processes of a group and of the groups in it. The kernel shows those of other process
/// namespaces as 0.
pub(crate) fn processes_in(group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let own = text.lines().filter_map(|line| line.trim().parse().ok()).filter(|&pid| 0 < pid);
    own.chain(children(group).iter().flat_map(|child| processes_in(child))).collect()
}

/// Kills the processes of a group and of the groups in it, and returns their numbers.
pub(crate) fn kill_all_in(group: &Path) -> Vec<i32> {
    let processes = processes_in(group);
    for &process in &processes {
        kill_if(process, || processes_in(group).contains(&process));
    }
    processes
}

/// Removes a group and the groups in it; returns how many. Killed processes need a moment to leave.
pub(crate) fn remove(group: &Path) -> usize {
    let inner: usize = children(group).iter().map(|child| remove(child)).sum();
    for _ in 0..100 {
        match fs::remove_dir(group) {
            Ok(()) => return inner + 1,
            Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EBUSY as i32) => {
                lab::host::rest(Duration::from_millis(10));
            }
            Err(_) => return inner,
        }
    }
    inner
}

fn children(group: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(group) else { return Vec::new() };
    let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn make(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn write(folder: &Path, file: &str, value: &str) -> io::Result<()> {
    fs::write(folder.join(file), value)
}
