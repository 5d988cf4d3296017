//! An objective as it is written in a spec: `{metric: p99, max: 100ms}`.

use std::ops::Deref;

use results::slo::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::SpecError;
use super::{BackendKind, Resolved, Spec, Workload};

#[cfg(test)]
mod tests;

/// A bound on what users see.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenSlo", into = "WrittenSlo")]
pub struct Slo(pub results::Slo);

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenSlo {
    /// A percentile of the response time, or `failures`; with a label before it of these requests only.
    #[schemars(example = &"p99", example = &"p99.9", example = &"failures", example = &"login.p99")]
    metric: String,
    /// Its limit: a length of time, or a share of the requests.
    #[schemars(example = &"100ms", example = &"0.1%")]
    max: String,
}

impl Deref for Slo {
    type Target = results::Slo;

    fn deref(&self) -> &results::Slo {
        &self.0
    }
}

impl TryFrom<WrittenSlo> for Slo {
    type Error = String;

    fn try_from(written: WrittenSlo) -> Result<Slo, String> {
        results::Slo::new(&written.metric, &written.max).map(Slo)
    }
}

impl From<Slo> for WrittenSlo {
    fn from(slo: Slo) -> WrittenSlo {
        let max = match slo.limit() {
            Limit::ResponseTime { max, .. } => max.written(),
            // Without the sign it may be meant as one per cent.
            Limit::Failures { max } if 1.0 <= max.0 => "100%".to_owned(),
            Limit::Failures { max } => max.0.to_string(),
        };
        WrittenSlo { metric: slo.metric(), max }
    }
}

/// Checks that requests may have the labels of the objectives. Those of a mix, a trace, a script and YCSB's operations
/// are known to the generator, which checks them.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let Spec { where_, workload, load, slo, .. } = &resolved.spec;
    let of_label = |slo: &Slo| Some((slo.metric(), slo.label()?.to_owned()));
    let Some((metric, label)) = slo.iter().find_map(of_label) else { return Ok(()) };
    let why = match (where_.backend, workload) {
        (BackendKind::Simulated, _) => "requests of a simulated queue have no labels",
        (_, Workload::Request(_)) if load.trace().is_none() => "a single request has no labels",
        _ => return Ok(()),
    };
    let source = &resolved.source;
    let place = source.behind(&["slo"], &metric).or_else(|| source.key(&["slo"]));
    let message = format!("no request has the label `{label}`: {why}");
    let remedy =
        "write an objective on all requests; requests get labels by a mix or a trace that is sent";
    Err(source.error(message, place, remedy))
}
