//! The checks of network interfaces: 28 and 29.
//!
//! The kernel's network stack runs in soft interrupts, on the CPU that the interface interrupts: a few CPUs may
//! carry the packets of all others. On loopback no interface takes part, and the CPU of the sender does the work.

use std::collections::BTreeSet;

use results::doctor::Severity::{Info, Warning};

use super::found::Found;
use super::seen::Seen;
use super::{Files, Look, Moment, SUT, nic};
use crate::spec::{Cpus, Literal};

/// Each takes some microseconds: a second with more of them takes a percent of a CPU.
const PER_S: f64 = 1000.0;
const FILE: &str = "proc/softirqs";

/// Check 28: before a load no packets are processed on the CPUs of the system, and those of an interface with
/// several queues are not all processed on one.
pub(super) fn placement(seen: &Seen<'_>) -> Found {
    let wanted =
        "≤ 1,000/s of the network on each CPU of the system; several CPUs for several queues";
    let mut found = Found::new(wanted, format!("/{FILE}, /proc/irq/*/smp_affinity_list"));
    let places = places(seen, &mut found);
    if seen.moment == Moment::After {
        found.untimely("a load has just used the network");
        return found;
    }
    let Some(most) = most_per_s(seen, &mut found) else { return found };
    let values = [format!("at most {most:.0}/s {}", seen.period())].into_iter().chain(places);
    found.with(values.collect::<Vec<_>>().join("; "))
}

/// Returns the CPUs that serve each interface in words, and finds those that one CPU serves though they have
/// several queues.
fn places(seen: &Seen<'_>, found: &mut Found) -> Vec<String> {
    let files = &seen.now.files;
    let mut places = Vec::new();
    for interface in up(files) {
        let cpus = serving(files, interface);
        if cpus.0.is_empty() {
            continue;
        }
        let queues = receive_queues(files, interface).count();
        if 1 < queues && cpus.0.len() == 1 && 1 < files.online().0.len() {
            let text = format!("the {queues} queues of {interface} are all served by CPU {cpus}");
            let remedy =
                "start `irqbalance`, or give them CPUs: `benchwright kv serve --pin-irq N`";
            found.bad(None, Info, text, remedy);
        }
        places.push(format!("{interface} is served by CPU {cpus}"));
    }
    places
}

/// Returns the most soft interrupts of the network per second on a CPU of the system; `None` if the check says
/// already why they are not known.
fn most_per_s(seen: &Seen<'_>, found: &mut Found) -> Option<f64> {
    let (_, elapsed) = seen.grown(found, FILE)?;
    let cpus = seen.wanted.roles.get(SUT).map_or_else(|| seen.cpus(), |cpus| cpus.0.clone());
    let mut most: f64 = 0.0;
    for cpu in cpus {
        let Some(number) = seen.growth(|look| of_network(look, cpu)) else { continue };
        let per_s = number as f64 / elapsed.as_secs_f64();
        most = most.max(per_s);
        if PER_S < per_s {
            let text = format!("{per_s:.0}/s on {}", seen.cpu(cpu));
            let remedy = "stop what uses the network, or have other CPUs serve the interface: \
                          `benchwright doctor SPEC --fix`";
            found.bad(None, Warning, text, remedy);
        }
    }
    Some(most)
}

/// Check 29: an interface has queues for several CPUs, or the kernel divides its packets among them.
pub(super) fn queues(seen: &Seen<'_>) -> Found {
    let source = "/sys/class/net/*/queues";
    let mut found = Found::new("several receive queues on several CPUs, or RPS", source);
    let files = &seen.now.files;
    if files.between(nic::FOLDER, "/operstate").next().is_none() {
        seen.unread(&mut found, nic::FOLDER);
        return found;
    }
    let cpus = files.online().0.len();
    let mut values = Vec::new();
    for interface in up(files) {
        let queues: Vec<&str> = receive_queues(files, interface).collect();
        let number = queues.len();
        if number == 1 && 1 < cpus && !queues.iter().any(|mask| divides(mask)) {
            let text = format!("{interface} has one receive queue for {cpus} CPUs");
            let remedy = format!(
                "`ethtool -L {interface} combined {cpus}`, or RPS: a mask of CPUs in \
                 /{}{interface}/queues/rx-0/{}",
                nic::FOLDER,
                nic::STEERED
            );
            found.bad(None, Info, text, remedy);
        }
        values.push(format!("{interface}: {number}"));
    }
    match values.is_empty() {
        true => found.with("no interface with a device is up"),
        false => found.with(values.join(", ")),
    }
}

/// Returns the real interfaces that are up.
fn up(files: &Files) -> impl Iterator<Item = &str> {
    let is_up = |name: &&str| files.text(&format!("{}{name}/operstate", nic::FOLDER)) == Some("up");
    nic::real(files).into_iter().filter(is_up)
}

/// Returns the CPUs that may serve the interrupts of an interface.
fn serving(files: &Files, interface: &str) -> Cpus {
    let lists = nic::interrupts(files, interface).into_iter();
    let lists = lists.filter_map(|irq| Cpus::read(files.text(&nic::affinity(irq))?).ok());
    let cpus: BTreeSet<u32> = lists.flat_map(|cpus| cpus.0).collect();
    Cpus(cpus.into_iter().collect())
}

/// Returns the mask of CPUs of each receive queue.
fn receive_queues<'a>(files: &'a Files, interface: &str) -> impl Iterator<Item = &'a str> {
    let beginning = format!("{}{interface}/{}/rx-", nic::FOLDER, nic::QUEUES);
    let paths = files.0.range(beginning.clone()..);
    let of = paths.take_while(move |(path, _)| path.starts_with(&beginning));
    let of = of.filter(|(path, _)| path.ends_with(nic::STEERED));
    of.filter_map(|(_, text)| text.as_deref().ok())
}

/// Returns true if a mask of CPUs, `0000,00000003`, has any.
fn divides(mask: &str) -> bool {
    mask.contains(|digit| ('1'..='9').contains(&digit) || digit.is_ascii_alphabetic())
}

/// Returns the soft interrupts of the network on one CPU since the machine began.
fn of_network(look: &Look, cpu: u32) -> Option<u64> {
    let text = look.files.text(FILE)?;
    let name = format!("CPU{cpu}");
    let column = text.lines().next()?.split_ascii_whitespace().position(|word| word == name)?;
    let of_line = |line: &str| {
        let (kind, counts) = line.trim_start().split_once(':')?;
        let is_network = ["NET_RX", "NET_TX"].contains(&kind);
        let count = counts.split_ascii_whitespace().nth(column)?.parse::<u64>().ok();
        count.filter(|_| is_network)
    };
    Some(text.lines().filter_map(of_line).sum())
}
