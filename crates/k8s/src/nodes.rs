//! The nodes of a cluster, as the API describes them.

use std::collections::BTreeMap;

use http::Request;
use lab::backend::Stop;
use lab::spec::Resolved;
use measure::Offset;
use results::environment::Node;
use serde_json::Value;

use crate::api::{self, Api};
use crate::clock;
use crate::{paths, quantity};

#[cfg(test)]
mod tests;

/// Returns the nodes of each role; all nodes that take pods where the spec names none.
pub(crate) fn roles(
    api: &Api,
    resolved: &Resolved,
) -> Result<BTreeMap<&'static str, Vec<String>>, Stop> {
    let mut found = BTreeMap::new();
    for (name, role) in resolved.spec.where_.roles.named() {
        let selector = role.and_then(|role| role.nodes.as_deref()).unwrap_or_default();
        let nodes = api.list(&api::all("Node", None), selector).map_err(api::Error::into_stop)?;
        let takes_pods = |node: &&Value| node.pointer("/spec/unschedulable") != Some(&true.into());
        let nodes: Vec<String> = nodes
            .iter()
            .filter(takes_pods)
            .filter_map(|node| node["metadata"]["name"].as_str().map(str::to_owned))
            .collect();
        if nodes.is_empty() {
            let place = resolved.source.find(&format!("{name}:"), selector);
            let message = format!("no node of the cluster has the labels of role {name}");
            let label = "`kubectl get nodes --show-labels` lists the labels";
            return Err(resolved.source.error(message, place, label).into());
        }
        found.insert(name, nodes);
    }
    Ok(found)
}

/// Returns the address of a node inside the cluster.
pub(crate) fn internal_address(node: &Value) -> Option<&str> {
    let addresses = node.pointer("/status/addresses")?.as_array()?;
    addresses.iter().find(|address| address["type"] == "InternalIP")?["address"].as_str()
}

/// Asks whether a node can be reached; the reason in words if it cannot.
pub(crate) fn answers(api: &Api, name: &str) -> Result<Result<(), String>, Stop> {
    // A node is declared lost after a minute or so; its kubelet is silent at once.
    let asked = |api: &Api| {
        let request = Request::get(paths::healthz(name)).body(Vec::new()).expect("it is a path");
        api.impatient().proxied(request)
    };
    let answer = match asked(api) {
        Ok(answer) => Ok(answer),
        // Perhaps it was the API server that did not answer: this call waits for it.
        Err(_) => {
            api.get("/version").map_err(api::Error::into_stop)?;
            asked(api)
        }
    };
    match answer {
        Ok((status, _)) if status < 400 => Ok(Ok(())),
        // Its kubelet may not be asked.
        Ok((403, _)) => is_ready(api, name),
        Ok((_, body)) => {
            let why = api::message(&body).unwrap_or_else(|| body.trim().to_owned());
            Ok(Err(format!("does not answer: {why}")))
        }
        Err(why) => Ok(Err(format!("does not answer: {why}"))),
    }
}

/// Returns the reason why the cluster says that a node is not ready.
fn is_ready(api: &Api, name: &str) -> Result<Result<(), String>, Stop> {
    let node = api.get(&api::one("Node", "", name)).map_err(api::Error::into_stop)?;
    let Some(node) = node else { return Ok(Err("is gone".to_owned())) };
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|one| one["type"] == "Ready");
    match ready {
        Some(ready) if ready["status"] != "True" => {
            let why = ready["message"].as_str().unwrap_or_default();
            Ok(Err(format!("is not ready: {why}")))
        }
        _ => Ok(Ok(())),
    }
}

/// A node of a role.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    node: Value,
    /// The configuration of its kubelet, if we may read it.
    configuration: Option<Value>,
    /// Its clock, in nanoseconds since 1970, against the runner's; `None` if its kubelet may not be
    /// asked.
    pub(crate) clock: Option<Offset>,
    /// The CPUs that its pods may use together.
    pub(crate) cpus: f64,
}

impl Known {
    /// Learns what can be known of a node. One that runs on the runner's own machine (it has the
    /// same boot) has the runner's clock.
    pub(crate) fn of(api: &Api, node: &Value, boot: Option<&str>) -> Known {
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        // It is only recorded: a kubelet may be lost, or may not be asked.
        let configuration = api.impatient().get(&paths::configz(name)).ok().flatten();
        let configuration = configuration.map(|mut answer| answer["kubeletconfig"].take());
        let is_own = boot.is_some() && info(node, "bootID").as_deref() == boot;
        let clock = match (is_own, &configuration) {
            (true, _) => Some(clock::own_date()),
            (false, Some(_)) => clock::of_node(api, name, || lab::host::now().0),
            (false, None) => None,
        };
        let cpus = usable_cpus(node, configuration.as_ref().unwrap_or(&Value::Null));
        Known { node: node.clone(), configuration, clock, cpus }
    }

    /// Returns a node as the results describe it.
    pub(crate) fn described(&self) -> Node {
        let capacity = |field: &str| self.node.pointer(&format!("/status/capacity/{field}"));
        Node {
            name: self.node["metadata"]["name"].as_str().map(str::to_owned),
            kernel: info(&self.node, "kernelVersion"),
            distribution: info(&self.node, "osImage"),
            architecture: info(&self.node, "architecture").unwrap_or_default(),
            cpus: capacity("cpu").and_then(quantity::millicores).map_or(0, |cpus| cpus / 1000)
                as u32,
            memory_bytes: capacity("memory").and_then(quantity::bytes),
            kubelet: info(&self.node, "kubeletVersion"),
            kubelet_configuration: self.configuration.clone(),
            container_runtime: info(&self.node, "containerRuntimeVersion"),
            // Against the runner's date, not its monotonic clock.
            clock_ahead_ns: self.clock.map(|clock| clock.ahead_ns - clock::own_date().ahead_ns),
            clock_error_ns: self.clock.map(|clock| clock.error.0),
            ..Node::default()
        }
    }
}

fn info(node: &Value, field: &str) -> Option<String> {
    node.pointer(&format!("/status/nodeInfo/{field}"))?.as_str().map(str::to_owned)
}

/// Returns the CPUs that the pods of a node may use together: all, except those that its kubelet
/// keeps from every pod. Without the option `strict-cpu-reservation` pods without CPUs of their own
/// may use the reserved ones too.
fn usable_cpus(node: &Value, configuration: &Value) -> f64 {
    let cpus = |pointer: &str| node.pointer(pointer).and_then(quantity::millicores).unwrap_or(0);
    let is_strict = configuration["cpuManagerPolicy"] == "static"
        && configuration["cpuManagerPolicyOptions"]["strict-cpu-reservation"] == "true";
    let usable = match is_strict {
        true => cpus("/status/allocatable/cpu"),
        false => cpus("/status/capacity/cpu"),
    };
    usable as f64 / 1000.0
}
