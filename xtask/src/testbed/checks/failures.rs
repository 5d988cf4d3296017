//! The failures of a cluster, each made on the test bed: what a run does then.
//!
//! A failure that passes makes a trial invalid, with its cause, and the trial is repeated. One that
//! stays ends the run with exit code 3 and says why.

use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use serde_json::Value;

use super::{Bed, SLO, now, pause, since};
use crate::testbed::kc;

/// With an SLO that a disturbed machine keeps: only the failure makes a trial invalid.
const EXPERIMENT: [&str; 9] = [
    "experiments/hello.yaml",
    "--profile",
    "cluster",
    "--set",
    "phases.measure.time=5s",
    "--set",
    "budget.disturbance=180s",
    "--set",
    SLO,
];

struct Failure {
    name: &'static str,
    make: fn(&Bed) -> Result<(), String>,
    /// The seconds until it passes.
    lasts: f64,
    end: fn(&Bed) -> Result<(), String>,
    /// A word of the cause; empty if no trial may be disturbed by it.
    cause: &'static str,
}

/// The node whose pod answers the load of `hello.yaml`: the load is on w1.
const NODES: [&str; 2] = ["w2", "w3"];

const PASSING: [Failure; 5] = [
    Failure {
        name: "nodes frozen",
        make: |_| each(&NODES, |node| kc(&["kill", node, "kubelet", "--signal", "STOP"])),
        lasts: 15.0,
        end: |_| each(&NODES, |node| kc(&["kill", node, "kubelet", "--signal", "CONT"])),
        cause: "node",
    },
    Failure {
        name: "nodes partitioned",
        make: |_| each(&NODES, |node| kc(&["partition", node])),
        lasts: 15.0,
        end: |_| each(&NODES, |node| kc(&["heal", node])),
        cause: "node",
    },
    Failure {
        name: "nodes stopped",
        make: |_| each(&NODES, |node| kc(&["stop", node])),
        lasts: 10.0,
        end: |_| each(&NODES, |node| kc(&["boot", node])),
        cause: "",
    },
    Failure { name: "pod evicted", make: evict, lasts: 0.0, end: |_| Ok(()), cause: "replaced" },
    Failure {
        name: "API server gone for a minute",
        make: |_| kc(&["kill", "cp", "kube-apiserver"]),
        lasts: 60.0,
        end: |_| kc(&["start", "cp", "kube-apiserver"]),
        cause: "",
    },
];

struct Refusal {
    name: &'static str,
    /// The settings that cause it.
    set: &'static [&'static str],
    prepare: fn(&Bed) -> Result<(), String>,
    end: fn(&Bed) -> Result<(), String>,
    /// A part of the message.
    says: &'static str,
}

const STAYING: [Refusal; 4] = [
    Refusal {
        name: "image missing",
        set: &["where.cluster.image=local/none:1"],
        prepare: |_| Ok(()),
        end: |_| Ok(()),
        says: "local/none:1",
    },
    Refusal {
        name: "out of memory",
        set: &[
            "sut.deploy=[{process: {name: reference, command: [benchwright, reference, --body, '100000000'], memory_limit: 32MiB}}]",
        ],
        prepare: |_| Ok(()),
        end: |_| Ok(()),
        says: "OOMKilled",
    },
    Refusal {
        name: "quota exceeded",
        set: &["sut.replicas=3"],
        prepare: quota,
        end: no_quota,
        says: "exceeded quota",
    },
    Refusal {
        name: "unschedulable",
        set: &["where.cluster.generator.cpu_limit=16"],
        prepare: |_| Ok(()),
        end: |_| Ok(()),
        says: "Insufficient cpu",
    },
];

pub(super) fn run(bed: &Bed) -> Result<String, String> {
    let times = if bed.is_long { 5 } else { 1 };
    let mut wrong = Vec::new();
    let mut note = |name: &str, outcome: Result<String, String>| {
        println!(
            "{name}: {}",
            match &outcome {
                Ok(line) | Err(line) => line,
            }
        );
        if outcome.is_err() {
            wrong.push(name.to_owned());
        }
    };
    for _ in 0..times {
        PASSING.iter().for_each(|failure| note(failure.name, passing(bed, failure)));
        STAYING.iter().for_each(|refusal| note(refusal.name, staying(bed, refusal)));
        note("second runner", second(bed));
    }
    match wrong.as_slice() {
        [] => Ok(format!("{} failures, {times} times each", PASSING.len() + STAYING.len() + 1)),
        wrong => Err(wrong.join(", ")),
    }
}

fn passing(bed: &Bed, failure: &Failure) -> Result<String, String> {
    let out = bed.results("failure");
    let runner = begin(bed, &EXPERIMENT, &out)?;
    let made = until_loaded(bed).and_then(|()| (failure.make)(bed));
    pause(failure.lasts);
    let ended = (failure.end)(bed);
    let output = end(runner)?;
    made.and(ended)?;
    let (code, said) = (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned());
    let reasons = reasons(&out);
    let is_named = failure.cause.is_empty() || reasons.contains(failure.cause);
    match (code, is_named) {
        (Some(0 | 1), true) => Ok(format!("answered; {reasons}")),
        _ => Err(format!("ended with {code:?}; {reasons}\n{said}")),
    }
}

fn staying(bed: &Bed, refusal: &Refusal) -> Result<String, String> {
    (refusal.prepare)(bed)?;
    let out = bed.results("refusal");
    let settings = refusal.set.iter().flat_map(|set| ["--set", set]);
    let words: Vec<&str> = EXPERIMENT.into_iter().chain(settings).collect();
    let begun = now();
    let output = begin(bed, &words, &out).and_then(end);
    (refusal.end)(bed)?;
    let output = output?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(3) if said.contains(refusal.says) => {
            let last = said.lines().last().unwrap_or_default();
            Ok(format!("exit 3 after {:.0} s: {last}", since(begun)))
        }
        code => Err(format!("ended with {code:?}: {said}")),
    }
}

/// A second runner on the same nodes is refused with the holder's name.
fn second(bed: &Bed) -> Result<String, String> {
    let first = begin(bed, &EXPERIMENT, &bed.results("first"))?;
    let refused = until_loaded(bed)
        .and_then(|()| begin(bed, &EXPERIMENT, &bed.results("second")))
        .and_then(end);
    let first = end(first)?;
    let refused = refused?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    match (first.status.code(), refused.status.code()) {
        (Some(0 | 1), Some(3)) if said.contains("measures on") => {
            Ok(said.lines().last().unwrap_or_default().to_owned())
        }
        codes => Err(format!("{codes:?}: {said}")),
    }
}

fn begin(bed: &Bed, words: &[&str], out: &Path) -> Result<Child, String> {
    let mut command = bed.benchwright(&["run"]);
    command.args(words).arg("--out").arg(out).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().map_err(|error| format!("starting benchwright: {error}"))
}

fn end(runner: Child) -> Result<Output, String> {
    runner.wait_with_output().map_err(|error| format!("awaiting benchwright: {error}"))
}

/// Waits until a generator runs.
pub(super) fn until_loaded(bed: &Bed) -> Result<(), String> {
    let begun = now();
    while since(begun) < 60.0 {
        let pods = bed.cluster.kubectl(&[
            "get",
            "pods",
            "--namespace=benchwright",
            "--selector=batch.kubernetes.io/job-name",
            "--output=jsonpath={.items[*].status.phase}",
        ])?;
        if pods.contains("Running") {
            pause(1.5);
            return Ok(());
        }
        pause(0.3);
    }
    Err("no generator ran in a minute".to_owned())
}

/// Returns the reasons of the trials that are not valid.
pub(super) fn reasons(out: &Path) -> String {
    let journal = fs::read_to_string(out.join("journal.jsonl")).unwrap_or_default();
    let reasons = journal.lines().filter_map(|line| {
        let entry: Value = serde_json::from_str(line).ok()?;
        let is_valid = !matches!(entry["status"].as_str(), Some("invalid" | "aborted"));
        (!is_valid).then(|| entry["reasons"].to_string())
    });
    reasons.collect::<Vec<_>>().join("; ")
}

fn evict(bed: &Bed) -> Result<(), String> {
    let eviction = serde_json::json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "reference-0", "namespace": "benchwright"},
    });
    let file = bed.file("eviction.json", &eviction.to_string())?;
    let path = "/api/v1/namespaces/benchwright/pods/reference-0/eviction";
    bed.cluster.kubectl(&["create", "--raw", path, "--filename", &file])?;
    Ok(())
}

fn quota(bed: &Bed) -> Result<(), String> {
    bed.cluster.kubectl(&["create", "namespace", "benchwright"])?;
    let create = ["create", "quota", "two-pods", "--hard=pods=2", "--namespace=benchwright"];
    bed.cluster.kubectl(&create).map(drop)
}

fn no_quota(bed: &Bed) -> Result<(), String> {
    bed.cluster.kubectl(&["delete", "namespace", "benchwright"]).map(drop)
}

fn each(nodes: &[&str], call: impl Fn(&str) -> Result<(), String>) -> Result<(), String> {
    nodes.iter().try_for_each(|node| call(node))
}
