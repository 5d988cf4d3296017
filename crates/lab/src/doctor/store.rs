//! The checks of what a key-value store needs, for an experiment that starts some: 30 to 32.
//!
//! What a store will take follows from its command line, by the sizes that its server chooses itself
//! (`measure::store`). It is the least that it takes: buffers and connections come on top.

use std::path::PathBuf;

use measure::Bytes;
use measure::store::{self, BUCKET_BYTES, MOST_PERCENT};
use results::doctor::Severity::{Error, Warning};

use super::found::Found;
use super::memory::chosen;
use super::seen::Seen;
use super::{Files, Moment};
use crate::spec::{Addresses, Component, Resolved, substitute};

#[cfg(test)]
mod tests;

/// A disk that reads fewer blocks in a second is the limit of a store that reads one record of a thousand from it,
/// even if only one core of it works.
const READS_PER_S: f64 = 10_000.0;
const MEASURE: &str = "measure its reads: `benchwright doctor --storage DIR`";
/// A limit beyond this is none: the kernel writes a group's without a limit so.
const NO_LIMIT: u64 = 1 << 60;

/// A server of the key-value store, by its command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Store {
    pub name: String,
    /// The servers with this command line.
    pub copies: u64,
    /// The bytes of its log in memory; chosen by it if absent.
    pub log: Option<u64>,
    pub buckets: Option<u64>,
    /// The folder of its files; absent if it has none, or only one of the run.
    pub folder: Option<PathBuf>,
    /// The memory limit of each copy.
    pub limit: Option<u64>,
}

/// Returns the stores that an experiment starts.
pub fn of(resolved: &Resolved) -> Vec<Store> {
    let spec = &resolved.spec;
    let filled = |word: &String| {
        // Addresses are not known yet, and decide no size.
        substitute(word, spec, 1, &Addresses::new()).unwrap_or_else(|_| word.clone())
    };
    let components = spec.sut.components();
    let of = |component: &Component| {
        let Component::Process(process) = component else { return None };
        let copies = u64::from(spec.sut.instances.0) * u64::from(spec.sut.replicas_of(component));
        let words: Vec<String> = process.command.0.iter().map(filled).collect();
        let store = Store::of_words(&words)?;
        let limit = component.memory_limit().map(|limit| limit.0);
        Some(Store { name: component.name().to_owned(), copies, limit, ..store })
    };
    components.filter_map(of).collect()
}

impl Store {
    /// Reads a command line with `kv serve …`, also without its program, which an image has by itself. A folder
    /// that is not named as a whole is one of the run.
    pub fn of_words(words: &[String]) -> Option<Store> {
        let at = words.windows(2).position(|pair| pair == ["kv", "serve"])?;
        let program = at.checked_sub(1).map(|before| words[before].as_str());
        let is_ours = program.is_none_or(|name| name.rsplit('/').next() == Some("benchwright"));
        let flags = &words[at + 2..];
        let folder = value(flags, "--storage").filter(|folder| folder.starts_with('/'));
        is_ours.then(|| Store {
            log: value(flags, "--memory").and_then(|text| Some(text.parse::<Bytes>().ok()?.0)),
            buckets: value(flags, "--buckets").and_then(store::read_buckets),
            folder: folder.map(PathBuf::from),
            ..Store::default()
        })
    }

    /// Returns the least memory of one copy, which may use so much.
    pub fn least(&self, limit: u64) -> u64 {
        let log = self.log.unwrap_or_else(|| store::log_by_default(Some(limit)));
        log.saturating_add(store::buckets(self.buckets, log).saturating_mul(BUCKET_BYTES))
    }
}

/// Returns the value of a flag: `--memory 1GiB` or `--memory=1GiB`.
fn value<'a>(flags: &'a [String], name: &str) -> Option<&'a str> {
    let place = flags.iter().position(|flag| flag.split('=').next() == Some(name))?;
    match flags[place].split_once('=') {
        Some((_, value)) => Some(value),
        None => flags.get(place + 1).map(String::as_str),
    }
}

/// Returns the memory of the machine, or that of our own group if it is less.
fn limit(files: &Files) -> Option<u64> {
    let machine = store::meminfo(files.text("proc/meminfo")?, "MemTotal")?;
    let groups = ["/memory.max", "/memory.limit_in_bytes"].into_iter();
    let limits = groups.flat_map(|file| files.between("sys/fs/cgroup", file));
    let limits = limits.filter_map(|(_, text)| text.parse().ok()).filter(|limit| *limit < NO_LIMIT);
    limits.chain([machine]).min()
}

/// Check 30: the stores fit into the memory.
pub(super) fn memory(seen: &Seen<'_>) -> Found {
    let file = "proc/meminfo";
    let mut found = Found::new(
        format!("the stores take at most {MOST_PERCENT} % of what they may use"),
        format!("the stores' --memory and --buckets; /{file}, memory.max"),
    );
    if seen.wanted.stores.is_empty() {
        return found.with("the experiment starts no store");
    }
    let Some(machine) = limit(&seen.now.files) else {
        seen.unread(&mut found, file);
        return found;
    };
    let remedy = "give less --memory or fewer --buckets, or start fewer servers";
    let mut sum: u64 = 0;
    for store in &seen.wanted.stores {
        let limit = store.limit.unwrap_or(machine).min(machine);
        let least = store.least(limit);
        sum = sum.saturating_add(least.saturating_mul(store.copies));
        if store::most(limit) < least {
            let (least, limit) = (Bytes(least), Bytes(limit));
            let text =
                format!("{} takes at least {least} of the {limit} that it may use", store.name);
            found.bad(None, Error, text, remedy);
        }
    }
    let free = seen.text(file).and_then(|text| store::meminfo(text, "MemAvailable"));
    if store::most(machine) < sum {
        let (sum, machine) = (Bytes(sum), Bytes(machine));
        let text = format!("all stores together take at least {sum} of {machine}");
        found.bad(None, Error, text, remedy);
    } else if let Some(free) = free.filter(|free| seen.moment == Moment::Before && *free < sum) {
        let (sum, free) = (Bytes(sum), Bytes(free));
        let text = format!("all stores together take at least {sum}, and {free} are free");
        found.bad(None, Warning, text, "stop what uses the memory: `ps --sort=-rss -eo rss,args`");
    }
    found.with(format!("at least {} of {}", Bytes(sum), Bytes(machine)))
}

/// Check 31: the kernel gives a store huge pages, which it asks for: a random access to its index needs the
/// address of a page first.
pub(super) fn huge_pages(seen: &Seen<'_>) -> Found {
    let file = "sys/kernel/mm/transparent_hugepage/enabled";
    let mut found = Found::new("madvise or always, for a store", format!("/{file}"));
    if seen.wanted.stores.is_empty() {
        return found.with("the experiment starts no store");
    }
    match seen.text(file).map(chosen) {
        None => seen.unread(&mut found, file),
        Some("never") => {
            let text = "huge pages never: a store's index is in small pages, and slower";
            let remedy = format!("`echo madvise > /{file}` as root");
            found.bad(None, Warning, text, remedy);
        }
        Some(word) => found = found.with(word),
    }
    found
}

/// Check 32: the disk of a store gives what cold reads need.
pub(super) fn disk(seen: &Seen<'_>) -> Found {
    let source = "/sys/dev/block/*/queue/rotational; reads of 4 KiB with --storage";
    let mut found = Found::new("a solid-state disk, or ≥ 10,000 random reads/s", source);
    let disks = &seen.now.disks;
    if disks.is_empty() {
        return found.with("no store has a folder that is known before it starts");
    }
    let mut values = Vec::new();
    for (folder, disk) in disks {
        let folder = folder.display();
        // A measured rate says more than the kind.
        match (&disk.reads_per_s, disk.turns) {
            (Some(Err(why)), _) => {
                let remedy = "name a folder that can be written, on a disk";
                found.unknown(None, format!("{folder}: {why}"), remedy);
            }
            (Some(Ok(rate)), _) if *rate < READS_PER_S => {
                let text = format!("{folder}: {rate:.0} random reads of 4 KiB per second");
                let remedy = "use a faster disk, or give the store --memory for all its records";
                found.bad(None, Warning, text, remedy);
            }
            (Some(Ok(rate)), _) => values.push(format!("{folder}: {rate:.0} random reads/s")),
            (None, Some(false)) => values.push(format!("{folder} is on a solid-state disk")),
            (None, Some(true)) => {
                // Most virtual disks call themselves so, whatever they are.
                let text = format!("{folder} is on a disk that turns, or on a virtual one");
                found.unknown(None, text, MEASURE);
            }
            (None, None) => {
                found.unknown(None, format!("the disk of {folder} is not known"), MEASURE);
            }
        }
    }
    found.with(values.join("; "))
}
