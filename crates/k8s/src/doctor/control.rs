//! The checks of what changes the system by itself: autoscalers, schedules and rollouts.

use results::doctor::Severity::{Error, Warning};
use serde_json::Value;

use super::found::{Found, OfCluster};
use super::seen::{Seen, containers, has_ended, name_of, namespace_of};
use super::{Answer, Missing, cron};
use crate::paths;

/// A kind of objects that scale workloads.
struct Scaler<'a> {
    word: &'static str,
    /// The kind as `kubectl delete` takes it.
    kind: &'static str,
    list: &'a Answer<Vec<Value>>,
    /// The place of the name of what it scales.
    target: &'static str,
}

/// Check 10: nothing scales, moves or starts pods while we measure.
pub(super) fn autoscalers(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "no HPA, VPA or ScaledObject of the system, no descheduler, and no CronJob that is due",
        [
            paths::HORIZONTAL_AUTOSCALERS,
            paths::VERTICAL_AUTOSCALERS,
            paths::SCALED_OBJECTS,
            paths::CRON_JOBS,
            paths::PODS,
        ]
        .join(", "),
    );
    let scalers = [
        Scaler {
            word: "no_hpa",
            kind: "hpa",
            list: &seen.answers.horizontal_autoscalers,
            target: "/spec/scaleTargetRef/name",
        },
        Scaler {
            word: "no_vpa",
            kind: "vpa",
            list: &seen.answers.vertical_autoscalers,
            target: "/spec/targetRef/name",
        },
        Scaler {
            word: "no_keda",
            kind: "scaledobject",
            list: &seen.answers.scaled_objects,
            target: "/spec/scaleTargetRef/name",
        },
    ];
    for scaler in &scalers {
        scaled(seen, &mut found, scaler);
    }
    descheduler(seen, &mut found);
    cron_jobs(seen, &mut found);
    found.with("none")
}

fn scaled(seen: &Seen<'_>, found: &mut Found, scaler: &Scaler<'_>) {
    let Scaler { word, kind, list, target } = *scaler;
    let objects = match seen.own(list) {
        Ok(objects) => objects,
        // A cluster without the API group has none of them.
        Err(Missing::Absent) => return,
        Err(missing) => {
            found.unread(Some(word), &format!("the list of {kind}s"), missing);
            return;
        }
    };
    // A VPA that only recommends changes nothing.
    let acts = |object: &&&Value| object["spec"]["updatePolicy"]["updateMode"] != "Off";
    for object in objects.iter().filter(acts) {
        let (namespace, name) = (namespace_of(object), name_of(object).unwrap_or("NAME"));
        let target = object.pointer(target).and_then(Value::as_str).unwrap_or("a workload");
        let text = format!("the {kind} {} scales {target}", seen.called(object));
        let remedy = format!("`kubectl delete {kind} -n {namespace} {name}`");
        found.bad(Some(word), Error, text, remedy);
    }
}

fn descheduler(seen: &Seen<'_>, found: &mut Found) {
    let word = Some("no_descheduler");
    match (&seen.answers.pods, &seen.answers.pods_elsewhere) {
        (Err(missing), _) | (Ok(_), Err(missing)) => {
            found.unread(word, "the list of pods of other namespaces", missing);
        }
        (Ok(pods), Ok(())) => {
            for pod in pods.iter().filter(|pod| !has_ended(pod) && is_descheduler(pod)) {
                let (namespace, name) = (namespace_of(pod), name_of(pod).unwrap_or_default());
                let text = format!("{namespace}/{name} moves pods to other nodes");
                let remedy = format!(
                    "stop it for the time: `kubectl scale deployment -n {namespace} descheduler \
                     --replicas=0`"
                );
                found.bad(word, Warning, text, remedy);
            }
        }
    }
}

fn is_descheduler(pod: &Value) -> bool {
    let images = containers(pod).iter().filter_map(|container| container["image"].as_str());
    name_of(pod).into_iter().chain(images).any(|name| name.contains("descheduler"))
}

fn cron_jobs(seen: &Seen<'_>, found: &mut Found) {
    let word = Some("no_cron_jobs");
    let jobs = match &seen.answers.cron_jobs {
        Ok(jobs) => jobs,
        Err(Missing::Absent) => return,
        Err(missing) => return found.unread(word, "the list of CronJobs", missing),
    };
    let severity = if seen.wanted.exclusive { Error } else { Warning };
    for job in jobs.iter().filter(|job| job["spec"]["suspend"] != true) {
        let (namespace, name) = (namespace_of(job), name_of(job).unwrap_or("NAME"));
        let Some(schedule) = job["spec"]["schedule"].as_str() else {
            found.odd(word, &format!("the CronJob {namespace}/{name}"), "spec.schedule");
            continue;
        };
        let zone = job["spec"]["timeZone"].as_str().unwrap_or("UTC");
        let is_utc = ["UTC", "Etc/UTC", "Etc/GMT", "GMT"].contains(&zone);
        let (now, horizon) = (seen.answers.now_unix_s, seen.wanted.horizon);
        let due = match cron::is_due(schedule, now, horizon).filter(|_| is_utc) {
            Some(true) => "is due while we measure",
            Some(false) => continue,
            None => "may be due while we measure",
        };
        let text = format!("the CronJob {namespace}/{name} ({schedule}) {due}");
        let remedy = format!(
            "`kubectl patch cronjob -n {namespace} {name} -p '{{\"spec\":{{\"suspend\":true}}}}'`"
        );
        found.bad(word, severity, text, remedy);
    }
}

/// The fields of a workload's state that tell whether its rollout has ended.
struct Rollout {
    /// As `kubectl rollout status` takes it.
    kind: &'static str,
    /// The number of wanted pods, in the object.
    wanted: &'static str,
    /// All pods, those of the newest template, and those that are available, below `/status`.
    counts: &'static [(&'static str, &'static str)],
}

const DEPLOYMENT: Rollout = Rollout {
    kind: "deployment",
    wanted: "/spec/replicas",
    counts: &[
        ("exist", "replicas"),
        ("updated", "updatedReplicas"),
        ("available", "availableReplicas"),
    ],
};
const STATEFUL_SET: Rollout = Rollout { kind: "statefulset", ..DEPLOYMENT };
const DAEMON_SET: Rollout = Rollout {
    kind: "daemonset",
    wanted: "/status/desiredNumberScheduled",
    counts: &[("updated", "updatedNumberScheduled"), ("available", "numberAvailable")],
};

/// Check 16: all rollouts of our namespaces have ended.
pub(super) fn rollouts(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "every workload observed at its generation, with all pods updated and available",
        [paths::DEPLOYMENTS, paths::STATEFUL_SETS, paths::DAEMON_SETS].join(", "),
    );
    let lists = [
        (DEPLOYMENT, &seen.answers.deployments),
        (STATEFUL_SET, &seen.answers.stateful_sets),
        (DAEMON_SET, &seen.answers.daemon_sets),
    ];
    let mut number = 0;
    for (rollout, list) in lists {
        match seen.own(list) {
            Err(missing) => {
                found.unread(None, &format!("the list of {}s", rollout.kind), missing);
            }
            Ok(objects) => {
                number += objects.len();
                for object in objects {
                    rolling(seen, &mut found, &rollout, object);
                }
            }
        }
    }
    for pod in seen.own_pods().unwrap_or_default() {
        if crate::pods::is_ending(pod) {
            let text = format!("the pod {} is about to end", seen.called(pod));
            found.bad(None, Error, text, "wait until it is gone");
        }
    }
    found.with(format!("{number} workloads are at rest"))
}

fn rolling(seen: &Seen<'_>, found: &mut Found, rollout: &Rollout, object: &Value) {
    let Rollout { kind, wanted, counts } = *rollout;
    let name = seen.called(object);
    let wait = format!(
        "wait: `kubectl rollout status {kind} -n {} {}`",
        namespace_of(object),
        name_of(object).unwrap_or("NAME"),
    );
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_u64);
    let (Some(generation), Some(observed)) =
        (number("/metadata/generation"), number("/status/observedGeneration"))
    else {
        return found.odd(None, &format!("the {kind} {name}"), "observed generation");
    };
    let Some(wanted) = number(wanted) else {
        return found.odd(None, &format!("the {kind} {name}"), "number of wanted pods");
    };
    if observed < generation {
        let text = format!("the {kind} {name} was changed, and its controller has not seen it yet");
        found.bad(None, Error, text, &*wait);
    }
    for (word, field) in counts {
        // A count of zero is left out.
        let count = number(&format!("/status/{field}")).unwrap_or(0);
        if count != wanted {
            let text = format!("{count} of {wanted} pods of the {kind} {name} {}", are(word));
            found.bad(None, Error, text, &*wait);
        }
    }
}

fn are(word: &str) -> String {
    if word == "exist" { word.to_owned() } else { format!("are {word}") }
}
