//! The checks of the CPUs: 1 to 8.

use std::collections::BTreeSet;

use results::doctor::Severity::{Error, Info, Warning};

use super::found::Found;
use super::seen::{Seen, common};
use crate::spec::{Cpus, Literal};

const CPUS: &str = "sys/devices/system/cpu/";
/// Frequencies that are this far apart are different.
const FREQUENCIES_APART: f64 = 0.05;

fn of(cpu: u32, file: &str) -> String {
    format!("{CPUS}cpu{cpu}/{file}")
}

/// Check 1: the model, its microcode and the mitigations, which are recorded.
pub(super) fn model(seen: &Seen<'_>) -> Found {
    let mut found =
        Found::new("the same on all CPUs", format!("/proc/cpuinfo, /{CPUS}vulnerabilities"));
    let Some(cpuinfo) = seen.text("proc/cpuinfo") else {
        seen.unread(&mut found, "proc/cpuinfo");
        return found;
    };
    let values = |name: &'static str| {
        let value = move |line: &'_ str| -> Option<String> {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        };
        cpuinfo.lines().filter_map(value).collect::<BTreeSet<String>>()
    };
    let models = values("model name");
    let microcodes = values("microcode");
    for (name, values) in [("cpu model", &models), ("microcode", &microcodes)] {
        if !values.is_empty() {
            found.record(name, values.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        }
        if 1 < values.len() {
            let all: Vec<&str> = values.iter().map(String::as_str).collect();
            let text = format!("the CPUs differ in their {name}: {}", all.join(", "));
            found.bad(None, Info, text, "name CPUs of one kind in where.roles");
        }
    }
    if models.is_empty() {
        found.unknown(None, "/proc/cpuinfo names no model", "look at it by `lscpu`");
    }
    let folder = format!("{CPUS}vulnerabilities/");
    for (name, state) in seen.now.files.between(&folder, "") {
        found.record(format!("mitigation of {name}"), state);
    }
    if let Some(kernel) = seen.text("proc/sys/kernel/osrelease") {
        found.record("kernel", kernel);
    }
    found.with(models.into_iter().collect::<Vec<_>>().join(", "))
}

/// Check 2: the frequency governor, and the preference of the processor's own.
pub(super) fn governor(seen: &Seen<'_>) -> Found {
    let (governor, preference) =
        ("cpufreq/scaling_governor", "cpufreq/energy_performance_preference");
    let mut found = Found::new("performance", format!("/{CPUS}cpu*/{governor}, …/{preference}"));
    let cpus = seen.cpus();
    let mut values = Vec::new();
    for &cpu in &cpus {
        values.extend(seen.text(&of(cpu, governor)).map(|value| (cpu, value)));
    }
    let without = cpus.iter().find(|&&cpu| seen.text(&of(cpu, governor)).is_none());
    if let Some(cpu) = without.copied().or(cpus.is_empty().then_some(0)) {
        seen.unread(&mut found, &of(cpu, governor));
    }
    if !values.is_empty() {
        found.record("governor", common(values.iter().map(|(_, value)| *value)));
    }
    let remedy = "`benchwright doctor --fix`, or `cpupower frequency-set -g performance`";
    for &(cpu, value) in values.iter().filter(|(_, value)| *value != "performance") {
        found.bad(None, Warning, format!("{value} on {}", seen.cpu(cpu)), remedy);
    }
    let preferences: Vec<(u32, &str)> =
        cpus.iter().filter_map(|&cpu| Some((cpu, seen.text(&of(cpu, preference))?))).collect();
    if !preferences.is_empty() {
        found.record("energy preference", common(preferences.iter().map(|(_, value)| *value)));
    }
    // Numbers are the processor's own scale, on which 0 is performance.
    for &(cpu, value) in
        preferences.iter().filter(|(_, value)| !["performance", "0"].contains(value))
    {
        let text = format!("the energy preference of {} is {value}", seen.cpu(cpu));
        found.bad(None, Warning, text, remedy);
    }
    found.with(format!("performance on {} of {} CPUs", values.len(), cpus.len()))
}

/// Check 3: turbo makes the frequency depend on heat and on the other cores.
pub(super) fn turbo(seen: &Seen<'_>) -> Found {
    let (intel, others) = (format!("{CPUS}intel_pstate/no_turbo"), format!("{CPUS}cpufreq/boost"));
    let mut found = Found::new("off", format!("/{intel} or /{others}"));
    let is_on = match (seen.text(&intel), seen.text(&others)) {
        (Some("1"), _) | (None, Some("0")) => false,
        (Some("0"), _) | (None, Some("1")) => true,
        _ => {
            seen.unread(&mut found, &others);
            return found;
        }
    };
    found.record("turbo", if is_on { "on" } else { "off" });
    if is_on {
        let text = "on: the frequency depends on heat and on the other cores";
        let remedy = format!(
            "write 1 to /{intel} or 0 to /{others}; `benchwright doctor SPEC --fix` does if the \
             spec requires local.turbo"
        );
        found.bad(None, Warning, text, remedy);
    }
    found.with("off")
}

/// Check 4: the CPUs of a role run equally fast, now and at the look before.
pub(super) fn frequency(seen: &Seen<'_>) -> Found {
    let file = "cpufreq/scaling_cur_freq";
    let mut found = Found::new("within 5 % on all CPUs of a role", format!("/{CPUS}cpu*/{file}"));
    let looks = [seen.before.filter(|before| !before.is_begin), Some(seen.now)];
    let of_cpu = |cpu: u32| {
        let path = of(cpu, file);
        let read = move |look: &super::Look| look.files.number(&path);
        looks.into_iter().flatten().filter_map(read).collect::<Vec<u64>>()
    };
    let all: Vec<u32> = seen.cpus();
    if all.iter().all(|&cpu| of_cpu(cpu).is_empty()) {
        seen.unread(&mut found, &of(all.first().copied().unwrap_or(0), file));
        return found;
    }
    let unnamed = [("all".to_owned(), Cpus(all))];
    let roles: Vec<(String, Cpus)> = match seen.wanted.roles.is_empty() {
        true => unnamed.to_vec(),
        false => seen.wanted.roles.clone().into_iter().collect(),
    };
    let mut values = Vec::new();
    for (role, cpus) in roles {
        let frequencies: Vec<u64> = cpus.0.iter().flat_map(|&cpu| of_cpu(cpu)).collect();
        let (Some(&low), Some(&high)) = (frequencies.iter().min(), frequencies.iter().max()) else {
            continue;
        };
        let mhz = |khz: u64| khz / 1000;
        let text = format!("{} to {} MHz on the CPUs of {role}", mhz(low), mhz(high));
        if (low as f64) < (1.0 - FREQUENCIES_APART) * high as f64 {
            let remedy = "set the governor to performance and turbo off, and look after cooling";
            found.bad(None, Warning, &*text, remedy);
        }
        values.push(text);
    }
    found.with(values.join("; "))
}

/// Check 5: no CPU was slowed down because it was too hot.
pub(super) fn thermal(seen: &Seen<'_>) -> Found {
    let files = ["thermal_throttle/core_throttle_count", "thermal_throttle/package_throttle_count"];
    let mut found = Found::new("no growth", format!("/{CPUS}cpu*/thermal_throttle/*_count"));
    let mut known = 0;
    for cpu in seen.cpus() {
        for file in files {
            let path = of(cpu, file);
            if seen.number(&path).is_none() {
                continue;
            }
            known += 1;
            let Some(growth) = seen.growth(|look| look.files.number(&path)) else {
                seen.single(&mut found);
                continue;
            };
            if 0 < growth {
                let text =
                    format!("{} was throttled {growth} times {}", seen.cpu(cpu), seen.period());
                found.bad(None, Error, text, "look after cooling; wait until it is cool");
            }
        }
    }
    if known == 0 {
        seen.unread(&mut found, &of(0, files[0]));
    }
    found.with(format!("none {}", seen.period()))
}

/// Check 6: no two roles share a core.
pub(super) fn smt(seen: &Seen<'_>) -> Found {
    let file = "topology/thread_siblings_list";
    let mut found = Found::new("no core that two roles share", format!("/{CPUS}cpu*/{file}"));
    let cpus = seen.cpus();
    let mut is_threaded = false;
    if cpus.is_empty() {
        seen.unread(&mut found, &of(0, file));
        return found;
    }
    for &cpu in &cpus {
        let path = of(cpu, file);
        let Some(siblings) = seen.text(&path).and_then(|list| Cpus::read(list).ok()) else {
            seen.unread(&mut found, &path);
            return found;
        };
        is_threaded |= 1 < siblings.0.len();
        for (a, cpus_of_a) in &seen.wanted.roles {
            for (b, cpus_of_b) in seen.wanted.roles.iter().filter(|(b, _)| a < *b) {
                let shared =
                    siblings.0.iter().find(|&&other| other != cpu && cpus_of_b.0.contains(&other));
                if let Some(other) = shared.filter(|_| cpus_of_a.0.contains(&cpu)) {
                    let text =
                        format!("CPU {cpu} of {a} and CPU {other} of {b} are threads of one core");
                    found.bad(None, Error, text, "name CPUs of different cores in where.roles");
                }
            }
        }
    }
    found.record("smt", if is_threaded { "on" } else { "off" });
    let threads = if is_threaded { "several threads" } else { "one thread" };
    found.with(format!("{threads} per core"))
}

/// Check 7: the isolated CPUs, which are recorded. The kernel moves no thread between them.
pub(super) fn isolation(seen: &Seen<'_>) -> Found {
    let file = format!("{CPUS}isolated");
    let full = format!("{CPUS}nohz_full");
    let mut found =
        Found::new("at most one isolated CPU for each role", format!("/{file}, /{full}"));
    let Some(list) = seen.text(&file) else {
        seen.unread(&mut found, &file);
        return found;
    };
    let isolated = Cpus::read(list).unwrap_or(Cpus(Vec::new()));
    let written = if list.is_empty() { "none" } else { list };
    found.record("isolated CPUs", written);
    if let Some(full) = seen.text(&full) {
        found.record("CPUs without ticks", full);
    }
    for (role, cpus) in &seen.wanted.roles {
        let inside = cpus.0.iter().filter(|cpu| isolated.0.contains(cpu)).count();
        if 1 < inside {
            let text = format!(
                "{inside} CPUs of {role} are isolated: the kernel moves no thread between them"
            );
            found.bad(None, Warning, text, "isolate them by cpusets, not by isolcpus");
        }
    }
    found.with(written)
}

/// Check 8: the CPUs of a role are near each other, and pages stay where they are.
pub(super) fn numa(seen: &Seen<'_>) -> Found {
    let (folder, balancing) = ("sys/devices/system/node/node", "proc/sys/kernel/numa_balancing");
    let mut found = Found::new(
        "one node for each role, no balancing",
        format!("/{folder}*/cpulist, /{balancing}"),
    );
    let nodes: Vec<(&str, Cpus)> = seen
        .now
        .files
        .between(folder, "/cpulist")
        .filter_map(|(node, list)| Some((node, Cpus::read(list).ok()?)))
        .collect();
    if nodes.is_empty() {
        seen.unread(&mut found, &format!("{folder}0/cpulist"));
        return found;
    }
    found.record("NUMA nodes", nodes.len().to_string());
    for (role, cpus) in &seen.wanted.roles {
        let of_role: Vec<&str> = nodes
            .iter()
            .filter(|(_, of_node)| cpus.0.iter().any(|cpu| of_node.0.contains(cpu)))
            .map(|(node, _)| *node)
            .collect();
        if 1 < of_role.len() {
            let text = format!("the CPUs of {role} are on the nodes {}", of_role.join(", "));
            found.bad(None, Warning, text, "name CPUs of one node in where.roles");
        }
    }
    if 1 < nodes.len() && seen.number(balancing).is_some_and(|value| value != 0) {
        let text = "the kernel moves pages between nodes";
        found.bad(None, Warning, text, "`benchwright doctor --fix`, or numa_balancing=disable");
    }
    found.with(match nodes.len() {
        1 => "one node".to_owned(),
        several => format!("{several} nodes"),
    })
}
