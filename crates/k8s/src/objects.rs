//! The API objects of a run, made from what the lab asks for. Nothing here talks to a cluster.
//!
//! A service is a StatefulSet, whose pods keep their names when they are restarted, and a headless
//! Service, by which each pod has an address of its own: who calls a service spreads its calls over
//! the pods itself. The load is an indexed Job with a pod on each node of its role.

use std::collections::BTreeMap;

use lab::backend::{Limits, Service};
use lab::spec::generator::{
    Arguments, FRAMED, PART, SECRETS as SECRETS_OPTION, START, UNTIL_MISSED, Value as Given,
};
use lab::spec::{self, Port};
use measure::Nanos;
use results::{Secrets, secrets};
use serde_json::{Map, Value, json};

#[cfg(test)]
pub(crate) mod tests;

/// The label with the identity of the run, on every object that it makes.
pub const RUN: &str = "benchwright.dev/run";
/// The label with the name of the service, on its pods.
pub const SERVICE: &str = "benchwright.dev/service";
/// The label on the pods of all generators.
pub const LOAD: &str = "benchwright.dev/load";
/// The name under which a channel finds the receiver of events in the generator.
pub const RECEIVER: &str = "benchwright-receiver";
/// The field of the owner object with the resolved spec.
pub const SPEC: &str = "spec.yaml";
/// The name of our fields in server-side apply.
pub const MANAGER: &str = "benchwright";
/// The name of the container in each of our pods.
pub const CONTAINER: &str = "main";

/// The port of a program that may choose one. Pods have addresses of their own, so all have the same.
const PORT: u16 = 8080;
/// The folder of a program's own files.
const FOLDER: &str = "/own";
/// The folder of the files that a load needs.
pub const LOAD_FOLDER: &str = "/load";
/// The folder of the secrets that a load needs.
pub const SECRETS_FOLDER: &str = "/secrets";
/// The file there with the values that its requests refer to.
const SECRETS_FILE: &str = "load.json";
/// The longest time that a program may take to end by itself.
const GENTLE_S: u64 = 5;
/// The user of the image.
const USER: u64 = 65532;
/// The most bytes that fit into a ConfigMap, less than its limit of 1 MiB with all else in it.
pub const MOST_FILES: usize = 1_000_000;

/// The properties that all objects of a run have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The identity of the run, a DNS label.
    pub id: String,
    /// The namespace of the objects that we make.
    pub namespace: String,
    /// The image with our programs.
    pub image: String,
    /// The name and uid of the object that owns the others: if it is deleted, so are they.
    pub owner: Option<(String, String)>,
    /// The secrets of the run. Without values, as in a plan, their references stay in the objects.
    pub secrets: Secrets,
}

impl Run {
    /// Returns the metadata of an object.
    pub(crate) fn metadata(&self, name: &str, more: &[(&str, &str)]) -> Value {
        let mut metadata = json!({
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels(more),
        });
        if let Some((name, uid)) = &self.owner {
            metadata["ownerReferences"] = json!([{
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": name,
                "uid": uid,
            }]);
        }
        metadata
    }

    pub(crate) fn labels(&self, more: &[(&str, &str)]) -> Value {
        let mut labels = json!({"app.kubernetes.io/managed-by": MANAGER, RUN: self.id});
        for (name, value) in more {
            labels[*name] = json!(value);
        }
        labels
    }
}

/// Returns the namespace of a run. It is labelled with the run that made it: only that one's end
/// deletes it.
pub fn namespace(run: &Run) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": run.namespace,
            "labels": run.labels(&[("pod-security.kubernetes.io/enforce", "restricted")]),
        },
    })
}

/// Returns the object that owns all others of the run in its namespace, with its resolved spec.
pub fn owner(run: &Run, spec: &str) -> Value {
    let run = Run { owner: None, ..run.clone() };
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": run.metadata(&format!("run-{}", run.id), &[]),
        "data": {SPEC: spec},
    })
}

/// Returns the Secret with the values that the pods of a run refer to, and with the secret files of its loads, by
/// their names there; none if there is neither. `of_load` are the values that the generators read.
pub fn secrets<'a>(
    run: &Run,
    of_load: &Secrets,
    files: impl Iterator<Item = (String, &'a str)>,
) -> Option<Value> {
    let reference = |name: &str| format!("${{{name}}}");
    let mut data: Map<String, Value> = run
        .secrets
        .names()
        .map(|name| (name.to_owned(), json!(run.secrets.reveal(&reference(name)))))
        .collect();
    if !data.is_empty() {
        let references: Map<String, Value> =
            of_load.names().map(|name| (name.to_owned(), json!(reference(name)))).collect();
        let file = run.secrets.reveal_in_json(&Value::Object(references).to_string());
        data.insert(SECRETS_FILE.to_owned(), json!(file));
    }
    data.extend(files.map(|(name, text)| (name, json!(text))));
    if data.is_empty() {
        return None;
    }
    Some(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": run.metadata(&secrets_of(run), &[]),
        "stringData": data,
    }))
}

fn secrets_of(run: &Run) -> String {
    format!("secrets-{}", run.id)
}

/// Returns a text with `$(NAME)` in place of each reference to a secret, which Kubernetes replaces in
/// commands and in later variables.
fn with_variables(text: &str) -> String {
    let mut text = text.to_owned();
    let names: Vec<String> = secrets::references(&text).map(str::to_owned).collect();
    for name in names {
        text = text.replace(&format!("${{{name}}}"), &format!("$({})", variable(&name)));
    }
    text
}

/// Returns the variable of a pod that holds a secret: `SECRET_env_TOKEN`.
fn variable(name: &str) -> String {
    format!("SECRET_{}", name.replace('.', "_"))
}

/// Returns the environment of a container: first the secrets that it or the command refers to.
pub(crate) fn environment<'a>(
    run: &Run,
    variables: impl Iterator<Item = (&'a String, String)>,
    command: &[String],
) -> Vec<Value> {
    let variables: Vec<(&String, String)> = variables.collect();
    let texts = variables.iter().map(|(_, value)| value).chain(command);
    let used: std::collections::BTreeSet<&str> =
        texts.flat_map(|text| secrets::references(text)).collect();
    let secrets = used.into_iter().map(|name| {
        json!({
            "name": variable(name),
            "valueFrom": {"secretKeyRef": {"name": secrets_of(run), "key": name}},
        })
    });
    let own =
        variables.iter().map(|(name, value)| json!({"name": name, "value": with_variables(value)}));
    secrets.chain(own).collect()
}

/// Returns the objects of a service: its Service, its StatefulSet, and its files if it has any.
pub fn service(run: &Run, service: &Service, nodes: &[String]) -> Vec<Value> {
    let name = &service.name;
    let of_service = [(SERVICE, name.as_str())];
    let port = port(service);
    let mut objects = Vec::new();
    if !service.files.is_empty() {
        let (kind, field) = match has_secret_files(service) {
            true => ("Secret", "stringData"),
            false => ("ConfigMap", "data"),
        };
        objects.push(json!({
            "apiVersion": "v1",
            "kind": kind,
            "metadata": run.metadata(&files_of(name), &of_service),
            field: service.files.0.iter().zip(0..).map(|((_, content), index)| {
                (key(index), json!(run.secrets.reveal(&replaced(content, port))))
            }).collect::<Map<_, _>>(),
        }));
    }
    let selector = json!({RUN: run.id, SERVICE: name});
    objects.push(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": run.metadata(name, &of_service),
        "spec": {
            // Each pod has an address of its own, also before it is ready: the services of an
            // application find each other while they start.
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": selector,
            "ports": [{"name": CONTAINER, "port": port}],
        },
    }));
    objects.push(json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": run.metadata(name, &of_service),
        "spec": {
            "replicas": service.replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": run.labels(&of_service)},
                "spec": pod(run, service, nodes, &selector),
            },
        },
    }));
    objects
}

/// Returns true if a file of a service refers to a secret.
fn has_secret_files(service: &Service) -> bool {
    service.files.0.values().any(|content| secrets::references(content).next().is_some())
}

/// Returns the specification of a service's pods.
fn pod(run: &Run, service: &Service, nodes: &[String], selector: &Value) -> Value {
    let port = port(service);
    let mut command = of_image(service.command.iter().map(|word| replaced(word, port)));
    if service.takes_listen() {
        command.extend(["--listen".to_owned(), listen(port)]);
    }
    let variables = service.environment.iter();
    let variables = variables.map(|(name, value)| (name, replaced(value, port)));
    let environment = environment(run, variables, &command);
    let command: Vec<String> = command.iter().map(|word| with_variables(word)).collect();
    let mut mounts = vec![
        json!({"name": "tmp", "mountPath": "/tmp"}),
        json!({"name": "folder", "mountPath": FOLDER}),
    ];
    let mut volumes =
        vec![json!({"name": "tmp", "emptyDir": {}}), json!({"name": "folder", "emptyDir": {}})];
    if !service.files.is_empty() {
        let name = files_of(&service.name);
        volumes.push(match has_secret_files(service) {
            true => json!({"name": "files", "secret": {"secretName": name}}),
            false => json!({"name": "files", "configMap": {"name": name}}),
        });
        mounts.extend(service.files.0.keys().zip(0..).map(|(path, index)| {
            json!({
                "name": "files",
                "mountPath": format!("{FOLDER}/{path}"),
                "subPath": key(index),
                "readOnly": true,
            })
        }));
    }
    json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": GENTLE_S,
        "securityContext": pod_security(),
        "affinity": affinity(nodes),
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector},
        }],
        "containers": [{
            "name": CONTAINER,
            "image": run.image,
            "command": command,
            "env": environment,
            "ports": [{"name": CONTAINER, "containerPort": port}],
            "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1},
            "resources": resources(service.limits),
            "securityContext": security(),
            "volumeMounts": mounts,
        }],
        "volumes": volumes,
    })
}

/// Returns the resources of a container: what is limited is also requested, so that a container with
/// both limits has the quality of service *Guaranteed*.
fn resources(limits: Limits) -> Value {
    let mut named = Map::new();
    if let Some(cpu) = limits.cpu {
        named.insert("cpu".to_owned(), json!(format!("{}m", (cpu * 1000.0).round())));
    }
    if let Some(memory) = limits.memory {
        named.insert("memory".to_owned(), json!(memory.to_string()));
    }
    match named.is_empty() {
        true => json!({}),
        false => json!({"limits": named.clone(), "requests": named}),
    }
}

/// The profile *restricted* of the Pod Security Standards.
fn pod_security() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

fn security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    })
}

/// Returns the affinity to these nodes; none if the role has no nodes of its own.
pub(crate) fn affinity(nodes: &[String]) -> Value {
    if nodes.is_empty() {
        return json!({});
    }
    // A field selects one node; several terms are alternatives.
    let term = |node: &String| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]});
    let terms: Vec<Value> = nodes.iter().map(term).collect();
    json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }})
}

/// Returns a pod that runs a program of our image once.
pub fn program(
    run: &Run,
    name: &str,
    command: &[String],
    environment: &BTreeMap<String, String>,
) -> Value {
    let variables = environment.iter().map(|(name, value)| (name, value.clone()));
    let environment = self::environment(run, variables, command);
    let command = of_image(command.iter().map(|word| with_variables(word)));
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": run.metadata(name, &[]),
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": pod_security(),
            "containers": [{
                "name": CONTAINER,
                "image": run.image,
                "command": command,
                "env": environment,
                "securityContext": security(),
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
            }],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    })
}

/// A load by several generators, one on each node.
#[derive(Clone, Debug, PartialEq)]
pub struct Generators {
    /// The name of the Job, made from the trial's, so that a repeated call makes no second one.
    pub name: String,
    pub nodes: Vec<String>,
    /// The arguments without those that divide the load.
    pub arguments: Arguments,
    /// The files that the load needs, by the name that the arguments use.
    pub files: Vec<(String, String)>,
    /// The names of those that are in the Secret of the run.
    pub secret_files: Vec<String>,
    /// The longest time that the generators may run.
    pub longest: Nanos,
    pub limits: Limits,
}

/// Returns the objects of a load: its Job, and its files if it has any.
pub fn generators(run: &Run, generators: &Generators) -> Vec<Value> {
    let Generators { name, nodes, arguments, files, secret_files, longest, limits } = generators;
    let of_load = [(SERVICE, name.as_str())];
    let mut objects = Vec::new();
    let mut mounts = vec![json!({"name": "tmp", "mountPath": "/tmp"})];
    let mut volumes = vec![json!({"name": "tmp", "emptyDir": {}})];
    if !files.is_empty() {
        let data = files.iter().map(|(name, content)| (name.clone(), json!(content)));
        objects.push(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": run.metadata(name, &of_load),
            "data": data.collect::<Map<_, _>>(),
        }));
        mounts.push(json!({"name": "files", "mountPath": LOAD_FOLDER, "readOnly": true}));
        volumes.push(json!({"name": "files", "configMap": {"name": name}}));
    }
    let number = nodes.len();
    let mut arguments = arguments.clone();
    let mut keys = secret_files.clone();
    if arguments.has(SECRETS_OPTION) {
        // Standard input has the line that starts the load.
        arguments.set(SECRETS_OPTION, Given::Text(format!("{SECRETS_FOLDER}/{SECRETS_FILE}")));
        keys.push(SECRETS_FILE.to_owned());
    }
    if !keys.is_empty() {
        let items: Vec<Value> = keys.iter().map(|key| json!({"key": key, "path": key})).collect();
        mounts.push(json!({"name": "secrets", "mountPath": SECRETS_FOLDER, "readOnly": true}));
        volumes.push(json!({
            "name": "secrets",
            "secret": {"secretName": secrets_of(run), "items": items},
        }));
    }
    if 1 < number {
        // One of several generators does not know the verdict of the whole load.
        arguments.remove(UNTIL_MISSED);
    }
    // Kubernetes replaces the variable, and counts from 0.
    arguments.set(PART, Given::Text(format!("#$(JOB_COMPLETION_INDEX)/{number}")));
    arguments.set(START, "stdin".into());
    arguments.set(FRAMED, Given::Flag);
    let mut command = vec!["/benchwright".to_owned()];
    command.extend(arguments.words());
    let seconds = longest.as_secs_f64().ceil() as u64;
    objects.push(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": run.metadata(name, &of_load),
        "spec": {
            "completionMode": "Indexed",
            "completions": number,
            "parallelism": number,
            "backoffLimit": 0,
            // The generators end by themselves also if the runner was killed.
            "activeDeadlineSeconds": seconds,
            "ttlSecondsAfterFinished": 600,
            "template": {
                "metadata": {"labels": run.labels(&[of_load[0], (LOAD, "true")])},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": false,
                    "enableServiceLinks": false,
                    "terminationGracePeriodSeconds": 1,
                    "securityContext": pod_security(),
                    "affinity": with_one_on_each(affinity(nodes), run, name),
                    "containers": [{
                        "name": CONTAINER,
                        "image": run.image,
                        "command": command,
                        "stdin": true,
                        "stdinOnce": true,
                        "resources": resources(*limits),
                        "securityContext": security(),
                        "volumeMounts": mounts,
                    }],
                    "volumes": volumes,
                },
            },
        },
    }));
    objects
}

/// Returns the Service through which a channel reaches the receiver of events, which is in the
/// generator of each load. It stays while generators come and go, so that its address is known before
/// the first of them.
pub fn receiver(run: &Run, port: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": run.metadata(RECEIVER, &[]),
        "spec": {
            // A generator has no probe, and its first events may come at once.
            "publishNotReadyAddresses": true,
            "selector": {RUN: run.id, LOAD: "true"},
            "ports": [{"name": CONTAINER, "port": port}],
        },
    })
}

/// Adds that no two pods of the load share a node.
fn with_one_on_each(mut affinity: Value, run: &Run, name: &str) -> Value {
    affinity["podAntiAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution": [{
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {RUN: run.id, SERVICE: name}},
    }]});
    affinity
}

/// Returns the port at which a service listens.
pub fn port(service: &Service) -> u16 {
    match service.foreign.as_ref().map(|foreign| foreign.port) {
        Some(Port::At(port)) => port,
        Some(Port::Auto) | None => PORT,
    }
}

/// Returns the name of a service's pod; `number` counts from 1, as the lab's replicas do.
pub fn pod_of(service: &str, number: u32) -> String {
    format!("{service}-{}", number - 1)
}

/// Returns the name under which other pods find a pod of a service.
pub fn host_of(run: &Run, service: &str, number: u32) -> String {
    format!("{}.{service}.{}.svc", pod_of(service, number), run.namespace)
}

/// Returns a command with the path that our program has in the image.
fn of_image(command: impl Iterator<Item = String>) -> Vec<String> {
    let mut command: Vec<String> = command.collect();
    if command[0] == "benchwright" {
        "/benchwright".clone_into(&mut command[0]);
    }
    command
}

/// Replaces what only this backend knows.
fn replaced(text: &str, port: u16) -> String {
    text.replace(spec::PORT, &port.to_string())
        .replace(spec::LISTEN, &listen(port))
        .replace(spec::FOLDER, FOLDER)
}

/// Returns the address at which a program of a pod shall listen.
fn listen(port: u16) -> String {
    format!("0.0.0.0:{port}")
}

fn files_of(service: &str) -> String {
    format!("{service}-files")
}

/// Returns the key of a file in its ConfigMap: a path may have characters that a key may not.
fn key(index: usize) -> String {
    format!("file-{index}")
}

/// Returns the reason why a name cannot be that of an object: it is not a DNS label (RFC 1123).
pub fn wrong_name(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.chars().all(is_plain)
        && name.len() <= 50;
    (!is_label).then(|| {
        format!(
            "on a cluster `{name}` is not a valid name; write up to 50 of a-z, 0-9 and -, for \
             example geo-1"
        )
    })
}
