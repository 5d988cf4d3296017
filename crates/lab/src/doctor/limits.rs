//! The checks of limits: 18 to 20.

use results::doctor::Severity::{Error, Warning};

use super::found::Found;
use super::seen::{Seen, field};
use crate::spec::{Cpus, Literal};

const CGROUPS: &str = "sys/fs/cgroup";
/// The fewest open files and ports: a few thousand connections.
const FILES: u64 = 4096;
const PORTS: u64 = 8192;
/// The shortest queue of accepted connections: the kernel's own default.
const BACKLOG: u64 = 4096;
/// The part of the table of connections that may be in use.
const TRACKED: f64 = 0.8;

/// Check 18: nothing limits the group in which this program runs.
pub(super) fn cgroup(seen: &Seen<'_>) -> Found {
    let source =
        "/proc/self/cgroup; cpu.max or cpu.cfs_quota_us, cpuset, of the group and those above";
    let mut found = Found::new("no CPU quota; all CPUs of the roles", source);
    if seen.text("proc/self/cgroup").is_none() {
        seen.unread(&mut found, "proc/self/cgroup");
        return found;
    }
    let files = &seen.now.files;
    let remedy = "start it outside of this group, or raise its limit";
    let mut known = 0;
    for (group, limit) in files.between(CGROUPS, "/cpu.max") {
        known += 1;
        if !limit.starts_with("max") {
            let text = format!("the group {} has the CPU quota {limit}", named(group));
            found.bad(None, Error, text, remedy);
        }
    }
    for (group, quota) in files.between(CGROUPS, "/cpu.cfs_quota_us") {
        known += 1;
        if !quota.starts_with('-') {
            let period = seen.text(&format!("{CGROUPS}{group}/cpu.cfs_period_us"));
            let text = format!(
                "the group {} has the CPU quota {quota} µs of {} µs",
                named(group),
                period.unwrap_or("100000")
            );
            found.bad(None, Error, text, remedy);
        }
    }
    let cpus = seen.cpus();
    for file in ["/cpuset.cpus.effective", "/cpuset.cpus"] {
        for (group, list) in files.between(CGROUPS, file) {
            known += 1;
            let Ok(allowed) = Cpus::read(list) else { continue };
            if let Some(cpu) = cpus.iter().find(|cpu| !allowed.0.contains(cpu)) {
                let text = format!("the group {} may use CPU {list}, not CPU {cpu}", named(group));
                found.bad(None, Error, text, remedy);
            }
        }
    }
    for file in ["/memory.max", "/memory.limit_in_bytes"] {
        for (_, limit) in files.between(CGROUPS, file) {
            if limit.parse::<u64>().is_ok_and(|bytes| bytes < 1 << 60) {
                found.record("memory limit of the own group", limit);
            }
        }
    }
    if known == 0 {
        seen.unread(&mut found, CGROUPS);
    }
    found.with("no limit")
}

fn named(group: &str) -> &str {
    if group.is_empty() { "/" } else { group }
}

/// Check 19: the kernel did not hold back the groups above the experiment. The limits that it sets
/// itself are below them.
pub(super) fn throttling(seen: &Seen<'_>) -> Found {
    let mut found = Found::new("no growth", format!("/{CGROUPS}/…/cpu.stat: nr_throttled"));
    let mut known = 0;
    for (group, stat) in seen.now.files.between(CGROUPS, "/cpu.stat") {
        // A root group has no such counter, and no quota.
        if field(stat, "nr_throttled").is_none() {
            continue;
        }
        known += 1;
        let path = format!("{CGROUPS}{group}/cpu.stat");
        match seen.growth(|look| field(look.files.text(&path)?, "nr_throttled")) {
            None => seen.single(&mut found),
            Some(0) => {}
            Some(periods) => {
                let text = format!(
                    "the group {} was throttled in {periods} periods {}",
                    named(group),
                    seen.period()
                );
                found.bad(None, Error, text, "raise the quota of this group, or leave it");
            }
        }
    }
    if known == 0 && seen.text("proc/self/cgroup").is_none() {
        seen.unread(&mut found, "proc/self/cgroup");
    } else if known == 0 {
        let remedy = "none is needed in a root group, which has no quota";
        found.unknown(None, "no group counts its throttling", remedy);
    }
    found.with(format!("none {}", seen.period()))
}

/// Check 20: files, ports, queues and tracked connections are not about to run out.
pub(super) fn of_system(seen: &Seen<'_>) -> Found {
    let (limits, ports, backlog) = (
        "proc/self/limits",
        "proc/sys/net/ipv4/ip_local_port_range",
        "proc/sys/net/core/somaxconn",
    );
    let (count, max) =
        ("proc/sys/net/netfilter/nf_conntrack_count", "proc/sys/net/netfilter/nf_conntrack_max");
    let mut found = Found::new(
        format!("≥ {FILES} files, ≥ {PORTS} ports, somaxconn ≥ {BACKLOG}, conntrack below 80 %"),
        format!("/{limits}, /{ports}, /{backlog}, /{max}"),
    );
    let files = seen.text(limits).and_then(open_files);
    match files {
        None => seen.unread(&mut found, limits),
        Some(files) if files < FILES => {
            let text = format!("a process may open {files} files");
            found.bad(None, Error, text, "`ulimit -Hn 1048576` as root, or LimitNOFILE=");
        }
        Some(_) => {}
    }
    let range = seen.text(ports).and_then(|range| {
        let mut numbers = range.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
        Some((numbers.next()?, numbers.next()?))
    });
    let free = range.map(|(first, last)| (last + 1).saturating_sub(first));
    match free {
        None => seen.unread(&mut found, ports),
        Some(free) if free < PORTS => {
            let remedy = "`sysctl net.ipv4.ip_local_port_range=\"10240 65535\"`";
            found.bad(None, Error, format!("{free} ports for connections"), remedy);
        }
        Some(_) => {}
    }
    let queue = seen.number(backlog);
    match queue {
        None => seen.unread(&mut found, backlog),
        Some(queue) => {
            found.record("somaxconn", queue.to_string());
            if queue < BACKLOG {
                let text = format!("a server queues at most {queue} new connections");
                let remedy = "`benchwright doctor --fix`, or `sysctl net.core.somaxconn=4096`";
                found.bad(None, Warning, text, remedy);
            }
        }
    }
    // A kernel that tracks no connections has no such files.
    if let Some((count, max)) = seen.number(count).zip(seen.number(max))
        && TRACKED * max as f64 <= count as f64
    {
        let text = format!("{count} of {max} tracked connections are in use");
        let remedy = "`sysctl net.netfilter.nf_conntrack_max=1048576`, or do not track loopback";
        found.bad(None, Error, text, remedy);
    }
    let [files, free, queue] = [files, free, queue].map(Option::unwrap_or_default);
    found.with(format!("{files} files, {free} ports, somaxconn {queue}"))
}

/// Returns the hard limit: a process may raise its own limit up to it.
fn open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_ascii_whitespace().nth(1)? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}
