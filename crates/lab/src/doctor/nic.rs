//! The network interfaces of a machine: pure functions over the texts of its files.
//!
//! The kernel numbers the interrupts of a device in a folder of the device; on virtio they are those of the
//! device above it. An interface over others (a bond, or a virtual one over a real one) has those of the others.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::look::Files;

/// The folder of the interfaces.
pub(super) const FOLDER: &str = "sys/class/net/";
/// The folders with the numbers of an interface's interrupts, below that of the interface.
pub(super) const INTERRUPTS: [&str; 2] = ["device/msi_irqs", "device/../msi_irqs"];
/// The beginning of the links to the interfaces below one, in its folder.
pub(super) const LOWER: &str = "lower_";
/// The files of an interface that are read as they are.
pub(super) const OF_INTERFACE: [&str; 2] = ["device", "operstate"];
/// The folder of an interface's queues, and the file of a receive queue with the CPUs among which the kernel
/// divides its packets.
pub(super) const QUEUES: &str = "queues";
pub(super) const STEERED: &str = "rps_cpus";
pub(super) const ROUTES: &str = "proc/net/route";
pub(super) const ROUTES_OF_V6: &str = "proc/net/ipv6_route";
/// The mark of a route that leads nowhere.
const REJECT: u32 = 0x0200;

/// Returns the interfaces with a device of their own: no loopback, and nothing virtual.
pub fn real(files: &Files) -> Vec<&str> {
    files.between(FOLDER, "/device").map(|(name, _)| name).collect()
}

/// Returns the interface by which this machine reaches an address, or has it.
pub fn towards(files: &Files, ip: IpAddr) -> Option<&str> {
    let routes = match ip {
        IpAddr::V4(_) => files.text(ROUTES)?.lines().filter_map(route).collect::<Vec<_>>(),
        IpAddr::V6(_) => files.text(ROUTES_OF_V6)?.lines().filter_map(route_of_v6).collect(),
    };
    let address = match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    };
    let leads = |route: &&Route<'_>| address & route.mask == route.to && route.interface != "lo";
    routes.iter().filter(leads).max_by_key(|route| route.mask.count_ones()).map(|r| r.interface)
}

/// A route: addresses that are `to` in the bits of the mask.
struct Route<'a> {
    interface: &'a str,
    to: u128,
    mask: u128,
}

/// Parses a line of the table for IPv4, whose numbers are in the order of the machine's memory.
fn route(line: &str) -> Option<Route<'_>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |place: usize| u32::from_str_radix(words.get(place)?, 16).ok();
    let [to, flags, mask] = [number(1)?, number(3)?, number(7)?];
    let [to, mask] = [to, mask].map(|number| u128::from(number.swap_bytes()));
    (flags & REJECT == 0).then_some(Route { interface: words[0], to, mask })
}

/// Parses a line of the table for IPv6.
fn route_of_v6(line: &str) -> Option<Route<'_>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let to = u128::from_str_radix(words.first()?, 16).ok()?;
    let length = u32::from_str_radix(words.get(1)?, 16).ok()?;
    let flags = u32::from_str_radix(words.get(8)?, 16).ok()?;
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or_default();
    (flags & REJECT == 0).then_some(Route { interface: words.get(9)?, to, mask })
}

/// Returns the numbers of the interrupts of an interface, and of those below it.
pub fn interrupts(files: &Files, interface: &str) -> BTreeSet<u32> {
    let below = format!("{FOLDER}{interface}/{LOWER}");
    let lower = files.0.range(below.clone()..).map_while(|(path, _)| path.strip_prefix(&below));
    let all = lower.chain([interface]);
    all.flat_map(|interface| own_interrupts(files, interface)).collect()
}

/// Returns those that the device names, or otherwise those that are called after the interface.
fn own_interrupts(files: &Files, interface: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for folder in INTERRUPTS {
        let folder = format!("{FOLDER}{interface}/{folder}/");
        let paths =
            files.0.range(folder.clone()..).map_while(|(path, _)| path.strip_prefix(&folder));
        found.extend(paths.filter_map(|number| number.parse::<u32>().ok()));
    }
    if found.is_empty() {
        let lines = files.text("proc/interrupts").unwrap_or_default().lines();
        found.extend(lines.filter_map(|line| called_after(line, interface)));
    }
    found
}

/// Returns the number of an interrupt that is called `eth0` or `eth0-rx-1` in its line.
fn called_after(line: &str, interface: &str) -> Option<u32> {
    let (number, rest) = line.trim_start().split_once(':')?;
    let name = rest.split_ascii_whitespace().next_back()?.strip_prefix(interface)?;
    let is_it = name.is_empty() || name.starts_with(['-', ':', '@']);
    number.parse().ok().filter(|_| is_it)
}

/// The path of the CPUs that may serve an interrupt.
pub(super) fn affinity(irq: u32) -> String {
    format!("proc/irq/{irq}/smp_affinity_list")
}
