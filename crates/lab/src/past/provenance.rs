//! The identity of a run: its manifest, and whether a later run measures the same.

use std::collections::BTreeMap;
use std::path::Path;

use results::manifest::{Manifest, State, VERSION};
use results::{Directory, Entry};

use crate::backend::{Backend, Stop};
use crate::host::whole_seconds;
use crate::plan::Plan;
use crate::spec::{Budget, Question, Resolved, Spec};
use crate::{Error, Host};

/// Returns the manifest of a run that begins now.
pub(crate) fn manifest(
    (resolved, plan): (&Resolved, &Plan),
    host: &Host,
    backend: &mut dyn Backend,
) -> Result<Manifest, Error> {
    let binaries = digests(resolved, plan, backend).map_err(Error::from)?;
    let tool = format!("benchwright {}", host.version);
    let key = key(resolved, &binaries, &tool);
    let folder = std::path::absolute(&resolved.folder).unwrap_or_else(|_| resolved.folder.clone());
    Ok(Manifest {
        schema: "benchwright.results".to_owned(),
        version: VERSION,
        tool,
        experiment: resolved.spec.name.to_string(),
        about: resolved.spec.about.clone(),
        slo: resolved.slos(),
        profile: resolved.profile.clone(),
        set: resolved.set.clone(),
        backend: resolved.spec.where_.backend.to_string(),
        seed: resolved.seed(),
        key,
        spec_folder: folder.display().to_string(),
        started_unix_s: backend.date().map(whole_seconds),
        state: State::Open,
        resumed_after: Vec::new(),
        binaries,
    })
}

/// Returns the key of what a run measures: of its spec, its seed, the programs and the tool.
fn key(resolved: &Resolved, binaries: &BTreeMap<String, String>, tool: &str) -> String {
    // The budget decides how long it looks for the answer, and not what it measures.
    let spec = Spec { budget: Budget::default(), ..resolved.spec.clone() };
    let question = serde_json::json!([spec, resolved.seed(), binaries, tool, VERSION]);
    results::digest::sha256(question.to_string().as_bytes())
}

/// The version that writes the same spec and draws the same conclusions as this one: its own.
pub(super) const OWN: &str = concat!("benchwright ", env!("CARGO_PKG_VERSION"));

pub(super) fn is_own(manifest: &Manifest) -> bool {
    manifest.version == VERSION && manifest.tool == OWN
}

/// Returns why this spec concludes nothing from the trials, if another one has measured and judged them.
pub(super) fn departs(
    resolved: &Resolved,
    manifest: &Manifest,
    journal: &[Entry],
) -> Option<String> {
    let is_of_trials = match is_own(manifest) {
        true => {
            let key = key(resolved, &manifest.binaries, &manifest.tool);
            manifest.key == key && journal.iter().all(|entry| entry.key == key)
        }
        // Other versions may have written the same spec otherwise, and the first kept no objectives.
        false => manifest.version == 1 || manifest.slo == resolved.slos(),
    };
    (!is_of_trials).then(|| {
        "spec.yaml is not the one by which the trials were measured and judged: nothing follows from it".to_owned()
    })
}

/// Returns the digests of all that measures and is measured in any question. Two levels may name
/// different files in one field.
fn digests(
    resolved: &Resolved,
    plan: &Plan,
    backend: &mut dyn Backend,
) -> Result<BTreeMap<String, String>, Stop> {
    let mut all = backend.digests(resolved)?;
    let mut seen = vec![&resolved.spec.workload];
    for Question { resolved, .. } in &plan.questions {
        if seen.contains(&&resolved.spec.workload) {
            continue;
        }
        seen.push(&resolved.spec.workload);
        for (name, digest) in backend.digests(resolved)? {
            match all.get(&name) {
                Some(known) if *known != digest => {
                    all.insert(format!("{name} ({})", seen.len()), digest);
                }
                Some(_) => {}
                None => drop(all.insert(name, digest)),
            }
        }
    }
    Ok(all)
}

/// Returns the last trial before a run went on although it had ended without an answer; 0 if it never did.
pub(crate) fn resumed_after(manifest: &Manifest) -> u32 {
    manifest.resumed_after.last().copied().unwrap_or(0)
}

/// Reads the spec that an earlier run resolved, with these settings applied.
pub(crate) fn resolved_of(
    directory: &Directory,
    manifest: &Manifest,
    set: &[String],
) -> Result<Resolved, Error> {
    let question = |error: anyhow::Error| Error::Question(error);
    let bytes = directory.spec().map_err(|error| question(error.into()))?;
    let folder = Path::new(&manifest.spec_folder);
    let name = results::regular::shown(&directory.path().join("spec.yaml"));
    let read = crate::spec::from_bytes(&name, &bytes, folder, None, set);
    let resolved = read.map_err(|error| question(error.into()))?;
    let set = [&manifest.set[..], set].concat();
    Ok(Resolved { profile: manifest.profile.clone(), set, ..resolved })
}

/// Fails unless both runs measure the same: trials of different programs or tools are never mixed.
pub(crate) fn same_question(earlier: &Manifest, now: &Manifest) -> Result<(), Error> {
    if earlier.key == now.key {
        return Ok(());
    }
    let names = earlier.binaries.keys().chain(now.binaries.keys());
    let mut changed: Vec<&str> = names
        .filter(|&name| earlier.binaries.get(name) != now.binaries.get(name))
        .map(String::as_str)
        .collect();
    changed.sort_unstable();
    changed.dedup();
    if earlier.tool != now.tool {
        changed.push("the tool's version");
    }
    if earlier.version != now.version {
        changed.push("the format of results");
    }
    if changed.is_empty() {
        changed.push("spec.yaml");
    }
    Err(Error::Question(anyhow::anyhow!(
        "this run cannot be continued: changed since it began: {}\n  \
         its trials and new ones would not measure the same; start a new run",
        changed.join(", ")
    )))
}
