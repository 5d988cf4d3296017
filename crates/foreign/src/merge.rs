//! Several files of one load that ran in parts at the same time, as one.

use std::collections::BTreeMap;

use results::Foreign;
use results::foreign::{Checks, Distribution, Facts, OfLabel};

use crate::Found;
use crate::judge::judged;
use crate::samples::count;

/// Merges parts of one load; the error states why they cannot be.
pub fn merged(parts: &[Foreign]) -> Result<Foreign, String> {
    let [first, others @ ..] = parts else {
        return Err("there is nothing to merge".to_owned());
    };
    let mut times = match &first.facts.times {
        Some(Distribution::Histogram(times)) => (**times).clone(),
        _ => return Err(only_percentiles(first)),
    };
    for part in others {
        let same = (part.facts.since, part.facts.pacing) == (first.facts.since, first.facts.pacing);
        if !same {
            return Err(format!(
                "{} and {} have times of different meaning, which do not belong together",
                first.file, part.file
            ));
        }
        let Some(Distribution::Histogram(own)) = &part.facts.times else {
            return Err(only_percentiles(part));
        };
        let unreadable = || format!("the histogram of {} cannot be read", part.file);
        times = times.merged(own).ok_or_else(unreadable)?;
    }
    let all = || parts.iter().map(|part| &part.facts);
    let mut statuses = BTreeMap::new();
    for (status, number) in all().flat_map(|facts| &facts.statuses) {
        count(&mut statuses, status, *number);
    }
    let seconds = all().map(|facts| facts.measured_s).collect::<Option<Vec<f64>>>();
    let facts = Facts {
        since: first.facts.since,
        pacing: first.facts.pacing,
        measured_s: seconds.map(|seconds| seconds.into_iter().fold(0.0, f64::max)),
        requests: sum(all().map(|facts| facts.requests)),
        failed: sum(all().map(|facts| facts.failed)),
        unanswered: sum(all().map(|facts| facts.unanswered)),
        unfinished: all().filter_map(|facts| facts.unfinished).reduce(u64::saturating_add),
        failures_met: all().try_fold(true, |all, facts| Some(all && facts.failures_met?)),
        checks: all().filter_map(|facts| facts.checks).reduce(|all, part| Checks {
            made: all.made.saturating_add(part.made),
            failed: all.failed.saturating_add(part.failed),
        }),
        // A part that lost nothing says nothing of it.
        not_sent: all().filter_map(|facts| facts.not_sent).reduce(u64::saturating_add),
        asked_per_s: all().map(|facts| facts.asked_per_s).sum(),
        completed_per_s: all().map(|facts| facts.completed_per_s).sum(),
        goodput_per_s: all().map(|facts| facts.goodput_per_s).sum(),
        statuses,
        labels: labels(parts),
        times: Some(Distribution::Histogram(Box::new(times))),
        step_ns: all().filter_map(|facts| facts.step_ns).max(),
    };
    let mut limits: Vec<_> = Vec::new();
    for limit in parts.iter().flat_map(|part| &part.limits) {
        if crate::judge::is_of_format(limit) && !limits.contains(limit) {
            limits.push(limit.clone());
        }
    }
    let names: Vec<&str> = parts.iter().map(|part| part.file.as_str()).collect();
    let has_same_tool = others.iter().all(|part| part.tool == first.tool);
    let found = Found {
        tool: if has_same_tool { first.tool.clone() } else { "several".to_owned() },
        facts,
        limits,
        judges_itself: parts.iter().all(|part| !crate::judge::is_unjudged(part)),
    };
    Ok(judged(&names.join(" + "), &first.format, found))
}

/// Merges the figures by label: what a part does not have of a label is absent in the whole.
fn labels(parts: &[Foreign]) -> BTreeMap<String, OfLabel> {
    let mut merged: BTreeMap<String, OfLabel> = BTreeMap::new();
    for (name, of) in parts.iter().flat_map(|part| &part.facts.labels) {
        match merged.get_mut(name) {
            Some(all) => *all = both(all, of),
            None => {
                merged.insert(name.clone(), of.clone());
            }
        }
    }
    merged
}

fn both(one: &OfLabel, other: &OfLabel) -> OfLabel {
    let times = match (&one.times, &other.times) {
        (Some(Distribution::Histogram(one)), Some(Distribution::Histogram(other))) => {
            one.merged(other).map(|times| Distribution::Histogram(Box::new(times)))
        }
        _ => None,
    };
    OfLabel {
        requests: sum([one.requests, other.requests].into_iter()),
        failed: sum([one.failed, other.failed].into_iter()),
        times,
    }
}

fn only_percentiles(part: &Foreign) -> String {
    format!(
        "{} has no distribution, and percentiles of parts cannot be merged; take a file with each request or a \
         histogram",
        part.file
    )
}

fn sum(counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    counts.into_iter().try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)))
}
