//! The check of guide 3 on a cluster: its four stages from one file. The channel and the generator with
//! its receiver are pods; at the last stage both are *Guaranteed* and have CPUs of their own, as the
//! checks of the run itself read back.

use std::collections::{BTreeMap, BTreeSet};

use results::journal::{Entry, Purpose};

use super::{Bed, check_of, entries, words};

/// One short trial at each stage, which finds a fault soon.
const SHORT: [&str; 5] = [
    "phases.measure.time=4s",
    "repeat={trials: 1, order: listed}",
    "compare=null",
    "reproducibility=null",
    "budget={trials: 4, invalid_attempts: 2, time: 5m, disturbance: 60s}",
];
/// As many trials as the guide made, of which a spread can be told.
const LONG: [&str; 1] = ["repeat={trials: 5, order: listed}"];

const STAGES: [&str; 4] = ["none", "pinned", "reset", "guaranteed"];

pub(super) fn run(bed: &Bed) -> Result<String, String> {
    let settings = if bed.is_long { &LONG[..] } else { &SHORT[..] };
    let out = bed.run_anyhow("channel", &words("experiments/channel.yaml", settings))?;
    let entries = entries(&out)?;
    let trials: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.purpose == Purpose::Trial && entry.observed.is_some())
        .collect();
    let mut seen = BTreeSet::new();
    let mut valid: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &trials {
        let cell = entry.cell.as_deref().unwrap_or_default();
        let stage = STAGES.into_iter().find(|stage| cell.ends_with(stage));
        let stage = stage.ok_or_else(|| format!("trial {}: no stage in `{cell}`", entry.trial))?;
        seen.insert(stage);
        *valid.entry(stage).or_default() += usize::from(entry.status.answers());
        let observed = entry.observed.as_ref().expect("they were chosen so");
        let delivery = observed.delivery.as_ref();
        let delivery = delivery.ok_or(format!("trial {}: nothing was delivered", entry.trial))?;
        if 0 < delivery.lost || 0 < delivery.duplicated {
            let (lost, duplicated) = (delivery.lost, delivery.duplicated);
            return Err(format!("trial {}: {lost} lost, {duplicated} doubled", entry.trial));
        }
        let is_guaranteed = stage == "guaranteed";
        let quality = check_of(&out, entry.trial, "cluster.qos")?;
        let is_quality = quality["state"] == "ok";
        if is_quality != is_guaranteed {
            return Err(format!("trial {} at {stage}: {quality}", entry.trial));
        }
        let cpus = check_of(&out, entry.trial, "cluster.exclusive_cpus")?;
        if is_guaranteed && cpus["state"] != "ok" {
            return Err(format!("trial {} at {stage}: {cpus}", entry.trial));
        }
    }
    match seen.len() == STAGES.len() {
        true => Ok(format!("{} trials at four stages, valid: {valid:?}", trials.len())),
        false => Err(format!("trials only at {seen:?}")),
    }
}
