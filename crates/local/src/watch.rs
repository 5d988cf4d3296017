//! The resources that the components use while a trial measures, from the kernel's files and from
//! self-reported statistics. No request is sent to a component: it would take time from its work.
//!
//! CPU time is read eight times a second, so that the use within any second can be computed; the
//! rest once a second, with the counters of the machine (`machine`). A separate thread does it, with lower priority, on the same CPUs as the
//! thread that starts it; paths and buffers are kept.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use lab::backend::{Consumed, Machine, Quota, Shared};
use lab::host;
use lab::statistics::Reading;
use measure::{Instant, Nanos};
use nix::unistd::{SysconfVar, sysconf};

use super::confine::Group;
use super::sockets::Sockets;
use super::{machine, process};

#[cfg(test)]
mod tests;

/// The interval between readings of CPU time.
const OFTEN: Nanos = Nanos::from_millis(125);
/// The interval between readings of everything else.
const CLOSELY: Nanos = Nanos::SECOND;

/// A component may have any number of threads; beyond this number they are not read.
const MOST_THREADS: usize = 256;

/// The kernel writes a limit beyond this when there is none.
const NO_LIMIT: u64 = 1 << 60;

/// The data that a watch needs about a component.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) step: String,
    pub(super) role: &'static str,
    /// The CPUs of its role.
    pub(super) of_role: f64,
    /// The limit that is enforced.
    pub(super) cpu_limit: Option<f64>,
    pub(super) pid: u32,
    pub(super) group: Group,
    /// The port where it listens, if it printed its address.
    pub(super) port: Option<u16>,
    /// The file in which it reports its statistics, if it does.
    pub(super) statistics: Option<PathBuf>,
}

/// The observations of a watch: of each component by its name, and of the machine.
type Seen = (BTreeMap<String, Consumed>, Machine);

/// A running watch. Dropped, it ends by itself.
pub(super) struct Watching {
    news: Sender<News>,
    thread: JoinHandle<Seen>,
}

/// Something that the watch cannot see by itself.
enum News {
    GeneratorBegan(Instant, Group, u32),
    /// With the CPU time that it used in all, if it is known.
    GeneratorEnded(Instant, Option<u64>),
}

impl Watching {
    pub(super) fn begin(sources: Vec<Source>, roles: BTreeMap<String, Shared>) -> Watching {
        let (news, heard) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            process::lower_priority();
            let mut watch = Watch::of(sources, roles);
            loop {
                watch.look();
                match heard.recv_timeout(OFTEN.into()) {
                    Ok(news) => watch.hear(news),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return watch.end(),
                }
            }
        });
        Watching { news, thread }
    }

    /// Watches a generator that has just begun.
    pub(super) fn generator(&self, group: &Group, pid: u32) {
        self.tell(News::GeneratorBegan(host::now(), group.clone(), pid));
    }

    /// Takes the use of a generator that has ended, before its group is removed.
    pub(super) fn end_generator(&self, group: &Group, pid: u32) {
        self.tell(News::GeneratorEnded(host::now(), group.usage_ns(pid)));
    }

    fn tell(&self, news: News) {
        // A thread that has ended panicked, which `end` passes on.
        let _ = self.news.send(news);
    }

    /// Ends the watch and returns what was seen up to this moment.
    pub(super) fn end(self) -> Seen {
        // It ends when nothing can tell it more.
        drop(self.news);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Watch {
    watched: Vec<Watched>,
    machine: machine::Reader,
    sockets: Sockets,
    text: Text,
    /// The time of the next close look.
    next: Instant,
}

/// A component with what was seen of it so far.
struct Watched {
    source: Source,
    cpu_stat: Option<PathBuf>,
    memory: Option<Memory>,
    consumed: Consumed,
}

struct Memory {
    usage: PathBuf,
    stat: PathBuf,
    failures: PathBuf,
}

impl Watch {
    fn of(sources: Vec<Source>, roles: BTreeMap<String, Shared>) -> Watch {
        let mut text = Text::default();
        let watched = sources.into_iter().map(|source| Watched::new(source, &mut text)).collect();
        let (machine, sockets) = (machine::Reader::new(roles), Sockets::default());
        Watch { watched, machine, sockets, text, next: Instant::default() }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::GeneratorBegan(at, group, pid) => self.machine.begin(at, group, pid),
            News::GeneratorEnded(at, used) => self.machine.end_generator(at, used),
        }
    }

    /// Reads the values that are due.
    fn look(&mut self) {
        for Watched { source, consumed, .. } in &mut self.watched {
            let used = source.group.usage_ns(source.pid);
            consumed.cpu.extend(used.map(|used| (host::now(), used)));
        }
        if self.next <= host::now() {
            self.next = host::now() + CLOSELY;
            self.look_closely();
        }
    }

    fn look_closely(&mut self) {
        // First: the components' CPU time was read just before.
        self.machine.look();
        self.sockets.look(self.watched.iter().filter_map(|watched| watched.source.port));
        for watched in &mut self.watched {
            watched.look_closely(&self.sockets, &mut self.text);
        }
    }

    /// Reads everything once more: the measurement may have ended since the last close look.
    fn end(mut self) -> Seen {
        self.next = Instant::default();
        self.look();
        let seen = |watched: Watched| (watched.source.name, watched.consumed);
        (self.watched.into_iter().map(seen).collect(), self.machine.end())
    }
}

impl Watched {
    /// Creates it and reads the values that do not change.
    fn new(source: Source, text: &mut Text) -> Watched {
        let find = |file: &str| in_group(&source.group, file);
        // A component without an enforced limit is never throttled.
        let cpu_stat = find("cpu.stat").filter(|_| source.cpu_limit.is_some());
        let (memory, memory_limit) = memory(&source.group, text);
        let limits = PathBuf::from(format!("/proc/{}/limits", source.pid));
        let consumed = Consumed {
            step: source.step.clone(),
            role: source.role.to_owned(),
            of_role: source.of_role,
            cpu_limit: source.cpu_limit,
            memory_limit,
            open_files_limit: text.of(&limits).and_then(open_files),
            quotas: cpu_stat.iter().map(|_| Quota::default()).collect(),
            ..Consumed::default()
        };
        Watched { source, cpu_stat, memory, consumed }
    }

    fn look_closely(&mut self, sockets: &Sockets, text: &mut Text) {
        let Watched { source, cpu_stat, memory, consumed } = self;
        let now = host::now();
        for (path, quota) in cpu_stat.iter().zip(&mut consumed.quotas) {
            throttling(text, path, now, quota);
            quota.ran.extend(source.group.usage_ns(source.pid).map(|ns| (now, ns)));
        }
        let processes = source.group.processes(source.pid);
        threads(text, &processes, now, consumed);
        let memory = match memory {
            Some(memory) => memory.read(text, now, consumed),
            None => resident(text, &processes),
        };
        consumed.memory.extend(memory.map(|bytes| (now, bytes)));
        if let Some(seen) = source.port.and_then(|port| sockets.of(port)) {
            consumed.connections.push((now, seen.established));
            consumed.unread_connections.push((now, seen.unread));
            consumed.unread_bytes.push((now, seen.unread_bytes));
            consumed.accept_backlog.push((now, seen.backlog));
        }
        let reading = source.statistics.as_deref().and_then(Reading::read);
        let last = consumed.statistics.last().map(|last| last.at_ns);
        consumed.statistics.extend(reading.filter(|reading| last < Some(reading.at_ns)));
    }
}

/// Returns the files that count the memory of a group, and its limit.
fn memory(group: &Group, text: &mut Text) -> (Option<Memory>, Option<u64>) {
    let find = |file: &str| in_group(group, file);
    let one = find("memory.usage_in_bytes").zip(find("memory.limit_in_bytes"));
    let two = find("memory.current").zip(find("memory.max"));
    let Some((usage, limit)) = two.or(one) else { return (None, None) };
    let limit: Option<u64> = text.of(&limit).and_then(|text| text.trim().parse().ok());
    let failures = find("memory.events").or(find("memory.oom_control")).unwrap_or_default();
    let stat = usage.with_file_name("memory.stat");
    (Some(Memory { usage, stat, failures }), limit.filter(|limit| *limit < NO_LIMIT))
}

fn in_group(group: &Group, file: &str) -> Option<PathBuf> {
    group.folders().iter().map(|folder| folder.join(file)).find(|path| path.exists())
}

/// Reads the counters of a CPU limit: `throttled_usec` of version 2, or `throttled_time` in nanoseconds of
/// version 1, and the periods.
fn throttling(text: &mut Text, path: &Path, now: Instant, quota: &mut Quota) {
    let Some(stat) = text.of(path) else { return };
    let ns = field(stat, "throttled_time").or(field(stat, "throttled_usec").map(|us| us * 1_000));
    quota.time.extend(ns.map(|ns| (now, ns)));
    quota.stopped.extend(field(stat, "nr_throttled").map(|n| (now, n)));
    quota.periods.extend(field(stat, "nr_periods").map(|n| (now, n)));
}

/// Reads the scheduler's counters: time on a CPU, and time in the queue for one.
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
    /// Reads the memory that the group uses, less the file pages that the kernel would drop before
    /// it refused memory.
    fn read(&self, text: &mut Text, now: Instant, consumed: &mut Consumed) -> Option<u64> {
        let used: u64 = text.of(&self.usage)?.trim().parse().ok()?;
        let failures = text.of(&self.failures).and_then(|events| field(events, "oom_kill"));
        consumed.memory_failures.extend(failures.map(|n| (now, n)));
        let stat = text.of(&self.stat).unwrap_or_default();
        let droppable = field(stat, "total_inactive_file").or(field(stat, "inactive_file"));
        Some(used.saturating_sub(droppable.unwrap_or_default()))
    }
}

/// Returns the bytes of the pages in memory, of all processes together.
fn resident(text: &mut Text, processes: &[i32]) -> Option<u64> {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    let of_process = |pid: &i32| {
        let statm = text.of(Path::new(&format!("/proc/{pid}/statm")))?;
        statm.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let pages: Vec<u64> = processes.iter().filter_map(of_process).collect();
    (!pages.is_empty()).then(|| pages.iter().sum::<u64>() * page as u64)
}

/// Parses `Max open files            1024                 524288               files`
fn open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the value of a line `name value`.
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
