//! The objects that runs leave on a cluster: found by their label, never by their names.

use std::collections::{BTreeMap, BTreeSet};

use lab::backend::Stop;
use lab::host;
use serde_json::Value;

use super::{Kubernetes, POLL_EVERY, RELEASES, changes, is_dead};
use crate::api::{self, Api, Error};
use crate::changes::Patch;
use crate::helm::{Helm, Interruption};
use crate::lease;
use crate::objects::RUN;

/// The kinds of objects with the label of a run, in the order of their removal: the owner comes after
/// what it lists, the Lease after everything that it protects.
const OURS: [&str; 7] = ["Job", "StatefulSet", "Service", "Pod", "ConfigMap", "Lease", "Namespace"];

/// The longest time until deleted namespaces are gone.
const GONE_WITHIN: measure::Nanos = measure::Nanos::from_secs(60);

impl Kubernetes {
    /// Removes everything that this run made, except for its lease, and returns what could not be
    /// removed in words.
    pub(super) fn remove_all(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        let mut note = |ended: Result<(), Stop>| {
            if let Err(Stop::NoAnswer(why)) = ended {
                left.push(format!("{why:#}"));
            }
        };
        if self.connected.is_none() {
            return left;
        }
        note(self.remove_services());
        let connected = self.connected();
        let (api, run) = (&connected.api, &connected.run);
        let delete = |kind: &str, namespace: &str, name: &str| {
            api.delete(&api::one(kind, namespace, name)).map(drop).map_err(Error::into_stop)
        };
        // The owner lists the releases of helm: if one is left, `clean --cluster` finds it there.
        let is_complete = self.started.values().all(|service| service.chart.is_none());
        if let Some((owner, _)) = run.owner.as_ref().filter(|_| is_complete) {
            note(delete("ConfigMap", &run.namespace, owner));
        }
        let mut namespaces = connected.made_namespaces.clone();
        // The namespace of all runs belongs to the last of them.
        if !is_complete || others(api, &run.id, &run.namespace).unwrap_or(true) {
            namespaces.remove(&run.namespace);
        }
        for namespace in &namespaces {
            note(delete("Namespace", "", namespace));
        }
        note(until_gone(api, &namespaces));
        left
    }

    /// Removes what killed runs left, and returns it in words. Our own namespace, if such a run made
    /// it, is ours from now on.
    pub(super) fn remove_remains(&mut self) -> Vec<String> {
        let connected = self.connected.as_mut().expect("it is connected");
        let run = &connected.run;
        let removed = remove(&connected.api, &connected.helm, Some((&run.id, &run.namespace)));
        let own = connected.api.get(&api::one("Namespace", "", &run.namespace));
        if let Ok(Some(own)) = own
            && own["metadata"]["labels"].get(RUN).is_some()
        {
            connected.made_namespaces.insert(run.namespace.clone());
        }
        removed.unwrap_or_else(|error| vec![error.to_string()])
    }
}

/// Removes everything on a cluster that belongs to runs which are not alive, and returns it in
/// words; `own` is a run that is alive, with its namespace.
pub(crate) fn remove(
    api: &Api,
    helm: &Helm,
    own: Option<(&str, &str)>,
) -> Result<Vec<String>, Error> {
    let (own_run, own_namespace) = own.unzip();
    let mut alive = alive(api, own_namespace)?;
    alive.extend(own_run.map(str::to_owned));
    let mut removed: BTreeMap<String, usize> = BTreeMap::new();
    let mut namespaces = BTreeSet::new();
    for kind in OURS {
        for object in api.list_ours(kind, own_namespace)? {
            let text =
                |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let of = object["metadata"]["labels"][RUN].as_str().unwrap_or_default();
            let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
            let is_own = kind == "Namespace" && Some(name) == own_namespace;
            if alive.contains(of) || is_own {
                continue;
            }
            changes::undo(api, &Patch::all(&object))?;
            for release in releases(&object) {
                let (namespace, release) = release;
                helm.uninstall(release, namespace, Interruption::Ends)?;
                *removed.entry(of.to_owned()).or_default() += 1;
            }
            if kind == "Namespace" {
                // Another run may be in a namespace that this one made.
                if others(api, of, name)? {
                    continue;
                }
                namespaces.insert(name.to_owned());
            }
            if api.delete(&api::one(kind, namespace, name))? {
                *removed.entry(of.to_owned()).or_default() += 1;
            }
        }
    }
    let line = |(run, number): (&String, &usize)| {
        format!("removed {number} objects of run {run}, which was killed")
    };
    let mut lines: Vec<String> = removed.iter().map(line).collect();
    if let Err(Stop::NoAnswer(why)) = until_gone(api, &namespaces) {
        lines.push(format!("{why:#}"));
    }
    Ok(lines)
}

/// Returns the releases that an owner object lists, as namespace and name.
fn releases(owner: &Value) -> impl Iterator<Item = (&str, &str)> {
    let list = owner["data"][RELEASES].as_str().unwrap_or_default();
    list.lines().filter_map(|line| line.split_once('/'))
}

/// Returns the runs that are alive.
fn alive(api: &Api, namespace: Option<&str>) -> Result<BTreeSet<String>, Error> {
    let leases = api.list_ours("Lease", namespace)?;
    Ok(runs_alive(&leases).map(str::to_owned).collect())
}

/// Returns true if other runs than this one are alive in a namespace.
fn others(api: &Api, run: &str, namespace: &str) -> Result<bool, Error> {
    let leases = api.list(&api::all("Lease", Some(namespace)), RUN)?;
    Ok(runs_alive(&leases).any(|other| other != run))
}

fn runs_alive(leases: &[Value]) -> impl Iterator<Item = &str> {
    let alive = leases.iter().filter(|one| lease::is_alive(one, host::unix_seconds(), &is_dead));
    alive.map(lease::run_of)
}

/// Waits until namespaces that were deleted are gone, with all that was in them.
pub(super) fn until_gone(api: &Api, namespaces: &BTreeSet<String>) -> Result<(), Stop> {
    let deadline = host::now() + GONE_WITHIN;
    for namespace in namespaces {
        let path = api::one("Namespace", "", namespace);
        while api.get(&path).map_err(Error::into_stop)?.is_some() {
            if deadline < host::now() {
                let within = GONE_WITHIN.in_words();
                let text = format!("the namespace {namespace} is not gone after {within}");
                return Err(Stop::no_answer(text));
            }
            host::rest(POLL_EVERY);
        }
    }
    Ok(())
}
