//! The check that `deploy/rbac.yaml` has exactly the rights that a runner uses. The runner is an
//! account with these rights alone, and the API server records what it asks for. What it recorded is
//! kept in the repository: a test of the crate `k8s` removes each right in turn and finds the call
//! that needs it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Bed, now, pause, since, social};
use crate::repository;
use crate::testbed::kc;

#[cfg(test)]
mod tests;

const ACCOUNT: &str = "system:serviceaccount:benchwright-runner:benchwright";
/// The calls of the last long check, a line for each: `create apps statefulsets`.
const RECORDED: &str = "crates/k8s/src/rights/recorded.txt";

/// Returns the file that says what the API server records: the calls of our account, without content.
pub(in crate::testbed) fn policy() -> Result<PathBuf, String> {
    let policy = serde_json::json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted", "Panic"],
        "rules": [{"level": "Metadata", "users": [ACCOUNT]}, {"level": "None"}],
    });
    let file = folder()?.join("audit-policy.yaml");
    fs::write(&file, policy.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(file)
}

/// Returns the file that the API server writes.
pub(in crate::testbed) fn log() -> Result<PathBuf, String> {
    Ok(folder()?.join("audit.log"))
}

fn folder() -> Result<PathBuf, String> {
    let folder = repository::target().join("testbed");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

pub(super) fn run(bed: &Bed) -> Result<String, String> {
    let begins_at = size(&log()?);
    let kubectl = |words: &[&str]| bed.cluster.kubectl(words);
    kubectl(&["apply", "--filename", "deploy/rbac.yaml"])?;
    let token = kubectl(&["create", "token", "benchwright", "--namespace=benchwright-runner"])?;
    let ran = in_cluster(bed).and_then(|()| runs(bed, token.trim()));
    kubectl(&["delete", "--filename", "deploy/rbac.yaml"])?;
    ran?;
    let text = fs::read(log()?).map_err(|error| format!("the API server's record: {error}"))?;
    let (used, refused) = calls(&String::from_utf8_lossy(&text[begins_at..]));
    if !refused.is_empty() {
        return Err(format!("rights are missing: {}", lines(&refused).join(", ")));
    }
    let file = repository::root().join(RECORDED);
    let known: BTreeSet<String> =
        fs::read_to_string(&file).unwrap_or_default().lines().map(str::to_owned).collect();
    let used: BTreeSet<String> = lines(&used).into_iter().collect();
    if bed.is_long {
        let text: String = used.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    } else if let Some(new) = used.difference(&known).next() {
        return Err(format!("`{new}` is not in {RECORDED}; run this check with --long"));
    }
    Ok(format!("{} rights used", used.len()))
}

/// Uses all that a runner can do.
fn runs(bed: &Bed, token: &str) -> Result<(), String> {
    let kubeconfig = as_account(bed, token)?;
    let call = |words: &[&str]| {
        let mut command = bed.benchwright(words);
        command.env("KUBECONFIG", &kubeconfig);
        let output = command.output().map_err(|error| format!("starting benchwright: {error}"))?;
        match output.status.code() {
            Some(0 | 1 | 3) => Ok(()),
            code => Err(format!("{code:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    };
    let out = |name: &str| bed.results(name).display().to_string();
    call(&["doctor", "experiments/hotel.yaml", "--profile", "cluster"])?;
    let hello = ["run", "experiments/hello.yaml", "--profile", "cluster", "--out"];
    // Requests of the runner itself.
    let smoke = ["--set", "sut.smoke=[{get: /}, {post: /}]"];
    call(&[&hello[..], &[&out("rights")], &smoke].concat())?;
    // Why a pod does not start.
    let none = ["--set", "where.cluster.image=local/none:1"];
    call(&[&hello[..], &[&out("rights-none")], &none].concat())?;
    call(&[
        "run",
        "experiments/hotel.yaml",
        "--profile",
        "cluster",
        "--profile",
        "ci",
        "--set",
        "sut.instances=1",
        "--out",
        &out("rights-hotel"),
    ])?;
    if !bed.is_long {
        return call(&["clean", "--cluster"]);
    }
    // Levels that are scaled.
    call(&[
        "run",
        "experiments/users.yaml",
        "--profile",
        "cluster",
        "--profile",
        "ci",
        "--set",
        "searches=null",
        "--set",
        "load.rate=20/s",
        "--out",
        &out("rights-users"),
    ])?;
    // Objects that are changed.
    let out_of_social = out("rights-social");
    let words = [&["run"], &social::words(false)?[..], &["--out", &out_of_social]].concat();
    call(&words)?;
    call(&["clean", "--cluster"])
}

/// Runs the runner as a pod of the cluster, by `deploy/runner.yaml`. Its limit of memory is the one
/// that we state.
fn in_cluster(bed: &Bed) -> Result<(), String> {
    let kubectl = |words: &[&str]| bed.cluster.kubectl(words);
    let of_runner = ["--namespace=benchwright-runner"];
    let spec = ["create", "configmap", "experiment", "--from-file=experiments/hello.yaml"];
    kubectl(&[&spec[..], &of_runner].concat())?;
    kc(&["exec", VOLUME_ON, "mkdir", "-p", VOLUME])?;
    let volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "results"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "local": {"path": VOLUME},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [VOLUME_ON]},
            ]}]}},
        },
    });
    // The volumes that the cluster makes by itself belong to root alone. A claim that exists keeps its
    // volume.
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "results", "namespace": "benchwright-runner"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
            "volumeName": "results",
        },
    });
    for object in [volume, claim] {
        let file = bed.file("volume.json", &object.to_string())?;
        kubectl(&["create", "--filename", &file])?;
    }
    kubectl(&["apply", "--filename", "deploy/runner.yaml"])?;
    let state = "{.items[0].status.containerStatuses[0].state.terminated.exitCode}";
    let get = ["get", "pods", "--selector=job-name=runner", &format!("--output=jsonpath={state}")];
    let begun = now();
    let code = loop {
        let code = kubectl(&[&get[..], &of_runner].concat()).unwrap_or_default();
        if !code.is_empty() || LONGEST_S < since(begun) {
            break code;
        }
        pause(1.0);
    };
    let log = kubectl(&[&["logs", "job/runner"][..], &of_runner].concat());
    kubectl(&["delete", "--filename", "deploy/runner.yaml"])?;
    kubectl(&["delete", "persistentvolume", "results"])?;
    kc(&["exec", VOLUME_ON, "rm", "-r", VOLUME])?;
    match code.as_str() {
        "0" | "1" | "3" => Ok(()),
        code => Err(format!("the runner in the cluster ended with `{code}`: {}", log?)),
    }
}

/// The folder of the volume for results, and its node.
const VOLUME: &str = "/var/lib/results";
const VOLUME_ON: &str = "w2";
/// The longest time of a run in the cluster.
const LONGEST_S: f64 = 300.0;

/// Returns a kubeconfig of the account.
fn as_account(bed: &Bed, token: &str) -> Result<PathBuf, String> {
    let file = bed.folder.join("account.kubeconfig");
    fs::copy(&bed.cluster.kubeconfig, &file).map_err(|e| format!("{}: {e}", file.display()))?;
    let path = file.display().to_string();
    let set = |words: &[&str]| {
        bed.cluster.kubectl(&[&["--kubeconfig", &path, "config"], words].concat()).map(drop)
    };
    set(&["set-credentials", "runner", "--token", token])?;
    set(&["set-context", "--current", "--user=runner"])?;
    Ok(file)
}

fn size(path: &Path) -> usize {
    fs::metadata(path).map_or(0, |metadata| metadata.len() as usize)
}

type Calls = BTreeSet<(String, String, String)>;

/// Returns the calls that were allowed, and those that were refused: verb, group, resource.
fn calls(text: &str) -> (Calls, Calls) {
    let mut used = Calls::new();
    let mut refused = Calls::new();
    for event in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let text = |pointer: &str| {
            event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let Some(resource) = event.pointer("/objectRef/resource").and_then(Value::as_str) else {
            continue;
        };
        let resource = match text("/objectRef/subresource").as_str() {
            "" => resource.to_owned(),
            part => format!("{resource}/{part}"),
        };
        let call = (text("/verb"), text("/objectRef/apiGroup"), resource);
        // The status is no sign of a right: a lease that is renewed while its namespace ends is
        // answered with 403 as well.
        if text("/annotations/authorization.k8s.io~1decision") == "forbid" {
            refused.insert(call);
            continue;
        }
        // An apply that makes the object needs both rights, and is recorded once.
        let made = event.pointer("/responseStatus/code").and_then(Value::as_u64) == Some(201);
        if made && call.0 == "patch" {
            used.insert(("create".to_owned(), call.1.clone(), call.2.clone()));
        }
        used.insert(call);
    }
    (used, refused)
}

fn lines(calls: &Calls) -> Vec<String> {
    let line = |(verb, group, resource): &(String, String, String)| match group.as_str() {
        "" => format!("{verb} core {resource}"),
        group => format!("{verb} {group} {resource}"),
    };
    calls.iter().map(line).collect()
}
