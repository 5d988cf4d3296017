//! The machines of a run: enough to explain why two runs differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The machines that took part in a run, and what each process got of them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Environment {
    /// One for each machine. Empty on virtual time.
    pub nodes: Vec<Node>,
    /// The way processes are confined: `cgroup v2`, `cgroup v1` or `affinity only`, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confinement: Option<String>,
    /// The requested CPUs of each role.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, String>,
    /// The CPUs that the kernel allows each process, read back.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub placement: BTreeMap<String, String>,
    /// The versions of the tool and of the programs that it starts (runtimes, stores, proxies), by
    /// the program's name, if known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
}

/// A machine as its kernel describes it. Unknown properties are absent.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Node {
    /// The host's name.
    pub name: Option<String>,
    pub kernel: Option<String>,
    pub distribution: Option<String>,
    pub architecture: String,
    pub cpu_model: Option<String>,
    pub cpus: u32,
    pub memory_bytes: Option<u64>,
    /// The frequency governor, if all CPUs have the same one; otherwise all of them.
    pub governor: Option<String>,
    pub hypervisor: bool,
    pub clock_source: Option<String>,
    pub load_average: Option<String>,
    pub open_files_limit: Option<u64>,
    /// The version of its kubelet; like the rest, only of a cluster's node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<String>,
    /// The configuration of its kubelet, as the kubelet gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_configuration: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_runtime: Option<String>,
    /// The time of its clock less that of the runner's, and the most by which this may be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_ahead_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
}

impl Node {
    /// Reads the machine under `root`, which is `/` except in tests.
    pub fn read(root: &Path) -> Node {
        let text = |path: &str| {
            fs::read_to_string(root.join(path)).ok().map(|text| text.trim().to_owned())
        };
        let cpuinfo = text("proc/cpuinfo").unwrap_or_default();
        Node {
            name: text("proc/sys/kernel/hostname"),
            kernel: text("proc/sys/kernel/osrelease"),
            distribution: text("etc/os-release")
                .and_then(|text| value_of(&text, "PRETTY_NAME=").map(unquoted)),
            architecture: std::env::consts::ARCH.to_owned(),
            cpu_model: value_of(&cpuinfo, "model name")
                .map(|v| v.replacen(':', "", 1))
                .map(|v| v.trim().to_owned()),
            cpus: cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u32,
            memory_bytes: text("proc/meminfo").as_deref().and_then(memory),
            governor: governor(root),
            hypervisor: value_of(&cpuinfo, "flags")
                .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            clock_source: text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            load_average: text("proc/loadavg"),
            open_files_limit: text("proc/self/limits").as_deref().and_then(open_files),
            ..Node::default()
        }
    }
}

fn value_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn unquoted(text: &str) -> String {
    text.trim_matches('"').to_owned()
}

fn memory(meminfo: &str) -> Option<u64> {
    let kib = value_of(meminfo, "MemTotal:")?.strip_suffix("kB")?.trim();
    Some(kib.parse::<u64>().ok()? * 1024)
}

/// The hard limit: a generator may raise its own limit up to it.
fn open_files(limits: &str) -> Option<u64> {
    value_of(limits, "Max open files")?.split_whitespace().nth(1)?.parse().ok()
}

fn governor(root: &Path) -> Option<String> {
    let mut found: Vec<String> = fs::read_dir(root.join("sys/devices/system/cpu"))
        .ok()?
        .flatten()
        .filter_map(|cpu| fs::read_to_string(cpu.path().join("cpufreq/scaling_governor")).ok())
        .map(|governor| governor.trim().to_owned())
        .collect();
    found.sort();
    found.dedup();
    (!found.is_empty()).then(|| found.join(", "))
}
