//! The checks of the nodes as the API server describes them.

use results::doctor::Severity::{Error, Warning};
use serde_json::Value;

use super::found::{Found, OfCluster};
use super::seen::{Seen, list, plain, unequal};
use crate::paths;

/// The properties that the nodes of a role have in common, with their places in a Node.
const PROPERTIES: [(&str, &str); 6] = [
    ("kernel", "/status/nodeInfo/kernelVersion"),
    ("system", "/status/nodeInfo/osImage"),
    ("container runtime", "/status/nodeInfo/containerRuntimeVersion"),
    ("kubelet", "/status/nodeInfo/kubeletVersion"),
    ("architecture", "/status/nodeInfo/architecture"),
    ("CPUs", "/status/capacity/cpu"),
];

/// The conditions of a node that must not hold.
const PRESSURES: [&str; 4] =
    ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

/// The labels of machines that their owner may take away, with the value that says so.
const SPOT: [(&str, &str); 7] = [
    ("eks.amazonaws.com/capacityType", "SPOT"),
    ("karpenter.sh/capacity-type", "spot"),
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
    ("node.kubernetes.io/lifecycle", "spot"),
    ("node-lifecycle", "spot"),
];

const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

/// The beginnings of instance types whose CPUs are shared or limited by credits: of Amazon, Google
/// and Microsoft.
const BURSTABLE: [&str; 11] = [
    "t1.",
    "t2.",
    "t3.",
    "t3a.",
    "t4g.",
    "e2-micro",
    "e2-small",
    "e2-medium",
    "f1-micro",
    "g1-small",
    "Standard_B",
];

/// Check 1: the nodes of a role have the same kernel, system, runtime, kubelet and CPUs.
pub(super) fn alike(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "the same kernel, system, container runtime, kubelet, architecture and number of CPUs on \
         all nodes of a role",
        paths::NODES,
    );
    if let Err(missing) = &seen.answers.nodes {
        found.unread(None, "the list of nodes", missing);
        return found;
    }
    for name in seen.role_nodes() {
        let Some(node) = seen.node(name) else {
            found.unknown(None, format!("node {name} is not in the list"), LOOK);
            continue;
        };
        for (property, pointer) in PROPERTIES {
            match node.pointer(pointer).map(plain) {
                Some(value) => found.record(format!("node {name} {property}"), value),
                None => found.odd(None, &format!("node {name}"), pointer),
            }
        }
    }
    let mut roles = Vec::new();
    for (role, nodes) in &seen.wanted.roles {
        for (property, pointer) in PROPERTIES {
            let values = nodes.iter().filter_map(|name| {
                Some((name.as_str(), plain(seen.node(name)?.pointer(pointer)?)))
            });
            if let Some(values) = unequal(values) {
                let text = format!("role {role}: the {property} is {values}");
                found.bad(None, Error, text, "give the role nodes that are alike, by its labels");
            }
        }
        roles.push(format!("{role}: {} alike", nodes.len()));
    }
    found.with(roles.join(", "))
}

const LOOK: &str = "look at `kubectl get nodes --show-labels`";

/// Check 2: the nodes are ready, without pressure, and take pods.
pub(super) fn conditions(seen: &Seen<'_>) -> Found {
    let mut found =
        Found::new("Ready, without pressure, and open to pods on every role's node", paths::NODES);
    if let Err(missing) = &seen.answers.nodes {
        found.unread(None, "the list of nodes", missing);
        return found;
    }
    let names = seen.role_nodes();
    for name in &names {
        match seen.node(name) {
            Some(node) => condition(&mut found, name, node),
            None => found.bad(None, Error, format!("node {name} is not in the cluster"), LOOK),
        }
    }
    found.with(format!("{} nodes are ready", names.len()))
}

fn condition(found: &mut Found, name: &str, node: &Value) {
    let describe = format!("see the reason in `kubectl describe node {name}`");
    let conditions = list(node, "/status/conditions");
    let of = |kind: &str| {
        let condition = conditions.iter().find(|condition| condition["type"] == kind)?;
        condition["status"].as_str()
    };
    match of("Ready") {
        Some("True") => {}
        Some(status) => found.bad(None, Error, format!("{name}: Ready is {status}"), &*describe),
        None => found.odd(None, &format!("node {name}"), "condition Ready"),
    }
    for pressure in PRESSURES {
        // A cluster need not have all of them: NetworkUnavailable comes from the network's plugin.
        if let Some(status) = of(pressure)
            && status != "False"
        {
            found.bad(None, Error, format!("{name}: {pressure} is {status}"), &*describe);
        }
    }
    if node["spec"]["unschedulable"] == true {
        let remedy = format!("`kubectl uncordon {name}`");
        found.bad(None, Error, format!("{name} takes no pods: it is cordoned"), remedy);
    }
}

/// Check 20: machines that may be taken away, or whose CPU is limited by credits.
pub(super) fn instances(seen: &Seen<'_>) -> Found {
    let mut found = Found::new("no spot or burstable machine in a role", paths::NODES);
    if let Err(missing) = &seen.answers.nodes {
        found.unread(None, "the list of nodes", missing);
        return found;
    }
    let mut kinds = Vec::new();
    for name in seen.role_nodes() {
        let Some(node) = seen.node(name) else {
            found.unknown(None, format!("node {name} is not in the list"), LOOK);
            continue;
        };
        let labels = &node["metadata"]["labels"];
        let spot = SPOT.into_iter().find(|(label, value)| labels[*label] == *value);
        if let Some((label, value)) = spot {
            let text = format!("{name} may be taken away: {label}={value}");
            found.bad(Some("no_spot"), Warning, text, "use nodes that are paid on demand");
        }
        let Some(kind) = labels[INSTANCE_TYPE].as_str() else {
            let text = format!("node {name} has no label {INSTANCE_TYPE}");
            found.unknown(None, text, "ask the owner of the machine whether it shares its CPUs");
            continue;
        };
        found.record(format!("node {name} instance type"), kind);
        if BURSTABLE.iter().any(|start| kind.starts_with(start)) {
            let text = format!("{name} is a {kind}, whose CPU is limited by credits or shared");
            let remedy = "use an instance type with a constant CPU";
            found.bad(Some("no_burstable"), Warning, text, remedy);
        }
        kinds.push(format!("{name}: {kind}"));
    }
    found.with(kinds.join(", "))
}
