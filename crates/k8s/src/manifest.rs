//! Files of objects, as `kubectl create -f` takes them, made objects of a run. Nothing here talks to a cluster.
//!
//! Of a StatefulSet and its Services what is changed is where the pods run, how many there are, and the names of their
//! volumes, which have to be new ones at each start. Of a Job only the pod is made.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use lab::backend::Service;
use results::regular;
use serde_json::{Value, json};

use crate::objects::{self, RUN, Run, SERVICE};

#[cfg(test)]
mod tests;

/// The most bytes of a file.
const MOST_BYTES: u64 = 1 << 20;

/// Reads the objects of a file, and checks that they are those of a component with this name.
pub(crate) fn read(path: &Path, name: &str) -> anyhow::Result<Vec<Value>> {
    let of_file = || path.display().to_string();
    let objects = objects_in(&text(path)?).with_context(of_file)?;
    check(&objects, name).with_context(of_file)?;
    Ok(objects)
}

fn text(path: &Path) -> anyhow::Result<String> {
    regular::read_text_again(path, MOST_BYTES).with_context(|| path.display().to_string())
}

fn objects_in(text: &str) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for text in format!("\n{text}").split("\n---") {
        let object: Value = serde_saphyr::from_str(text).context("it is not YAML of objects")?;
        if !object.is_null() {
            ensure!(is_whole(&object), "it has an object without `metadata`, `spec` or containers");
            objects.push(object);
        }
    }
    Ok(objects)
}

/// Returns true for an object with all that is changed in it.
fn is_whole(object: &Value) -> bool {
    let spec = &object["spec"];
    let pod = &spec["template"]["spec"];
    let are_mappings =
        |list: &Value| list.as_array().is_none_or(|list| list.iter().all(Value::is_object));
    let has_containers =
        pod.is_object() && pod["containers"].as_array().is_some_and(|list| !list.is_empty());
    object["metadata"].is_object()
        && spec.is_object()
        && (has_containers || object["kind"] == "Service")
        && [&pod["containers"], &pod["initContainers"], &spec["volumeClaimTemplates"]]
            .into_iter()
            .all(are_mappings)
}

fn check(objects: &[Value], name: &str) -> anyhow::Result<()> {
    let is_set = |object: &&Value| object["kind"] == "StatefulSet";
    let mut sets = objects.iter().filter(is_set);
    let named = (sets.next().map(|set| &set["metadata"]["name"]), sets.next());
    ensure!(
        named == (Some(&json!(name)), None),
        "it needs one StatefulSet `{name}`, as the component is called"
    );
    if let Some(other) =
        objects.iter().find(|object| !is_set(object) && object["kind"] != "Service")
    {
        let kind = other["kind"].as_str().unwrap_or("object without a kind");
        bail!("it has a {kind}; a run makes only a StatefulSet and Services, so make it before");
    }
    Ok(())
}

/// Reads the Job of a file.
pub(crate) fn read_job(path: &Path) -> anyhow::Result<Value> {
    let mut objects = objects_in(&text(path)?).with_context(|| path.display().to_string())?;
    let is_one = objects.len() == 1 && objects[0]["kind"] == "Job";
    ensure!(is_one, "{}: it has {} objects and needs one, a Job", path.display(), objects.len());
    Ok(objects.remove(0))
}

/// Returns the pod of the Job in a file, which runs once.
pub(crate) fn job(
    run: &Run,
    name: &str,
    path: &Path,
    environment: &BTreeMap<String, String>,
) -> anyhow::Result<Value> {
    let mut spec = read_job(path)?["spec"]["template"]["spec"].take();
    spec["restartPolicy"] = json!("Never");
    take_image(&mut spec, run);
    let given = environment.iter().map(|(name, value)| (name, value.clone()));
    let given = objects::environment(run, given, &[]);
    let container = &mut spec["containers"][0];
    let is_kept = |variable: &&Value| {
        variable["name"].as_str().is_none_or(|name| !environment.contains_key(name))
    };
    let of_job = container["env"].as_array().into_iter().flatten().filter(is_kept).cloned();
    container["env"] = given.into_iter().chain(of_job).collect();
    let metadata = run.metadata(name, &[]);
    Ok(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
}

/// Lets all containers run the image of the run.
fn take_image(spec: &mut Value, run: &Run) {
    for list in ["initContainers", "containers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            container["image"] = json!(run.image);
        }
    }
}

/// Returns the objects of a service from a file. `start` is another number at each start.
pub(crate) fn objects(
    run: &Run,
    service: &Service,
    path: &Path,
    nodes: &[String],
    start: u32,
) -> anyhow::Result<Vec<Value>> {
    let read = read(path, &service.name)?;
    Ok(read.into_iter().map(|object| made(run, service, nodes, start, object)).collect())
}

fn made(run: &Run, service: &Service, nodes: &[String], start: u32, mut object: Value) -> Value {
    let of_service = [(SERVICE, service.name.as_str())];
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    add(&mut object["metadata"], &run.metadata(&name, &of_service));
    let selector = json!({RUN: run.id, SERVICE: service.name});
    let spec = &mut object["spec"];
    if spec.get("template").is_none() {
        // A Service.
        add(&mut spec["selector"], &selector);
        return object;
    }
    spec["replicas"] = json!(service.replicas);
    // The data of one start is not that of the next one.
    spec["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    add(&mut spec["selector"]["matchLabels"], &selector);
    let template = &mut spec["template"];
    add(&mut template["metadata"]["labels"], &run.labels(&of_service));
    add(&mut template["spec"]["affinity"], &objects::affinity(nodes));
    take_image(&mut template["spec"], run);
    rename_claims(spec, start);
    object
}

/// Adds fields, in place of those of the same name.
fn add(to: &mut Value, more: &Value) {
    if !to.is_object() {
        *to = json!({});
    }
    for (name, value) in more.as_object().into_iter().flatten() {
        match to.get_mut(name) {
            Some(inner) if inner.is_object() && value.is_object() => add(inner, value),
            _ => to[name.as_str()] = value.clone(),
        }
    }
}

/// Gives the volumes of this start names of their own: those of the start before may still be deleted.
fn rename_claims(spec: &mut Value, start: u32) {
    let mut renamed = Vec::new();
    for claim in spec["volumeClaimTemplates"].as_array_mut().into_iter().flatten() {
        let name = claim["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        add(&mut claim["metadata"], &json!({"name": format!("{name}-{start}")}));
        renamed.push(name);
    }
    for list in ["initContainers", "containers"] {
        for container in spec["template"]["spec"][list].as_array_mut().into_iter().flatten() {
            for mount in container["volumeMounts"].as_array_mut().into_iter().flatten() {
                let name = mount["name"].as_str().unwrap_or_default().to_owned();
                if mount.is_object() && renamed.contains(&name) {
                    mount["name"] = json!(format!("{name}-{start}"));
                }
            }
        }
    }
}
