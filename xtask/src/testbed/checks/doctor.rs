//! The check that `benchwright doctor` finds faults: each is made on the test bed, found by the check
//! that is there for it, and ended. What cannot be made here is tested with recorded answers, in the
//! crate `k8s`.

use serde_json::{Value, json};

use super::{Bed, now, pause, since};
use crate::testbed::kc;

/// The longest time that all checks may take together.
const MOST_S: f64 = 5.0;

const NAMESPACE: &str = "benchwright";
const IMAGE: &str = concat!("local/benchwright:", env!("CARGO_PKG_VERSION"));

struct Fault {
    name: &'static str,
    /// The check that has to find it.
    found_by: &'static str,
    settings: &'static [&'static str],
    make: fn(&Bed) -> Result<(), String>,
    end: fn(&Bed) -> Result<(), String>,
}

const FAULTS: [Fault; 11] = [
    Fault {
        name: "load and system share nodes",
        found_by: "cluster.placement",
        settings: &["where.roles.sut.nodes=kubernetes.io/os=linux"],
        make: |_| Ok(()),
        end: |_| Ok(()),
    },
    Fault {
        name: "a node is lost",
        found_by: "cluster.conditions",
        settings: &[],
        make: |_| {
            kc(&["kill", "w2", "kubelet", "--signal", "STOP"])?;
            kc(&["wait", "w2", "--not-ready"])
        },
        end: |_| {
            kc(&["kill", "w2", "kubelet", "--signal", "CONT"])?;
            kc(&["wait", "w2"])
        },
    },
    Fault {
        name: "an autoscaler",
        found_by: "cluster.autoscalers",
        settings: &[],
        make: |bed| {
            let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "a"});
            let cpu =
                json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}});
            apply(
                bed,
                &[json!({
                    "apiVersion": "autoscaling/v2",
                    "kind": "HorizontalPodAutoscaler",
                    "metadata": {"name": "fault"},
                    "spec": {
                        "scaleTargetRef": target,
                        "maxReplicas": 2,
                        "metrics": [{"type": "Resource", "resource": cpu}],
                    },
                })],
            )
        },
        end: clear,
    },
    Fault {
        name: "a CronJob that is due",
        found_by: "cluster.autoscalers",
        settings: &[],
        make: |bed| {
            let job = json!({"template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "a", "image": IMAGE, "args": ["--version"]}],
            }}});
            apply(
                bed,
                &[json!({
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "metadata": {"name": "fault"},
                    "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}},
                })],
            )
        },
        end: clear,
    },
    Fault {
        name: "a pod without limits",
        found_by: "cluster.qos",
        settings: &[],
        make: |bed| apply(bed, &[deployment(IMAGE, SERVES)]).and_then(|()| until_running(bed)),
        end: clear,
    },
    Fault {
        name: "a pod that crashes",
        found_by: "cluster.restarts",
        settings: &[],
        make: |bed| apply(bed, &[deployment(IMAGE, &["no-such-command"])]).map(|()| pause(8.0)),
        end: clear,
    },
    Fault {
        name: "a rollout without an end",
        found_by: "cluster.rollouts",
        settings: &[],
        make: |bed| apply(bed, &[deployment("local/none:1", SERVES)]),
        end: clear,
    },
    Fault {
        name: "an image without a version",
        found_by: "cluster.images",
        settings: &[],
        make: |bed| {
            apply(bed, &[deployment("local/benchwright:latest", SERVES)]).map(|()| pause(2.0))
        },
        end: clear,
    },
    Fault {
        name: "limits that nobody asked for",
        found_by: "cluster.sidecars",
        settings: &[],
        make: |bed| {
            let limits = json!({"type": "Container", "default": {"cpu": "100m", "memory": "64Mi"}});
            let range = json!({
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "fault"},
                "spec": {"limits": [limits]},
            });
            apply(bed, &[range, deployment(IMAGE, SERVES)]).and_then(|()| until_running(bed))
        },
        end: clear,
    },
    Fault {
        name: "a machine that may be taken away",
        found_by: "cluster.instances",
        settings: &[],
        make: |bed| label(bed, "karpenter.sh/capacity-type=spot"),
        end: |bed| label(bed, "karpenter.sh/capacity-type-"),
    },
    Fault {
        name: "a foreign pod",
        found_by: "cluster.foreign_pods",
        settings: &["where.cluster.exclusive=true", "where.cluster.besides=[kube-system/*]"],
        make: |bed| {
            let pod = json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "foreign", "namespace": "default"},
                "spec": {
                    "nodeName": "w2",
                    "containers": [{"name": "a", "image": IMAGE, "args": SERVES}],
                },
            });
            apply(bed, &[pod]).map(|()| pause(2.0))
        },
        end: |bed| {
            let delete = ["delete", "pod", "foreign", "--namespace=default", "--grace-period=1"];
            bed.cluster.kubectl(&delete)?;
            clear(bed)
        },
    },
];

/// Arguments of a pod that runs until it is deleted.
const SERVES: &[&str] = &["reference", "--listen", "0.0.0.0:8080"];

pub(super) fn run(bed: &Bed) -> Result<String, String> {
    let begun = now();
    let (errors, clean) = diagnosis(bed, &[])?;
    let took = since(begun);
    let mut wrong = Vec::new();
    if errors {
        wrong.push(format!("errors on a clean cluster: {}", bad(&clean).join(", ")));
    }
    if MOST_S < took {
        wrong.push(format!("the checks took {took:.1} s"));
    }
    for fault in &FAULTS {
        let made = (fault.make)(bed);
        let found = made.and_then(|()| diagnosis(bed, fault.settings));
        (fault.end)(bed)?;
        let (_, checks) = found?;
        let check = checks.iter().find(|check| check["id"] == fault.found_by);
        let value = check.and_then(|check| check["value"].as_str()).unwrap_or_default();
        println!("{}: {}: {value}", fault.name, fault.found_by);
        let was = clean.iter().find(|check| check["id"] == fault.found_by);
        let is_found = check.is_some_and(|check| check["state"] == "bad")
            && was.is_some_and(|was| was["value"] != value);
        if !is_found {
            wrong.push(fault.name.to_owned());
        }
    }
    let figures = format!("{} checks in {took:.1} s; {} faults", clean.len(), FAULTS.len());
    match wrong.is_empty() {
        true => Ok(format!("{figures} found")),
        false => Err(format!("{figures}; wrong: {}", wrong.join("; "))),
    }
}

/// Returns true if the doctor found errors, and its checks.
fn diagnosis(bed: &Bed, settings: &[&str]) -> Result<(bool, Vec<Value>), String> {
    let mut command =
        bed.benchwright(&["doctor", "experiments/hello.yaml", "--profile", "cluster"]);
    command.arg("--json").args(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = command.output().map_err(|error| format!("starting benchwright: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|_| said)?;
    let checks = document["checks"].as_array().cloned().unwrap_or_default();
    Ok((output.status.code() != Some(0), checks))
}

fn bad(checks: &[Value]) -> Vec<String> {
    let bad = checks.iter().filter(|check| check["state"] == "bad");
    bad.map(|check| format!("{} {}", check["id"], check["value"])).collect()
}

/// Makes objects, in the namespace of the experiment unless they name another.
fn apply(bed: &Bed, objects: &[Value]) -> Result<(), String> {
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE},
    });
    for object in [&[namespace], objects].concat() {
        let mut object = object;
        if object["kind"] != "Namespace" && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!(NAMESPACE);
        }
        let file = bed.file("fault.json", &object.to_string())?;
        bed.cluster.kubectl(&["apply", "--filename", &file])?;
    }
    Ok(())
}

/// Deletes the namespace of the experiment, with all faults in it.
fn clear(bed: &Bed) -> Result<(), String> {
    bed.cluster.kubectl(&["delete", "namespace", NAMESPACE, "--ignore-not-found"]).map(drop)
}

fn deployment(image: &str, arguments: &[&str]) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "fault"},
        "spec": {
            "selector": {"matchLabels": {"app": "fault"}},
            "template": {
                "metadata": {"labels": {"app": "fault"}},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "a", "image": image, "args": arguments}],
                },
            },
        },
    })
}

fn until_running(bed: &Bed) -> Result<(), String> {
    let status =
        ["rollout", "status", "deployment/fault", "--timeout=60s", "--namespace", NAMESPACE];
    bed.cluster.kubectl(&status).map(drop)
}

fn label(bed: &Bed, label: &str) -> Result<(), String> {
    bed.cluster.kubectl(&["label", "node", "w2", label]).map(drop)
}
