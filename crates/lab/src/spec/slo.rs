//! An objective as it is written in a spec: `{metric: p99, max: 100ms}`.

use std::ops::Deref;

use results::slo::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
