//! The decision which CPUs serve the interrupts of network interfaces: a pure function of the files of a
//! machine. `fix` makes the changes and takes them back.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::fix::Setting;
use super::look::Files;
use super::nic;
use crate::spec::Cpus;

#[cfg(test)]
mod tests;

/// The CPUs and interrupts to pin.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The CPUs that serve the interrupts, and no thread of ours.
    pub serving: Cpus,
    /// The CPUs that are left for our threads.
    pub left: Cpus,
    pub interfaces: Vec<String>,
    pub interrupts: Vec<u32>,
    /// The changes: interrupts that are on their CPU already need none.
    pub changes: Vec<Setting>,
}

/// The reason why nothing can be pinned.
#[derive(Clone, Debug, PartialEq)]
pub enum Unpinned {
    /// All addresses are of loopback, where no device interrupts.
    Loopback,
    /// The most CPUs that could serve interrupts, so that one is left for threads.
    TooMany(usize),
    /// In words, with the remedy.
    Unknown(String),
}

/// Plans to have the interrupts of the interfaces that lead to these addresses served by the highest `count`
/// of the CPUs that this process may use.
pub fn plan(
    files: &Files,
    addresses: &[IpAddr],
    count: usize,
    allowed: &[u32],
) -> Result<Plan, Unpinned> {
    let remote: Vec<IpAddr> = addresses.iter().copied().filter(|ip| !ip.is_loopback()).collect();
    if remote.is_empty() {
        return Err(Unpinned::Loopback);
    }
    let most = allowed.len().saturating_sub(1);
    if most < count {
        return Err(Unpinned::TooMany(most));
    }
    let interfaces = interfaces(files, &remote)?;
    let interrupts: BTreeSet<u32> =
        interfaces.iter().flat_map(|name| nic::interrupts(files, name)).collect();
    if interrupts.is_empty() {
        return Err(Unpinned::Unknown(format!(
            "{} has no interrupts of its own here; use it on the machine with the real interface",
            interfaces.join(", ")
        )));
    }
    let (left, serving) = allowed.split_at(allowed.len() - count);
    // In turn, so that queues share the CPUs evenly.
    let pinned = interrupts.iter().zip(serving.iter().cycle());
    let changes = pinned.filter_map(|(&irq, cpu)| change(files, irq, *cpu)).collect();
    Ok(Plan {
        serving: Cpus(serving.to_vec()),
        left: Cpus(left.to_vec()),
        interfaces: interfaces.into_iter().map(str::to_owned).collect(),
        interrupts: interrupts.into_iter().collect(),
        changes,
    })
}

/// Returns the interfaces of addresses; all real ones for a server that listens on every address.
fn interfaces<'a>(files: &'a Files, addresses: &[IpAddr]) -> Result<Vec<&'a str>, Unpinned> {
    let mut found = BTreeSet::new();
    for ip in addresses {
        if ip.is_unspecified() {
            found.extend(nic::real(files));
            continue;
        }
        let unknown = || Unpinned::Unknown(format!("no interface leads to {ip}; see `ip route`"));
        found.insert(nic::towards(files, *ip).ok_or_else(unknown)?);
    }
    Ok(found.into_iter().collect())
}

fn change(files: &Files, irq: u32, cpu: u32) -> Option<Setting> {
    let (path, after) = (nic::affinity(irq), cpu.to_string());
    let before = files.text(&path)?.to_owned();
    (before != after).then_some(Setting { path, before, after })
}
