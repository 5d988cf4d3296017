//! The differences between the environments of two runs: machines, programs, places and specs.

use std::collections::{BTreeMap, BTreeSet};

use results::comparison::Difference;
use serde_json::Value;

use super::Past;

/// The most differences that are listed.
const MOST: usize = 100;
/// A digest is told apart by so many characters.
const OF_A_DIGEST: usize = 12;
/// Facts of a machine that differ from one minute to the next, and say nothing.
const PASSING: [&str; 3] = ["load_average", "clock_ahead_ns", "clock_error_ns"];

/// The beginnings of the names of facts of a machine, and of values that the checks recorded.
const MACHINE: &str = "machine: ";
const CHECK: &str = "check: ";

/// Returns the differences in an order in which a reader looks for them: machines, places, programs,
/// and last the specs, where the difference that is asked about may be.
pub(super) fn differences(a: &Past, b: &Past) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for facts in [machines, places, programs, checks, specs] {
        let (a, b) = (facts(a), facts(b));
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let differ = |name: &&String| a.get(*name) != b.get(*name);
        let is_new = |name: &&String| !is_listed(&found, name);
        for name in names.into_iter().filter(differ).filter(is_new).collect::<Vec<_>>() {
            let value = |facts: &BTreeMap<String, String>| facts.get(name).cloned();
            found.push(Difference { what: name.clone(), a: value(&a), b: value(&b) });
        }
    }
    let further = found.len().saturating_sub(MOST);
    if 0 < further {
        found.truncate(MOST);
        let what = format!("and {further} further differences");
        found.push(Difference { what, a: None, b: None });
    }
    found
}

/// Returns true if a value that the checks recorded is among the facts of the machines, places and
/// programs already.
fn is_listed(found: &[Difference], name: &str) -> bool {
    name.strip_prefix(CHECK).is_some_and(|value| {
        found.iter().any(|other| other.what.trim_start_matches(MACHINE) == value)
    })
}

type Facts = BTreeMap<String, String>;

fn machines(past: &Past) -> Facts {
    let mut facts = Facts::new();
    let several = 1 < past.environment.nodes.len();
    for node in &past.environment.nodes {
        let name = node.name.clone().unwrap_or_default();
        let of = if several { format!(" of {name}") } else { String::new() };
        let value = serde_json::to_value(node).expect("a node is plain data");
        let mut properties = Facts::new();
        flatten(&value, "", &mut properties);
        properties.retain(|property, _| !PASSING.contains(&property.as_str()));
        let named = properties.into_iter().map(|(property, value)| {
            let property = property.replace('_', " ");
            (format!("{MACHINE}{property}{of}"), value)
        });
        facts.extend(named);
    }
    facts
}

fn places(past: &Past) -> Facts {
    let environment = &past.environment;
    let mut facts = Facts::new();
    facts.extend(environment.confinement.iter().map(|c| ("confinement".to_owned(), c.clone())));
    let roles = environment.roles.iter();
    facts.extend(roles.map(|(role, cpus)| (format!("CPUs of role {role}"), cpus.clone())));
    let placed = environment.placement.iter();
    facts.extend(placed.map(|(name, place)| (format!("placement of {name}"), place.clone())));
    facts
}

fn programs(past: &Past) -> Facts {
    let manifest = &past.manifest;
    let mut facts = Facts::new();
    facts.insert("tool".to_owned(), manifest.tool.clone());
    facts.insert("backend".to_owned(), manifest.backend.clone());
    let digests = manifest.binaries.iter().map(|(name, digest)| {
        (format!("binary {name}"), digest.chars().take(OF_A_DIGEST).collect())
    });
    facts.extend(digests);
    let versions = past.environment.versions.iter();
    facts.extend(versions.map(|(name, version)| (format!("version of {name}"), version.clone())));
    facts
}

fn checks(past: &Past) -> Facts {
    let Some(doctor) = &past.doctor else { return Facts::new() };
    let values = doctor.fingerprint.values.iter();
    values.map(|(name, value)| (format!("{CHECK}{name}"), value.clone())).collect()
}

fn specs(past: &Past) -> Facts {
    let spec = serde_json::to_value(&past.resolved.spec).expect("a spec is plain data");
    let mut facts = Facts::new();
    flatten(&spec, "", &mut facts);
    facts.into_iter().map(|(path, value)| (format!("spec: {path}"), value)).collect()
}

/// Adds every single value with its path: `sut.deploy.0.replicas`.
fn flatten(value: &Value, path: &str, facts: &mut Facts) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(value, &below(name), facts));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| flatten(value, &below(&index.to_string()), facts));
        }
        Value::String(text) => drop(facts.insert(path.to_owned(), text.clone())),
        Value::Bool(_) | Value::Number(_) => {
            drop(facts.insert(path.to_owned(), value.to_string()));
        }
    }
}
