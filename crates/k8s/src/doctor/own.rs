//! The checks of the experiment's own pods: quality of service, images, restarts and contents.

use std::collections::{BTreeMap, BTreeSet};

use results::doctor::Severity::{Error, Warning};
use serde_json::Value;

use crate::events;
use crate::objects::{CONTAINER, MANAGER};

use super::found::{Found, OfCluster};
use super::seen::{
    Seen, canonical, containers, has_ended, is_of_job, list, name_of, namespace_of, owner, plain,
};
use crate::paths;
use crate::pods::whole_cpus;

const DIGESTS: Option<&str> = Some("same_image_digests");
const RESTARTS: Option<&str> = Some("no_restarts");
const EVICTIONS: Option<&str> = Some("no_evictions");
const PULLS: Option<&str> = Some("no_pulls");

/// The reasons of events that mean that a pod was taken away, or that a node had no memory left.
const EVICTED: [&str; 5] =
    ["Evicted", "Preempted", "TaintManagerEviction", "OOMKilling", "SystemOOM"];

/// Returns the name of the workload of a pod, for values that its pods have in common.
fn workload(seen: &Seen<'_>, pod: &Value) -> Option<String> {
    let owner = owner(pod).filter(|_| !is_of_job(pod))?;
    Some(seen.called_in(namespace_of(pod), owner.name))
}

/// Check 4: our pods are Guaranteed, and ask for whole CPUs.
pub(super) fn quality(seen: &Seen<'_>) -> Found {
    let mut found = Found::new("QoS class Guaranteed, and whole CPUs", paths::PODS);
    let Some(pods) = seen.running(&mut found) else { return found };
    let severity = if seen.wanted.exclusive { Error } else { Warning };
    let word = Some("guaranteed_integer_cpu");
    let remedy = "set the same CPU and memory as request and limit of all containers of the pod, \
                  with whole CPUs";
    for pod in &pods {
        let name = seen.called(pod);
        let Some(class) = pod["status"]["qosClass"].as_str() else {
            found.odd(word, &name, "status.qosClass");
            continue;
        };
        if let Some(workload) = workload(seen, pod) {
            found.record(format!("qos {workload}"), class);
        }
        if class != "Guaranteed" {
            found.bad(word, severity, format!("{name} is {class}"), remedy);
            continue;
        }
        for container in containers(pod).iter().filter(|one| whole_cpus(one).is_none()) {
            let asked = container["resources"]["requests"]["cpu"].as_str().unwrap_or("no");
            let container = container["name"].as_str().unwrap_or_default();
            let text = format!("{name}: {container} requests {asked} CPU, not a whole number");
            found.bad(word, severity, text, remedy);
        }
    }
    found.with(format!("{} pods are Guaranteed, with whole CPUs", pods.len()))
}

/// Check 7: an image is the same on all nodes, and its tag is not a moving one.
pub(super) fn images(seen: &Seen<'_>) -> Found {
    let mut found = Found::new("one digest of each image, and no tag `latest`", paths::PODS);
    let Some(pods) = seen.running(&mut found) else { return found };
    let mut digests: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    let mut recorded = BTreeSet::new();
    for pod in pods {
        let statuses = list(pod, "/status/containerStatuses");
        for container in containers(pod) {
            let (Some(name), Some(image)) =
                (container["name"].as_str(), container["image"].as_str())
            else {
                found.odd(None, &seen.called(pod), "image of its container");
                continue;
            };
            if is_latest(image) {
                let text = format!("{image} has no fixed tag");
                let remedy = "name the image with a version or its digest";
                found.bad(Some("no_latest"), Warning, text, remedy);
            }
            let status = statuses.iter().find(|status| status["name"] == name);
            let Some(digest) = status.and_then(digest) else {
                found.odd(DIGESTS, &seen.called(pod), &format!("digest of the image {image} yet"));
                continue;
            };
            let node = pod["spec"]["nodeName"].as_str().unwrap_or("no node");
            digests.entry(image).or_default().entry(digest).or_default().insert(node);
            if !is_of_job(pod) {
                recorded.insert(image);
            }
        }
    }
    for (image, of_image) in &digests {
        if let ([(digest, _)], true) = (&entries(of_image)[..], recorded.contains(image)) {
            found.record(format!("image {image}"), *digest);
        }
        if 1 < of_image.len() {
            let one = |(digest, nodes): &(&str, Vec<&str>)| {
                format!("{} on {}", shortened(digest), nodes.join(", "))
            };
            let each: Vec<String> = entries(of_image).iter().map(one).collect();
            let text = format!("{image} is {}", each.join(", but "));
            let remedy = "name the image by its digest, NAME@sha256:…, or load the same one into \
                          every node";
            found.bad(DIGESTS, Error, text, remedy);
        }
    }
    found.with(format!("{} images, each with one digest", digests.len()))
}

/// Returns the digests of an image with their nodes.
fn entries<'a>(of_image: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<(&'a str, Vec<&'a str>)> {
    of_image.iter().map(|(digest, nodes)| (*digest, nodes.iter().copied().collect())).collect()
}

/// Returns the digest of the image that a container runs.
fn digest(status: &Value) -> Option<&str> {
    let id = status["imageID"].as_str()?;
    let digest = id.rsplit_once('@').map_or(id, |(_, digest)| digest);
    digest.starts_with("sha256:").then_some(digest)
}

/// Returns as much of a digest as a reader compares.
fn shortened(digest: &str) -> &str {
    digest.get(.."sha256:".len() + 12).unwrap_or(digest)
}

/// Returns true for an image whose name means another image tomorrow.
fn is_latest(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    let tag = name.split_once(':').map(|(_, tag)| tag);
    !image.contains('@') && tag.is_none_or(|tag| tag == "latest")
}

/// Check 11: nothing of ours was started again, evicted or pulled since the trial began.
pub(super) fn restarts(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "no restart, eviction, or pull of an image since the begin of the trial",
        format!("{} and {}", paths::PODS, paths::EVENTS),
    );
    match seen.all_own_pods() {
        Err(missing) => found.unread(None, "the list of our pods", missing),
        Ok(pods) if pods.is_empty() => found.early(),
        Ok(pods) => {
            for pod in pods {
                evicted(seen, &mut found, pod);
                restarted(seen, &mut found, pod);
            }
        }
    }
    // Before the first trial, events tell of earlier runs.
    if seen.wanted.since_unix_s.is_some() {
        match seen.own(&seen.answers.events) {
            Err(missing) => found.unread(None, "the events of our namespaces", missing),
            Ok(events) => {
                for event in events {
                    happened(seen, &mut found, event);
                }
            }
        }
    }
    found.with("none")
}

/// Adds that a pod was evicted or displaced.
fn evicted(seen: &Seen<'_>, found: &mut Found, pod: &Value) {
    let name = seen.called(pod);
    let conditions = list(pod, "/status/conditions");
    let target = conditions.iter().find(|one| {
        one["type"] == "DisruptionTarget"
            && one["status"] == "True"
            && seen.is_recent(one["lastTransitionTime"].as_str())
    });
    let reason = match (pod["status"]["reason"].as_str(), target) {
        (_, Some(condition)) => condition["reason"].as_str().unwrap_or("DisruptionTarget"),
        // The kubelet of an old version gives no condition, and no time but the start.
        (Some("Evicted"), None) if has_ended(pod) => "Evicted",
        _ => return,
    };
    let remedy = format!("see the reason in `kubectl describe pod -n {} POD`", namespace_of(pod));
    found.bad(EVICTIONS, Error, format!("{name} was taken away: {reason}"), remedy);
}

/// Adds that containers of a pod ended and were started again, or ended badly.
fn restarted(seen: &Seen<'_>, found: &mut Found, pod: &Value) {
    let name = seen.called(pod);
    for status in list(pod, "/status/containerStatuses") {
        let Some(count) = status["restartCount"].as_u64() else {
            found.odd(RESTARTS, &name, "restartCount of its container");
            continue;
        };
        let container = status["name"].as_str().unwrap_or_default();
        let last = status.pointer("/lastState/terminated").filter(|_| 0 < count);
        let now = status.pointer("/state/terminated").filter(|ended| ended["exitCode"] != 0);
        let recent = |ended: &&Value| seen.is_recent(ended["finishedAt"].as_str());
        let (word, ended) = match (now.filter(recent), last.filter(recent)) {
            (Some(ended), _) => ("ended", ended),
            (None, Some(ended)) => ("was started again after it ended", ended),
            (None, None) => continue,
        };
        let code = plain(&ended["exitCode"]);
        let reason = ended["reason"].as_str().unwrap_or("without a reason");
        let text = format!("{name}: {container} {word} with exit code {code} ({reason})");
        let remedy = format!(
            "see why in `kubectl logs --previous -n {} {} -c {container}`",
            namespace_of(pod),
            name_of(pod).unwrap_or("POD"),
        );
        found.bad(RESTARTS, Error, text, remedy);
    }
}

/// Adds what an event tells.
fn happened(seen: &Seen<'_>, found: &mut Found, event: &Value) {
    if !seen.is_recent(events::time_of(event)) {
        return;
    }
    let (Some(reason), object) = (event["reason"].as_str(), &event["involvedObject"]) else {
        return;
    };
    let object = object["name"].as_str().unwrap_or("an object");
    let message = event["message"].as_str().unwrap_or_default();
    if EVICTED.contains(&reason) {
        let remedy = "give the pods enough memory, and the nodes nothing else to run";
        found.bad(EVICTIONS, Error, format!("{object}: {reason}: {message}"), remedy);
    }
    if reason == "Pulling" || reason == "Pulled" && message.starts_with("Successfully pulled") {
        let remedy = "have the image on every node before: run one trial that is not measured";
        found.bad(PULLS, Error, format!("{object}: {message}"), remedy);
    }
}

/// Check 14: our pods have the containers and limits of their templates.
pub(super) fn sidecars(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "the containers and limits of the template in each pod of ours",
        format!("{}, {} and {}", paths::PODS, paths::STATEFUL_SETS, paths::DEPLOYMENTS),
    );
    let Some(pods) = seen.running(&mut found) else { return found };
    for pod in &pods {
        if let Some(workload) = workload(seen, pod) {
            let names: Vec<&str> = names(containers(pod)).into_iter().collect();
            found.record(format!("containers {workload}"), names.join(", "));
        }
        match seen.workload(pod) {
            Err(missing) => found.unread(None, "the templates of our pods", missing),
            Ok(Some(workload)) => match workload.pointer("/spec/template") {
                Some(template) => compare(seen, &mut found, pod, template),
                None => found.odd(None, &seen.called(workload), "spec.template"),
            },
            Ok(None) => compare_with_ours(seen, &mut found, pod),
        }
    }
    found.with(format!("{} pods are as their templates say", pods.len()))
}

fn names(containers: &[Value]) -> BTreeSet<&str> {
    containers.iter().filter_map(|container| container["name"].as_str()).collect()
}

const INJECTED: &str = "switch the injection off in the namespace, such as by `kubectl label \
                        namespace NAMESPACE istio-injection=disabled --overwrite`";

/// Compares a pod with the template that it was made from.
fn compare(seen: &Seen<'_>, found: &mut Found, pod: &Value, template: &Value) {
    let name = seen.called(pod);
    for kind in ["/spec/initContainers", "/spec/containers"] {
        let (made, wanted) = (list(pod, kind), list(template, kind));
        let (are, should) = (names(made), names(wanted));
        for extra in are.difference(&should) {
            found.bad(None, Warning, format!("{name} has the container {extra} too"), INJECTED);
        }
        for wanted in wanted {
            let made = made.iter().find(|made| made["name"] == wanted["name"]);
            if let Some(made) = made
                && is_altered(&made["resources"], &wanted["resources"])
            {
                let container = wanted["name"].as_str().unwrap_or_default();
                let text = format!(
                    "{name}: {container} has the resources {}, and its template {}",
                    canonical(&made["resources"]),
                    canonical(&wanted["resources"]),
                );
                let remedy = "look for what changes pods: `kubectl get limitrange -A`, \
                              `kubectl get mutatingwebhookconfigurations`";
                found.bad(None, Warning, text, remedy);
            }
        }
    }
}

/// Compares a pod that has no template: a program or a load of ours has one container.
fn compare_with_ours(seen: &Seen<'_>, found: &mut Found, pod: &Value) {
    if pod["metadata"]["labels"]["app.kubernetes.io/managed-by"] != MANAGER {
        return;
    }
    for extra in names(containers(pod)).into_iter().filter(|name| *name != CONTAINER) {
        let text = format!("{} has the container {extra} too", seen.called(pod));
        found.bad(None, Warning, text, INJECTED);
    }
}

/// Returns true if a container has other resources than its template says. Kubernetes itself
/// requests what is only limited.
fn is_altered(made: &Value, wanted: &Value) -> bool {
    let differs = |kind: &str, amount: &Value| {
        let Some(amounts) = wanted[kind].as_object() else { return false };
        amounts.iter().any(|(name, wanted)| amount.get(name) != Some(wanted))
    };
    let has_more = made["limits"]
        .as_object()
        .is_some_and(|limits| limits.keys().any(|name| wanted["limits"].get(name).is_none()));
    has_more || differs("limits", &made["limits"]) || differs("requests", &made["requests"])
}
