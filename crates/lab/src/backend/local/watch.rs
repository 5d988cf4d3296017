//! What the components use and hold while a trial measures, from the kernel's files and from their
//! own accounts. Nobody asks a component: it would have to answer instead of doing its work.
//!
//! CPU time is read whenever the runner wakes, so that any second can be cut out of it; the rest
//! once a second. Paths and buffers are kept: the runner may share a CPU with what it watches.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use measure::{Instant, Nanos};
use nix::unistd::{SysconfVar, sysconf};

use super::Running;
use super::confine::Group;
use super::sockets::Sockets;
use crate::account::Reading;
use crate::backend::Consumed;
use crate::host;

#[cfg(test)]
mod tests;

/// How often all but the CPU time is read.
const SECOND: Nanos = Nanos::SECOND;

/// A component may have any number of threads; of more than this the busiest is not looked for.
const MOST_THREADS: usize = 256;

/// A limit beyond this is the kernel's way to say that there is none.
const NO_LIMIT: u64 = 1 << 60;

/// What is watched of a trial's components, and what was seen so far.
pub(super) struct Watch {
    consumed: BTreeMap<String, Consumed>,
    places: BTreeMap<String, Places>,
    sockets: Sockets,
    text: Text,
    next: Instant,
}

/// Where the figures of one process stand.
struct Places {
    pid: u32,
    cpu_stat: Option<PathBuf>,
    memory: Option<Memory>,
}

struct Memory {
    usage: PathBuf,
    stat: PathBuf,
    failures: PathBuf,
}

impl Watch {
    pub(super) fn begin() -> Watch {
        Watch {
            consumed: BTreeMap::new(),
            places: BTreeMap::new(),
            sockets: Sockets::default(),
            text: Text::default(),
            next: Instant::default(),
        }
    }

    /// Reads what is due.
    pub(super) fn look(&mut self, running: &[Running]) {
        for component in running {
            self.meet(component);
        }
        for component in running {
            let now = host::now();
            let used = component.group.usage_ns(component.child.id());
            let consumed = self.of(component);
            consumed.cpu.extend(used.map(|used| (now, used)));
        }
        if self.next <= host::now() {
            self.next = host::now() + SECOND;
            self.look_closely(running);
        }
    }

    /// Reads everything once more: the measurement may have ended in the second since.
    pub(super) fn end(mut self, running: &[Running]) -> BTreeMap<String, Consumed> {
        self.next = Instant::default();
        self.look(running);
        self.consumed
    }

    fn of(&mut self, component: &Running) -> &mut Consumed {
        self.consumed.get_mut(&component.name).expect("every component was met")
    }

    /// What does not change is read when a component is first seen, or anew under its name.
    fn meet(&mut self, component: &Running) {
        let pid = component.child.id();
        if self.places.get(&component.name).is_some_and(|places| places.pid == pid) {
            return;
        }
        let (places, memory_limit) = places(component, &mut self.text);
        self.places.insert(component.name.clone(), places);
        let consumed = self.consumed.entry(component.name.clone()).or_default();
        component.step().clone_into(&mut consumed.step);
        component.role.clone_into(&mut consumed.role);
        consumed.of_role = component.of_role;
        consumed.cpu_limit = component.cpu_limit;
        consumed.memory_limit = memory_limit;
        consumed.open_files_limit =
            self.text.of(Path::new(&format!("/proc/{pid}/limits"))).and_then(open_files);
    }

    fn look_closely(&mut self, running: &[Running]) {
        self.sockets.look(running.iter().filter_map(|component| component.port));
        for component in running {
            let places = &self.places[&component.name];
            let text = &mut self.text;
            let now = host::now();
            let consumed = self.consumed.get_mut(&component.name).expect("it was met");
            if let Some(path) = &places.cpu_stat {
                throttling(text, path, now, consumed);
            }
            let processes = component.group.processes(places.pid);
            threads(text, &processes, now, consumed);
            let memory = match &places.memory {
                Some(memory) => memory.read(text, now, consumed),
                None => resident(text, &processes),
            };
            consumed.memory.extend(memory.map(|bytes| (now, bytes)));
            if let Some(seen) = component.port.and_then(|port| self.sockets.of(port)) {
                consumed.connections.push((now, seen.established));
                consumed.unread_connections.push((now, seen.unread));
                consumed.unread_bytes.push((now, seen.unread_bytes));
                consumed.accept_backlog.push((now, seen.backlog));
            }
            let newer = |reading: &Reading| {
                consumed.account.last().is_none_or(|last| last.at_ns < reading.at_ns)
            };
            let path = component.account.as_deref();
            let reading = path.and_then(Reading::read).filter(newer);
            consumed.account.extend(reading);
        }
    }
}

/// Only where a limit is kept is anything throttled.
fn places(component: &Running, text: &mut Text) -> (Places, Option<u64>) {
    let find = |file: &str| in_group(&component.group, file);
    let cpu_stat = find("cpu.stat").filter(|_| component.cpu_limit.is_some());
    let one = find("memory.usage_in_bytes").zip(find("memory.limit_in_bytes"));
    let two = find("memory.current").zip(find("memory.max"));
    let (memory, limit) = match two.or(one) {
        None => (None, None),
        Some((usage, limit)) => {
            let limit = text.of(&limit).and_then(|text| text.trim().parse().ok());
            let failures = find("memory.events").or(find("memory.oom_control"));
            let stat = usage.with_file_name("memory.stat");
            let failures = failures.unwrap_or_default();
            (Some(Memory { usage, stat, failures }), limit.filter(|limit| *limit < NO_LIMIT))
        }
    };
    (Places { pid: component.child.id(), cpu_stat, memory }, limit)
}

fn in_group(group: &Group, file: &str) -> Option<PathBuf> {
    group.folders().iter().map(|folder| folder.join(file)).find(|path| path.exists())
}

/// `throttled_usec` of version 2, `throttled_time` in nanoseconds of version 1.
fn throttling(text: &mut Text, path: &Path, now: Instant, consumed: &mut Consumed) {
    let Some(stat) = text.of(path) else { return };
    let ns = field(stat, "throttled_time").or(field(stat, "throttled_usec").map(|us| us * 1_000));
    consumed.throttled.extend(ns.map(|ns| (now, ns)));
    consumed.throttled_periods.extend(field(stat, "nr_throttled").map(|n| (now, n)));
}

/// The scheduler's account: time on a CPU, and time in the queue for one.
fn threads(text: &mut Text, processes: &[i32], now: Instant, consumed: &mut Consumed) {
    let folders = processes.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
    for thread in folders.flatten().flatten().take(MOST_THREADS) {
        let Some(id) = thread.file_name().to_str().and_then(|id| id.parse().ok()) else { continue };
        let Some(stat) = text.of(&thread.path().join("schedstat")) else { continue };
        let mut figures = stat.split_ascii_whitespace().map_while(|figure| figure.parse().ok());
        let (Some(cpu), Some(waited)) = (figures.next(), figures.next()) else { continue };
        let thread = consumed.threads.entry(id).or_default();
        thread.cpu.push((now, cpu));
        thread.waited.push((now, waited));
    }
}

impl Memory {
    /// What the group has, less the file pages that the kernel would drop before it refused memory.
    fn read(&self, text: &mut Text, now: Instant, consumed: &mut Consumed) -> Option<u64> {
        let used: u64 = text.of(&self.usage)?.trim().parse().ok()?;
        let failures = text.of(&self.failures).and_then(|events| field(events, "oom_kill"));
        consumed.memory_failures.extend(failures.map(|n| (now, n)));
        let stat = text.of(&self.stat).unwrap_or_default();
        let droppable = field(stat, "total_inactive_file").or(field(stat, "inactive_file"));
        Some(used.saturating_sub(droppable.unwrap_or_default()))
    }
}

/// Pages in memory, of all processes together.
fn resident(text: &mut Text, processes: &[i32]) -> Option<u64> {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    let of_process = |pid: &i32| {
        let statm = text.of(Path::new(&format!("/proc/{pid}/statm")))?;
        statm.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let pages: Vec<u64> = processes.iter().filter_map(of_process).collect();
    (!pages.is_empty()).then(|| pages.iter().sum::<u64>() * page as u64)
}

/// `Max open files            1024                 524288               files`
fn open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// A line `name value`.
fn field(text: &str, name: &str) -> Option<u64> {
    let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(of_line)
}

/// A buffer for small files.
#[derive(Default)]
struct Text(Vec<u8>);

impl Text {
    fn of(&mut self, path: &Path) -> Option<&str> {
        self.0.clear();
        File::open(path).ok()?.read_to_end(&mut self.0).ok()?;
        str::from_utf8(&self.0).ok()
    }
}
