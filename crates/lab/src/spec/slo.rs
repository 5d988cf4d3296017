//! Bounds on what users see.

use std::fmt;

use measure::{Nanos, Quantile};
use serde::{Deserialize, Serialize};

use super::{Literal, Share, exact};

/// A bound on what users see.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenSlo", into = "WrittenSlo")]
pub enum Slo {
    ResponseTime { quantile: Quantile, max: Nanos },
    Failures { max: Share },
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenSlo {
    metric: String,
    max: String,
}

impl TryFrom<WrittenSlo> for Slo {
    type Error = String;
    fn try_from(written: WrittenSlo) -> Result<Slo, String> {
        let WrittenSlo { metric, max } = written;
        let quantile = match metric.as_str() {
            "failures" => {
                let max = Share::read(&max).map_err(|error| error.to_string())?;
                return Ok(Slo::Failures { max });
            }
            "p50" => Quantile::P50,
            "p90" => Quantile::P90,
            "p95" => Quantile::P95,
            "p99" => Quantile::P99,
            "p99.9" => Quantile::P999,
            "p99.99" => Quantile::P9999,
            _ => {
                return Err(format!(
                    "`{metric}` is no metric; write p50, p90, p95, p99, p99.9, p99.99 or failures"
                ));
            }
        };
        let max = Nanos::read(&max).map_err(|error| error.to_string())?;
        Ok(Slo::ResponseTime { quantile, max })
    }
}

impl From<Slo> for WrittenSlo {
    fn from(slo: Slo) -> WrittenSlo {
        let metric = slo.metric();
        let max = match slo {
            Slo::ResponseTime { max, .. } => max.write(),
            Slo::Failures { max } => max.write(),
        };
        WrittenSlo { metric, max }
    }
}

impl Slo {
    pub fn metric(&self) -> String {
        match self {
            Slo::ResponseTime { quantile, .. } => {
                format!("p{}", (quantile.level() * 1e8).round() / 1e6)
            }
            Slo::Failures { .. } => "failures".to_owned(),
        }
    }
}

/// `p99 ≤ 100 ms`, `failures ≤ 0.1 %`.
impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slo::ResponseTime { max, .. } => {
                write!(f, "{} ≤ {}", self.metric(), exact(*max))
            }
            Slo::Failures { max } => write!(f, "failures ≤ {max}"),
        }
    }
}
