//! The cluster that runs, as its own programs see it.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::repository;

/// The kinds of objects that the cluster itself changes all the time.
const RESTLESS: [&str; 3] = ["events", "events.events.k8s.io", "componentstatuses"];

/// A cluster that runs.
pub(super) struct Cluster {
    pub(super) kubeconfig: String,
    /// The folder of kubectl and helm.
    pub(super) programs: String,
}

impl Cluster {
    pub(super) fn running() -> Result<Cluster, String> {
        let output = Command::new(super::program()).args(["env"]).output();
        let output = output.map_err(|error| format!("testbed/kc env: {error}"))?;
        if !output.status.success() {
            return Err("the cluster does not run".to_owned());
        }
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        Cluster::named(&printed).ok_or_else(|| "testbed/kc env printed no KUBECONFIG".to_owned())
    }

    /// Reads `export KUBECONFIG=FILE PATH=FOLDER:$PATH`.
    pub(super) fn named(line: &str) -> Option<Cluster> {
        let word = |name: &str| {
            let word = line.split_whitespace().find_map(|word| word.strip_prefix(name))?;
            Some(word.trim_matches('\'').to_owned())
        };
        let programs = word("PATH=")?;
        let (programs, _) = programs.rsplit_once(":$PATH")?;
        Some(Cluster {
            kubeconfig: word("KUBECONFIG=")?,
            programs: programs.trim_matches('\'').to_owned(),
        })
    }

    /// Gives a command this cluster, and the programs that belong to it.
    pub(super) fn prepare(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("KUBECONFIG", &self.kubeconfig);
        command.env("PATH", format!("{}:{path}", self.programs));
    }

    /// Returns a command with this cluster.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(repository::root());
        self.prepare(&mut command);
        command
    }

    /// Runs a command; returns what it printed on stdout.
    pub(super) fn output(&self, command: &mut Command) -> Result<String, String> {
        let name = command.get_program().display().to_string();
        let output = command.output().map_err(|error| format!("starting {name}: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    pub(super) fn kubectl(&self, words: &[&str]) -> Result<String, String> {
        self.output(self.command("kubectl").args(words))
    }

    pub(super) fn helm(&self, words: &[&str]) -> Result<String, String> {
        self.output(self.command("helm").args(words))
    }

    /// Returns the names of all API objects, except those that the cluster itself makes all the time.
    pub(super) fn objects(&self) -> Result<BTreeSet<String>, String> {
        let kinds = self.kubectl(&["api-resources", "--verbs=list", "--output=name"])?;
        let kinds: Vec<&str> = kinds.lines().filter(|kind| !RESTLESS.contains(kind)).collect();
        let list = ["get", &kinds.join(","), "--all-namespaces", "--output=json"];
        let list: Value = serde_json::from_str(&self.kubectl(&list)?)
            .map_err(|error| format!("kubectl get: {error}"))?;
        Ok(list["items"].as_array().into_iter().flatten().map(name).collect())
    }
}

/// Returns the identity of an object: `Pod kube-system/etcd`. A pod of a replica set has the name of its
/// set, since the cluster replaces it by another one when its node is lost: `Pod kube-system/coredns-1-*`.
pub(super) fn name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, namespace) = (text("/kind"), text("/metadata/namespace"));
    let name = match text("/metadata/ownerReferences/0/kind") {
        "ReplicaSet" => &format!("{}-*", text("/metadata/ownerReferences/0/name")),
        _ => text("/metadata/name"),
    };
    match namespace {
        "" => format!("{kind} {name}"),
        _ => format!("{kind} {namespace}/{name}"),
    }
}

/// Returns the objects that one of the lists lacks, as lines.
pub(super) fn differences(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Vec<String> {
    let gone = before.difference(after).map(|name| format!("- {name}"));
    let new = after.difference(before).map(|name| format!("+ {name}"));
    gone.chain(new).collect()
}
