//! The checks of where pods are: on the nodes of their roles, alone, and spread.

use std::collections::{BTreeMap, BTreeSet};

use results::doctor::Placed;
use results::doctor::Severity::{Error, Warning};
use serde_json::Value;

use super::found::{Found, OfCluster};
use super::seen::{
    Owner, Seen, containers, has_ended, is_of_job, name_of, namespace_of, node_of, owner,
};
use crate::paths;

const LABEL: &str = "give each role nodes of its own: `kubectl label node NODE bench-role=load`, \
                     and name the label in `where.roles`";

/// The labels of nodes with the control plane.
const CONTROL_PLANE: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Parts of the names of pods and images that collect traces.
const TRACING: [&str; 4] = ["jaeger", "zipkin", "otel-collector", "opentelemetry-collector"];

/// Returns the place of each pod of ours, by a name that a restart does not change: of pods without
/// such a name, by their order on the nodes. Generators come and go with each trial.
pub(super) fn of(seen: &Seen<'_>) -> Option<BTreeMap<String, Placed>> {
    let pods = seen.own_pods().ok()?;
    let mut placed = BTreeMap::new();
    let mut nameless: BTreeMap<String, Vec<Placed>> = BTreeMap::new();
    for pod in pods.into_iter().filter(|pod| !is_of_job(pod)) {
        let place = Placed { node: node_of(pod).map(str::to_owned), template: seen.template(pod) };
        match owner(pod) {
            Some(Owner { kind: "Deployment" | "ReplicaSet" | "DaemonSet", name }) => {
                let name = seen.called_in(namespace_of(pod), name);
                nameless.entry(name).or_default().push(place);
            }
            _ => {
                placed.insert(seen.called(pod), place);
            }
        }
    }
    for (name, mut places) in nameless {
        places.sort_by(|a, b| (&a.node, &a.template).cmp(&(&b.node, &b.template)));
        for (index, place) in places.into_iter().enumerate() {
            placed.insert(format!("{name}[{index}]"), place);
        }
    }
    // Before the deployment there is nothing to compare with.
    (!placed.is_empty()).then_some(placed)
}

/// Check 8: load, system and tracing are on different nodes, and our pods on those of the roles.
/// The places themselves are in the fingerprint.
pub(super) fn roles(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "load, system under test and tracing on nodes of their own",
        format!("{} and {}", paths::NODES, paths::PODS),
    );
    let (system, load, all) = (seen.system_nodes(), seen.load_nodes(), seen.role_nodes());
    let shared: BTreeSet<&str> = system.intersection(&load).copied().collect();
    for node in &shared {
        let text = format!("{node} has the role load and a role of the system");
        found.bad(Some("load_on_sut"), Error, text, LABEL);
    }
    control_plane(seen, &mut found, &load);
    let answer = seen.answers.pods.as_ref();
    let Some(pods) = found.given("the list of pods", answer) else { return found };
    let mut number = 0;
    for pod in pods.iter().filter(|pod| !has_ended(pod)) {
        let Some(node) = node_of(pod) else { continue };
        let is_own = seen.is_own(pod);
        number += usize::from(is_own);
        let name = || seen.called(pod);
        if is_own && is_of_job(pod) && system.contains(node) && !shared.contains(node) {
            let text = format!("{}, which loads, is on {node} with the system", name());
            found.bad(Some("load_on_sut"), Error, text, LABEL);
        }
        if is_own && owner(pod).is_some() && !all.is_empty() && !all.contains(node) {
            let text = format!("{} is on {node}, which has no role", name());
            let remedy = "pin the workload to its role's nodes by a nodeSelector or an affinity";
            found.bad(Some("pods_on_role_nodes"), Error, text, remedy);
        }
        if system.contains(node) && is_tracing(pod) {
            let text = format!("{}, which collects traces, is on {node} with the system", name());
            let remedy = "move it to another node by a nodeSelector, or switch tracing off";
            found.bad(Some("jaeger_off_sut"), Warning, text, remedy);
        }
    }
    found.with(format!("{number} pods of ours on the nodes of {} roles", seen.wanted.roles.len()))
}

fn control_plane(seen: &Seen<'_>, found: &mut Found, load: &BTreeSet<&str>) {
    let word = Some("load_on_control_plane");
    if let Err(missing) = &seen.answers.nodes {
        found.unread(word, "the list of nodes", missing);
        return;
    }
    for name in load {
        let Some(labels) = seen.node(name).map(|node| &node["metadata"]["labels"]) else {
            continue;
        };
        if CONTROL_PLANE.iter().any(|label| labels.get(label).is_some()) {
            let text = format!("{name} has the role load and the control plane");
            found.bad(word, Error, text, LABEL);
        }
    }
}

fn is_tracing(pod: &Value) -> bool {
    let images = containers(pod).iter().filter_map(|container| container["image"].as_str());
    // The registry's and the owner's name say nothing of the program.
    let images = images.map(|image| image.rsplit('/').next().unwrap_or(image));
    name_of(pod)
        .into_iter()
        .chain(images)
        .any(|name| TRACING.iter().any(|part| name.contains(part)))
}

/// Check 9: no foreign pods on exclusive nodes.
pub(super) fn foreign(seen: &Seen<'_>) -> Found {
    if !seen.wanted.exclusive {
        let wanted = "anything: the spec does not ask for exclusive nodes";
        return Found::new(wanted, paths::PODS).with("was not looked at");
    }
    let mut found = Found::new("no pods but ours and the listed DaemonSets", paths::PODS);
    let pods = match (&seen.answers.pods, &seen.answers.pods_elsewhere) {
        (Err(missing), _) => {
            found.unread(None, "the list of pods", missing);
            return found;
        }
        (Ok(pods), elsewhere) => {
            if let Err(missing) = elsewhere {
                found.unread(None, "the list of pods of other namespaces", missing);
            }
            pods
        }
    };
    let nodes = seen.role_nodes();
    let is_foreign = |pod: &&Value| !has_ended(pod) && !seen.is_own(pod) && !is_listed(seen, pod);
    for pod in pods.iter().filter(is_foreign) {
        if let Some(node) = node_of(pod).filter(|node| nodes.contains(node)) {
            let text = format!("{} is on {node}", seen.called(pod));
            let remedy = "move it away by `kubectl drain NODE --ignore-daemonsets`, or name its \
                          DaemonSet among those that may stay";
            found.bad(None, Error, text, remedy);
        }
    }
    found.with(format!("none on {} nodes", nodes.len()))
}

/// Returns true for a pod of a DaemonSet, or a static pod, that the experiment accepts.
fn is_listed(seen: &Seen<'_>, pod: &Value) -> bool {
    let namespace = namespace_of(pod);
    let name = match owner(pod) {
        Some(Owner { kind: "DaemonSet", name }) => name,
        // A static pod is called by its file and its node.
        Some(Owner { kind: "Node", name: node }) => {
            let name = name_of(pod).unwrap_or_default();
            name.strip_suffix(node).and_then(|name| name.strip_suffix('-')).unwrap_or(name)
        }
        _ => return false,
    };
    let listed = &seen.wanted.daemon_sets;
    listed.contains(&format!("{namespace}/{name}")) || listed.contains(&format!("{namespace}/*"))
}

/// Check 15: the pods of a workload are spread over the nodes, if that is asked for.
pub(super) fn spread(seen: &Seen<'_>) -> Found {
    if !seen.wanted.spread {
        let wanted = "anything: the spec does not ask for a spread";
        return Found::new(wanted, paths::PODS).with("was not looked at");
    }
    let wanted = "at most one pod of a workload more on a node than on another";
    let mut found = Found::new(wanted, paths::PODS);
    let Some(pods) = seen.running(&mut found) else { return found };
    let mut workloads: BTreeMap<(&str, Owner<'_>), Vec<&str>> = BTreeMap::new();
    for pod in pods {
        let Some(owner @ Owner { kind: "Deployment" | "StatefulSet", .. }) = owner(pod) else {
            continue;
        };
        match node_of(pod) {
            Some(node) => workloads.entry((namespace_of(pod), owner)).or_default().push(node),
            None => found.odd(None, &seen.called(pod), "node yet"),
        }
    }
    for ((namespace, owner), used) in &workloads {
        let counts: BTreeMap<&str, usize> = nodes_for(seen, used)
            .into_iter()
            .map(|node| (node, used.iter().filter(|other| **other == node).count()))
            .collect();
        let most = counts.values().max().copied().unwrap_or(0);
        let least = counts.values().min().copied().unwrap_or(0);
        if least + 1 < most {
            let each: Vec<String> =
                counts.iter().map(|(node, count)| format!("{count} on {node}")).collect();
            let name = seen.called_in(namespace, owner.name);
            let text = format!("{name} has {}", each.join(", "));
            let remedy = "set topologySpreadConstraints with maxSkew 1 over kubernetes.io/hostname \
                          and whenUnsatisfiable DoNotSchedule, and delete the pods once";
            found.bad(None, Error, text, remedy);
        }
    }
    found.with(format!("{} workloads are spread", workloads.len()))
}

/// Returns the nodes over which a workload is spread: those of the smallest role that has all its
/// pods.
fn nodes_for<'a>(seen: &Seen<'a>, used: &[&'a str]) -> BTreeSet<&'a str> {
    let roles = seen.wanted.roles.iter().filter(|(role, _)| *role != super::LOAD);
    let nodes =
        roles.map(|(_, nodes)| nodes.iter().map(String::as_str).collect::<BTreeSet<&str>>());
    let fitting = nodes.filter(|nodes| used.iter().all(|node| nodes.contains(node)));
    fitting.min_by_key(BTreeSet::len).unwrap_or_else(|| seen.system_nodes())
}
