//! The checks of what the kubelets say: their configuration, and what containers get of the CPUs.

use std::collections::{BTreeMap, BTreeSet};

use results::doctor::Severity::{Error, Info, Warning};
use serde_json::Value;

use super::Before;
use super::found::{Found, OfCluster};
use super::seen::{
    Seen, canonical, list, name_of, namespace_of, node_of, plain, short_hash, unequal,
};
use crate::metrics::{self, Periods};
use crate::paths::{self, EACH};
use crate::pods::exclusive;
use crate::quantity::{cpus, millicores};

const STATIC_CPU: Option<&str> = Some("kubelet_static_cpu");

/// The fields of a kubelet's configuration that decide how a container gets CPU and memory.
const FIELDS: [&str; 10] = [
    "cpuManagerPolicy",
    "cpuManagerPolicyOptions",
    "topologyManagerPolicy",
    "topologyManagerScope",
    "memoryManagerPolicy",
    "cpuCFSQuota",
    "cpuCFSQuotaPeriod",
    "reservedSystemCPUs",
    "systemReserved",
    "kubeReserved",
];

/// The number of CPUs that a kubelet gave to containers alone.
const EXCLUSIVE_COUNT: &str = "kubelet_cpu_manager_exclusive_cpu_allocation_count";

/// Check 3: a static CPU manager, CPUs reserved for the system, and the same on all nodes of a
/// role.
pub(super) fn configuration(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "cpuManagerPolicy static, CPU reserved for the system, and the same on all nodes of a role",
        paths::configz(EACH),
    );
    let mut configurations: BTreeMap<&str, &Value> = BTreeMap::new();
    for node in seen.role_nodes() {
        match seen.kubelet(node, |kubelet| &kubelet.configz) {
            Err(missing) => {
                found.unread(None, &format!("the kubelet's configuration on {node}"), missing);
            }
            Ok(answer) => match answer.get("kubeletconfig").filter(|it| it.is_object()) {
                None => found.odd(None, &format!("the answer of {node}"), "kubeletconfig"),
                Some(configuration) => {
                    configurations.insert(node, configuration);
                }
            },
        }
    }
    for (node, configuration) in &configurations {
        found
            .record(format!("kubelet {node} configuration"), short_hash(&canonical(configuration)));
        for field in FIELDS {
            if let Some(value) = configuration.get(field).filter(|value| !value.is_null()) {
                found.record(format!("kubelet {node} {field}"), plain(value));
            }
        }
        policy(seen, &mut found, node, configuration);
        if !has_reserved(configuration) {
            let text = format!("{node} reserves no CPU for the system");
            let remedy = "set `reservedSystemCPUs: \"0\"` (or systemReserved) in the kubelet's \
                          configuration of each node";
            found.bad(Some("system_reserved"), Warning, text, remedy);
        }
    }
    for (role, nodes) in &seen.wanted.roles {
        for field in FIELDS {
            let values = nodes.iter().filter_map(|node| {
                let value = configurations.get(node.as_str())?.get(field);
                Some((node.as_str(), value.map_or_else(|| "absent".to_owned(), plain)))
            });
            if let Some(values) = unequal(values) {
                let text = format!("role {role}: {field} is {values}");
                let remedy = "give the kubelets of a role the same configuration";
                found.bad(Some("same_kubelets"), Warning, text, remedy);
            }
        }
    }
    found
        .with(format!("static on {} nodes, with CPU reserved for the system", configurations.len()))
}

fn policy(seen: &Seen<'_>, found: &mut Found, node: &str, configuration: &Value) {
    let severity = if seen.wanted.exclusive { Error } else { Warning };
    match configuration["cpuManagerPolicy"].as_str() {
        Some("static") => {}
        Some(policy) => {
            let text = format!("{node}: cpuManagerPolicy is {policy}");
            let remedy = "set `cpuManagerPolicy: static` in the kubelet's configuration, then for \
                          each node: `kubectl drain NODE --ignore-daemonsets`, stop the kubelet, \
                          remove /var/lib/kubelet/cpu_manager_state, start it, `kubectl uncordon \
                          NODE`";
            found.bad(STATIC_CPU, severity, text, remedy);
        }
        None => found.odd(STATIC_CPU, &format!("the configuration of {node}"), "cpuManagerPolicy"),
    }
}

fn has_reserved(configuration: &Value) -> bool {
    let listed = configuration["reservedSystemCPUs"].as_str().unwrap_or_default();
    let of = |field: &str| millicores(&configuration[field]["cpu"]).unwrap_or(0);
    !listed.is_empty() || 0 < of("systemReserved") + of("kubeReserved")
}

/// A container of ours that should have CPUs of its own.
struct Exclusive<'a> {
    namespace: &'a str,
    pod: &'a str,
    container: &'a str,
    node: &'a str,
    cpus: u64,
}

impl Exclusive<'_> {
    fn key(&self) -> String {
        format!("{}/{}/{}", self.namespace, self.pod, self.container)
    }

    fn of(&self) -> [&str; 3] {
        [self.namespace, self.pod, self.container]
    }
}

/// Returns the containers of ours that should have CPUs of their own; `None` if the check says
/// already why they are not known.
fn exclusive_containers<'a>(seen: &Seen<'a>, found: &mut Found) -> Option<Vec<Exclusive<'a>>> {
    let pods = seen.running(found)?;
    let mut containers = Vec::new();
    for pod in pods {
        let (Some(name), Some(node)) = (name_of(pod), node_of(pod)) else { continue };
        for (container, cpus) in exclusive(pod) {
            let namespace = namespace_of(pod);
            containers.push(Exclusive { namespace, pod: name, container, node, cpus });
        }
    }
    Some(containers)
}

/// Check 5: containers that ask for whole CPUs have them alone.
pub(super) fn exclusive_cpus(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "every container that asks for whole CPUs has as many, and shares none",
        format!("Cpus_allowed_list in the containers, and {}", paths::metrics(EACH)),
    );
    let Some(containers) = exclusive_containers(seen, &mut found) else { return found };
    if containers.is_empty() {
        return found.with("no container of ours asks for CPUs of its own");
    }
    // The containers whose own answer is missing, by node.
    let mut unanswered: BTreeMap<&str, Vec<&Exclusive<'_>>> = BTreeMap::new();
    let mut taken: BTreeMap<(&str, u32), String> = BTreeMap::new();
    for one in &containers {
        match seen.answers.cpusets.get(&one.key()) {
            Some(Ok(list)) => allowed(&mut found, one, list, &mut taken),
            Some(Err(_)) | None => unanswered.entry(one.node).or_default().push(one),
        }
    }
    for (node, containers) in &unanswered {
        counted(seen, &mut found, node, containers);
    }
    let all: u64 = containers.iter().map(|one| one.cpus).sum();
    found.with(format!("{all} CPUs belong to {} containers alone", containers.len()))
}

const GIVE: &str = "set `cpuManagerPolicy: static` on the node, and start the pod again: a running \
                    container keeps the CPUs that it has";

/// Judges a container by the CPUs that its kernel allows it.
fn allowed<'a>(
    found: &mut Found,
    one: &Exclusive<'a>,
    list: &str,
    taken: &mut BTreeMap<(&'a str, u32), String>,
) {
    let key = one.key();
    let Some(allowed) = cpus(list) else {
        found.odd(None, &key, "list of its CPUs");
        return;
    };
    if allowed.len() as u64 != one.cpus {
        let number = one.cpus;
        let text = format!("{key} asks for {number} CPUs of its own, and may use CPU {list}");
        found.bad(None, Warning, text, GIVE);
        return;
    }
    let mut others = BTreeSet::new();
    for cpu in allowed {
        if let Some(other) = taken.insert((one.node, cpu), key.clone()) {
            others.insert(other);
        }
    }
    for other in others {
        let text = format!("{key} and {other} share CPUs of {}", one.node);
        found.bad(None, Warning, text, GIVE);
    }
}

/// Judges the containers of a node by the kubelet's count of CPUs that it gave away.
fn counted(seen: &Seen<'_>, found: &mut Found, node: &str, containers: &[&Exclusive<'_>]) {
    let asked: u64 = containers.iter().map(|one| one.cpus).sum();
    match seen.kubelet(node, |kubelet| &kubelet.metrics) {
        Err(missing) => {
            found.unread(None, &format!("the number of exclusive CPUs of {node}"), missing);
        }
        Ok(text) => match metrics::samples(text, EXCLUSIVE_COUNT).next() {
            None => found.odd(None, &format!("the kubelet of {node}"), EXCLUSIVE_COUNT),
            Some(given) if given.value < asked as f64 => {
                let given = given.value;
                let text = format!(
                    "containers on {node} ask for {asked} CPUs of their own, and its kubelet gave \
                     {given}"
                );
                found.bad(None, Warning, text, GIVE);
            }
            Some(_) => {}
        },
    }
}

/// Check 6: containers with CPUs of their own are never throttled.
pub(super) fn throttling(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "no throttled period of a container with CPUs of its own",
        paths::cadvisor(EACH),
    );
    let Some(containers) = exclusive_containers(seen, &mut found) else { return found };
    if containers.is_empty() {
        return found.with("no container of ours asks for CPUs of its own");
    }
    for one in &containers {
        let node = one.node;
        let answer = seen.kubelet(node, |kubelet| &kubelet.cadvisor);
        let Some(text) = found.given(&format!("the throttling on {node}"), answer) else {
            continue;
        };
        if !metrics::has_container(text, one.of()) {
            found.odd(None, &format!("the answer of {node}"), &format!("figures of {}", one.key()));
            continue;
        }
        // Without a quota nothing can be throttled: kubelets since 1.33 give exclusive CPUs so.
        let Some(now) = metrics::periods(text, one.of()) else { continue };
        let before = periods_before(seen.answers.before.as_ref(), one);
        // A container that was started again counts from zero.
        let before = before.filter(|before| before.all <= now.all).unwrap_or_default();
        let (throttled, all) = (now.throttled - before.throttled, now.all - before.all);
        if 0.0 < throttled {
            let text = format!("{} was throttled in {throttled} of {all} periods", one.key());
            let remedy = "raise its CPU limit to whole CPUs that suffice, or allow the throttling \
                          that the experiment wants";
            found.bad(None, Error, text, remedy);
        }
    }
    found.with(format!("{} containers were never throttled", containers.len()))
}

fn periods_before(before: Option<&Before>, one: &Exclusive<'_>) -> Option<Periods> {
    metrics::periods(before?.cadvisor.get(one.node)?, one.of())
}

/// Check 17: the kubelets report the usage of all our pods.
pub(super) fn usage(seen: &Seen<'_>) -> Found {
    let mut found = Found::new("the usage of each pod of ours", paths::summary(EACH));
    let Some(pods) = found.given("the list of our pods", seen.own_pods()) else { return found };
    let mut loads = Vec::new();
    for node in seen.role_nodes() {
        let answer = seen.kubelet(node, |kubelet| &kubelet.summary);
        let Some(summary) = found.given(&format!("the usage on {node}"), answer) else { continue };
        let Some(used) = summary["node"]["cpu"]["usageNanoCores"].as_f64() else {
            found.odd(None, &format!("the answer of {node}"), "node.cpu.usageNanoCores");
            continue;
        };
        found.record(format!("usage {node}"), "kubelet");
        loads.push(format!("{node} uses {:.2} CPUs", used / 1e9));
        let reported: BTreeSet<[&str; 2]> = list(summary, "/pods")
            .iter()
            .map(|pod| {
                ["namespace", "name"].map(|field| pod["podRef"][field].as_str().unwrap_or_default())
            })
            .collect();
        let missing = pods.iter().filter(|pod| {
            let key = [namespace_of(pod), name_of(pod).unwrap_or_default()];
            node_of(pod) == Some(node) && !reported.contains(&key)
        });
        for pod in missing {
            let text = format!("the kubelet of {node} reports no usage of {}", seen.called(pod));
            found.bad(None, Info, text, "wait half a minute: a kubelet needs it for a new pod");
        }
    }
    found.with(loads.join(", "))
}
