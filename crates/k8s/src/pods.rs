//! The state of pods, as the API describes it: ready, waiting for something, or dead.

use serde_json::Value;

use crate::objects::CONTAINER;
use crate::quantity;

#[cfg(test)]
mod tests;

/// The state of a pod's container.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// It runs, and its readiness probe succeeds if it has one.
    Ready,
    /// It is not ready yet, or not any more; the reason in words.
    Waiting(String),
    /// It came to its own end, with success.
    Succeeded,
    /// It ended otherwise; the end in words: `ended with exit code 137 (OOMKilled)`.
    Died(String),
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the name of a pod, or of any object.
pub fn name(pod: &Value) -> &str {
    text(pod, "/metadata/name")
}

/// Returns the name of the node where a pod is; empty if it has none yet.
pub fn node(pod: &Value) -> &str {
    text(pod, "/spec/nodeName")
}

/// Returns true if a pod is about to end.
pub fn is_ending(pod: &Value) -> bool {
    pod.pointer("/metadata/deletionTimestamp").is_some()
}

/// Returns the number of times that the container was started again.
pub fn restarts(pod: &Value) -> u64 {
    container(pod).and_then(|status| status["restartCount"].as_u64()).unwrap_or(0)
}

/// Returns the digest of the image that the container runs.
pub fn image(pod: &Value) -> Option<&str> {
    let id = container(pod)?["imageID"].as_str()?;
    id.rsplit_once('@')
        .map(|(_, digest)| digest)
        .or_else(|| id.starts_with("sha256:").then_some(id))
}

/// Returns the status of our container.
fn container(pod: &Value) -> Option<&Value> {
    let statuses = pod.pointer("/status/containerStatuses")?.as_array()?;
    statuses.iter().find(|status| status["name"] == CONTAINER).or(statuses.first())
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = pod.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

/// Returns the state of a pod.
pub fn state(pod: &Value) -> State {
    if is_ending(pod) {
        return State::Waiting("is about to end".to_owned());
    }
    let status = container(pod);
    let ended = status.and_then(|status| status.pointer("/state/terminated"));
    match (text(pod, "/status/phase"), ended) {
        ("Succeeded", _) => return State::Succeeded,
        (_, Some(ended)) => return ended_with(ended),
        ("Failed", None) => return State::Died(failed(pod)),
        _ => {}
    }
    // A container that is started again, with a growing pause, has died.
    let last = status.and_then(|status| status.pointer("/lastState/terminated"));
    if let (Some(last), true) = (last, 0 < restarts(pod)) {
        return ended_with(last);
    }
    match condition(pod, "Ready") {
        Some(ready) if ready["status"] == "True" => State::Ready,
        _ => State::Waiting(missing(pod)),
    }
}

fn ended_with(ended: &Value) -> State {
    let code = ended["exitCode"].as_i64().unwrap_or(-1);
    match (code, ended["reason"].as_str()) {
        (0, _) => State::Succeeded,
        (_, Some(reason)) if reason != "Error" => {
            State::Died(format!("ended with exit code {code} ({reason})"))
        }
        _ => State::Died(format!("ended with exit code {code}")),
    }
}

/// Returns the reason of a pod that failed without its container's end, such as an eviction.
fn failed(pod: &Value) -> String {
    let (reason, message) = (text(pod, "/status/reason"), text(pod, "/status/message"));
    match (reason, message) {
        ("", "") => "failed".to_owned(),
        (reason, "") => format!("failed: {reason}"),
        ("", message) => format!("failed: {message}"),
        (reason, message) => format!("failed: {reason}: {message}"),
    }
}

/// Returns what a pod waits for.
fn missing(pod: &Value) -> String {
    if let Some(scheduled) = condition(pod, "PodScheduled")
        && scheduled["status"] == "False"
    {
        return format!("has no node: {}", scheduled["message"].as_str().unwrap_or_default());
    }
    let waiting = container(pod).and_then(|status| status.pointer("/state/waiting"));
    match waiting {
        Some(waiting) => {
            let reason = waiting["reason"].as_str().unwrap_or("waits");
            match waiting["message"].as_str() {
                Some(message) => format!("{reason}: {message}"),
                None => reason.to_owned(),
            }
        }
        None if node(pod).is_empty() => "has no node yet".to_owned(),
        None => "runs, and is not ready".to_owned(),
    }
}

/// Returns the address of a pod that a Service selects, `host:port`; `target` is the Service's port of its pods, a
/// number or the name of a container's port.
pub fn address(pod: &Value, target: &Value, port: u64) -> Option<String> {
    let address = pod.pointer("/status/podIP")?.as_str()?;
    let ports = pod.pointer("/spec/containers/0/ports").and_then(Value::as_array);
    let named = |name: &str| {
        let found = ports?.iter().find(|port| port["name"] == name)?;
        found["containerPort"].as_u64()
    };
    let port = match target {
        Value::Number(number) => number.as_u64()?,
        Value::String(name) => named(name)?,
        _ => port,
    };
    Some(format!("{address}:{port}"))
}

/// Returns the number of a pod of a StatefulSet, which counts from 0; `None` for another pod.
pub fn number(pod: &Value) -> Option<u32> {
    name(pod).rsplit_once('-')?.1.parse().ok()
}

pub fn uid(object: &Value) -> Option<String> {
    object["metadata"]["uid"].as_str().map(str::to_owned)
}

/// Returns the containers of a pod, as they were asked for.
pub fn containers(pod: &Value) -> &[Value] {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    containers.map(Vec::as_slice).unwrap_or_default()
}

/// Returns the containers of a pod that get CPUs of their own from a static CPU manager, with their
/// number: those that ask for whole CPUs, in a Guaranteed pod.
pub(crate) fn exclusive(pod: &Value) -> Vec<(&str, u64)> {
    if pod["status"]["qosClass"] != "Guaranteed" {
        return Vec::new();
    }
    let whole = containers(pod)
        .iter()
        .filter_map(|container| Some((container["name"].as_str()?, whole_cpus(container)?)));
    whole.collect()
}

/// Returns the number of CPUs that a container asks for; `None` if it is not a whole number.
pub(crate) fn whole_cpus(container: &Value) -> Option<u64> {
    let asked = quantity::millicores(&container["resources"]["requests"]["cpu"])?;
    (1000 <= asked && asked.is_multiple_of(1000)).then_some(asked / 1000)
}

/// Returns the namespace of a pod, or of any object.
pub fn namespace(pod: &Value) -> &str {
    text(pod, "/metadata/namespace")
}

/// Returns the most CPUs that a pod may use; `None` if one of its containers is not limited.
pub(crate) fn cpu_limit(pod: &Value) -> Option<f64> {
    limit(pod, "cpu", quantity::millicores).map(|millicores| millicores as f64 / 1000.0)
}

/// Returns the most bytes that a pod may use; `None` if one of its containers is not limited.
pub(crate) fn memory_limit(pod: &Value) -> Option<u64> {
    limit(pod, "memory", quantity::bytes)
}

fn limit(pod: &Value, resource: &str, read: fn(&Value) -> Option<u64>) -> Option<u64> {
    let containers = containers(pod).iter();
    containers.map(|container| read(&container["resources"]["limits"][resource])).sum()
}

pub fn is_running(pod: &Value) -> bool {
    pod.pointer("/status/phase").and_then(Value::as_str) == Some("Running")
}

/// Returns the reason why a pod is not what it was when it became ready, with this identity and this
/// number of restarts.
pub fn changed(before: Option<&str>, restarts: u64, now: Option<&Value>) -> Option<String> {
    let Some(now) = now else { return Some("was removed".to_owned()) };
    if uid(now).as_deref() != before {
        return Some("was replaced by another pod".to_owned());
    }
    match state(now) {
        State::Died(why) if self::restarts(now) != restarts || !is_running(now) => Some(why),
        State::Succeeded => Some("ended with exit code 0".to_owned()),
        _ if is_ending(now) => Some("is being removed".to_owned()),
        _ => None,
    }
}
