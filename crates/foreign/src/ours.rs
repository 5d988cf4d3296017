//! The document of our own generator, `benchwright load --json`.

use std::io::{BufRead, Read};

use results::Load;
use results::failing;
use results::foreign::{Code, Distribution, Facts, Limit, Loop, OfLabel, Quantiles};
use results::load::{Group, Pacing};
use results::printed::Since;
use results::regular::MOST;

use crate::samples::of_tool;
use crate::{Format, Found};

pub(crate) const LOAD: Format = Format {
    name: "load",
    what: "benchwright load --json=FILE URL",
    asks: &[],
    is: |head| head.has_keys(&["schema", "version"]) && head.text().contains("\"benchwright.load/"),
    read: |input, _| read(input),
};

fn read(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut bytes = Vec::new();
    // It has the histograms of every second.
    input.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if MOST < bytes.len() as u64 {
        return Err(format!("it is longer than {} MiB", MOST >> 20));
    }
    let load = Load::read(&bytes)?;
    let part = &load.total;
    let printed = part.printed.as_ref();
    let times = match (&part.response_time, printed) {
        (Some(times), _) if times.histogram().is_none() => {
            return Err("its histogram of response times cannot be read".to_owned());
        }
        (Some(times), _) => Some(Distribution::Histogram(Box::new(times.clone()))),
        (None, Some(printed)) => Some(Distribution::Quantiles(Quantiles {
            count: Some(printed.count),
            mean_ns: printed.mean_ns,
            min_ns: None,
            max_ns: printed.max_ns,
            percentiles: printed.percentiles.clone(),
        })),
        (None, None) => None,
    };
    let counts = &part.counts;
    let facts = Facts {
        since: Some(printed.map_or(Since::Intended, |printed| printed.since)),
        pacing: Some(match load.pacing {
            Pacing::Open { .. } => Loop::Open,
            Pacing::Closed { .. } => Loop::Closed,
        }),
        measured_s: Some(load.measured_s).filter(|s| 0.0 < *s),
        // A request that waited for a connection until the end has a time, too.
        requests: Some(counts.intended),
        failed: Some(counts.failed),
        unanswered: Some(counts.intended.saturating_sub(counts.completed)),
        unfinished: Some(counts.unfinished).filter(|count| 0 < *count),
        checks: None,
        failures_met: load.slo.as_ref().and_then(|slo| failing::declared(&slo.objectives)),
        not_sent: None,
        asked_per_s: part.rates_per_s.asked,
        completed_per_s: Some(part.rates_per_s.completed),
        goodput_per_s: Some(part.rates_per_s.goodput),
        statuses: part.statuses.clone(),
        labels: load.labels.iter().map(|(name, group)| (name.clone(), of_label(group))).collect(),
        times,
        step_ns: None,
    };
    let reasons = load.validity.reasons.iter();
    let reasons = reasons.map(|text| Limit { code: Code::NotValid, text: text.clone() });
    let partial = load.partial.then(|| Limit {
        code: Code::Incomplete,
        text: "the load was interrupted: these are the figures until then".to_owned(),
    });
    let said = load.findings.iter().chain(&load.warnings).map(of_tool);
    Ok(Found {
        tool: load.foreign.clone().unwrap_or_else(|| load.version.clone()),
        facts,
        limits: reasons.chain(partial).chain(said).collect(),
        judges_itself: load.foreign.is_none(),
    })
}

/// Returns the figures of a label; all requests that have an end count.
fn of_label(group: &Group) -> OfLabel {
    OfLabel {
        requests: Some(group.outcomes.values().sum()),
        failed: Some(group.failed),
        times: group.response_time.clone().map(|times| Distribution::Histogram(Box::new(times))),
    }
}
