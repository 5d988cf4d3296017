//! The recorded answers as the checks look at them: the nodes of the roles, and our own pods.

use std::collections::{BTreeMap, BTreeSet};

use results::digest;
use serde_json::Value;

use crate::lease;
use crate::objects::RUN;
use crate::pods;

use super::found::{Found, OfCluster};
use super::{Answer, Answers, Demands, Kubelet, LOAD, Missing};

/// The annotation that `kubectl rollout restart` changes in a template.
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";
/// The number of hexadecimal digits of a hash that a reader compares.
const DIGITS: usize = 12;
/// The length of a time up to its seconds: `2026-11-23T02:57:09`.
const TO_SECONDS: usize = 19;

static NOT_READ: Missing = Missing::NotRead;

/// The answers, and what the experiment wants.
pub(super) struct Seen<'a> {
    pub(super) answers: &'a Answers,
    pub(super) wanted: &'a Demands,
}

impl<'a> Seen<'a> {
    /// Returns the nodes of all roles, each once.
    pub(super) fn role_nodes(&self) -> BTreeSet<&'a str> {
        self.wanted.roles.values().flatten().map(String::as_str).collect()
    }

    /// Returns the nodes of the system under test.
    pub(super) fn system_nodes(&self) -> BTreeSet<&'a str> {
        let roles = self.wanted.roles.iter().filter(|(role, _)| *role != LOAD);
        roles.flat_map(|(_, nodes)| nodes).map(String::as_str).collect()
    }

    /// Returns the nodes of the generators.
    pub(super) fn load_nodes(&self) -> BTreeSet<&'a str> {
        self.wanted.roles.get(LOAD).into_iter().flatten().map(String::as_str).collect()
    }

    /// Returns a node by its name.
    pub(super) fn node(&self, name: &str) -> Option<&'a Value> {
        let nodes = self.answers.nodes.as_ref().ok()?;
        nodes.iter().find(|node| name_of(node) == Some(name))
    }

    /// Returns an answer of a node's kubelet.
    pub(super) fn kubelet<T>(
        &self,
        node: &str,
        answer: fn(&Kubelet) -> &Answer<T>,
    ) -> Result<&'a T, &'a Missing> {
        match self.answers.kubelets.get(node) {
            Some(kubelet) => answer(kubelet).as_ref(),
            None => Err(&NOT_READ),
        }
    }

    /// Returns all pods of the experiment, also those that have ended.
    pub(super) fn all_own_pods(&self) -> Result<Vec<&'a Value>, &'a Missing> {
        let pods = self.answers.pods.as_ref()?;
        Ok(pods.iter().filter(|pod| self.is_own(pod)).collect())
    }

    /// Returns the pods of the experiment that have not ended.
    pub(super) fn own_pods(&self) -> Result<Vec<&'a Value>, &'a Missing> {
        let pods = self.all_own_pods()?;
        Ok(pods.into_iter().filter(|pod| !has_ended(pod)).collect())
    }

    /// Returns the same; `None` if the check says already why there are none.
    pub(super) fn running(&self, found: &mut Found) -> Option<Vec<&'a Value>> {
        let pods = found.given("the list of our pods", self.own_pods())?;
        if pods.is_empty() {
            found.early();
        }
        Some(pods).filter(|pods| !pods.is_empty())
    }

    /// Returns true for a pod of the experiment; one of another run is foreign in our namespace
    /// too.
    pub(super) fn is_own(&self, pod: &Value) -> bool {
        match pod["metadata"]["labels"][RUN].as_str() {
            Some(run) => run == self.wanted.run,
            None => self.is_in_own_namespace(pod),
        }
    }

    pub(super) fn is_in_own_namespace(&self, object: &Value) -> bool {
        self.wanted.namespaces.contains(namespace_of(object))
    }

    /// Returns the objects of a list that are in our namespaces.
    pub(super) fn own<'b>(
        &self,
        list: &'b Answer<Vec<Value>>,
    ) -> Result<Vec<&'b Value>, &'b Missing> {
        let list = list.as_ref()?;
        Ok(list.iter().filter(|object| self.is_in_own_namespace(object)).collect())
    }

    /// Returns the workload of a pod as the API describes it.
    pub(super) fn workload(&self, pod: &Value) -> Result<Option<&'a Value>, &'a Missing> {
        let Some(Owner { kind, name }) = owner(pod) else { return Ok(None) };
        let list = match kind {
            "Deployment" => &self.answers.deployments,
            "StatefulSet" => &self.answers.stateful_sets,
            "DaemonSet" => &self.answers.daemon_sets,
            _ => return Ok(None),
        };
        let is_owner = |object: &&Value| {
            name_of(object) == Some(name) && namespace_of(object) == namespace_of(pod)
        };
        Ok(list.as_ref()?.iter().find(is_owner))
    }

    /// Returns a hash of the template that a pod was made from. The identity of the run and the
    /// time of a restart are no part of it.
    pub(super) fn template(&self, pod: &Value) -> Option<String> {
        let workload = self.workload(pod).ok().flatten();
        match workload.and_then(|workload| workload["spec"].get("template")) {
            Some(template) => {
                let text = canonical(template);
                let text = match self.wanted.run.as_str() {
                    "" => text,
                    run => text.replace(run, "RUN"),
                };
                Some(short_hash(&text))
            }
            None => {
                let labels = &pod["metadata"]["labels"];
                let hash = ["pod-template-hash", "controller-revision-hash"]
                    .into_iter()
                    .find_map(|label| labels[label].as_str());
                hash.map(str::to_owned)
            }
        }
    }

    /// Returns the name of a namespaced object: without its namespace if the experiment has one
    /// only.
    pub(super) fn called(&self, object: &Value) -> String {
        self.called_in(namespace_of(object), name_of(object).unwrap_or("without a name"))
    }

    pub(super) fn called_in(&self, namespace: &str, name: &str) -> String {
        let is_only =
            self.wanted.namespaces.len() == 1 && self.wanted.namespaces.contains(namespace);
        if is_only { name.to_owned() } else { format!("{namespace}/{name}") }
    }

    /// Returns true if a time of the API is in the trial; one that is not known counts as such.
    pub(super) fn is_recent(&self, time: Option<&str>) -> bool {
        let Some(since) = self.wanted.since_unix_s else { return true };
        let since = lease::time_of(since);
        // Times of the same form are in the order of their texts.
        let seconds = |time: &str| time.get(..TO_SECONDS).map(str::to_owned);
        match time.and_then(seconds) {
            Some(time) => seconds(&since).is_none_or(|since| since <= time),
            None => true,
        }
    }
}

/// The workload that made a pod.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Owner<'a> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
}

/// Returns the workload that made a pod; that of a ReplicaSet is its Deployment.
pub(super) fn owner(pod: &Value) -> Option<Owner<'_>> {
    let owners = pod["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    let (kind, name) = (owner["kind"].as_str()?, owner["name"].as_str()?);
    if kind != "ReplicaSet" {
        return Some(Owner { kind, name });
    }
    let hash = pod["metadata"]["labels"]["pod-template-hash"].as_str();
    let deployment =
        hash.and_then(|hash| name.strip_suffix(hash)).and_then(|name| name.strip_suffix('-'));
    Some(deployment.map_or(Owner { kind, name }, |name| Owner { kind: "Deployment", name }))
}

/// Returns true for a pod of a Job: a generator, or a step that ends.
pub(super) fn is_of_job(pod: &Value) -> bool {
    owner(pod).is_some_and(|owner| owner.kind == "Job")
}

/// Returns true for a pod that will not run any more.
pub(super) fn has_ended(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

pub(super) fn name_of(object: &Value) -> Option<&str> {
    object["metadata"]["name"].as_str()
}

pub(super) fn namespace_of(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// Returns the node of a pod, if it has one.
pub(super) fn node_of(pod: &Value) -> Option<&str> {
    Some(pods::node(pod)).filter(|node| !node.is_empty())
}

/// Returns a list in an object; an empty one if there is none.
pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn containers(pod: &Value) -> &[Value] {
    list(pod, "/spec/containers")
}

/// Returns JSON as a text that does not depend on the order of fields.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> =
                fields.iter().filter(|(name, _)| *name != RESTARTED).collect();
            let field = |(name, value): (&String, &Value)| format!("{name:?}:{}", canonical(value));
            let fields: Vec<String> = fields.into_iter().map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}

/// Returns a hash for readers.
pub(super) fn short_hash(text: &str) -> String {
    let mut hash = digest::sha256(text.as_bytes());
    hash.truncate(DIGITS);
    hash
}

/// Returns the values that nodes have, if they are not all the same: `6.12 on w1, w2, but 6.8 on
/// w3`.
pub(super) fn unequal<'a>(values: impl Iterator<Item = (&'a str, String)>) -> Option<String> {
    let mut nodes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (node, value) in values {
        nodes.entry(value).or_default().push(node);
    }
    let group = |(value, nodes): (&String, &Vec<&str>)| format!("{value} on {}", nodes.join(", "));
    (1 < nodes.len()).then(|| nodes.iter().map(group).collect::<Vec<_>>().join(", but "))
}

/// Returns a JSON value as a reader would write it.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| canonical(value), str::to_owned)
}
