//! The load that is offered, and what decides when requests start.

use std::fmt;

use measure::{Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::{AtLeastOne, Written};

/// The load that is offered.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenLoad")]
pub struct Load {
    pub model: Model,
    pub arrivals: Arrivals,
    /// The rate of each instance. Absent if a search decides it, or in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Written<Rate>>,
    /// The number for each instance.
    pub connections: AtLeastOne,
    /// The number of script states for each instance, for a workload that depends on it (wrk's -t).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script_threads: Option<AtLeastOne>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Written<Nanos>>,
    pub timeout: Written<Nanos>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// The clock alone decides when requests start.
    Open,
    /// A completion and the think time after it decide when the next request starts.
    Closed,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    #[default]
    Poisson,
    Constant,
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrivals::Poisson => "poisson",
            Arrivals::Constant => "constant",
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLoad {
    model: Option<Model>,
    arrivals: Option<Arrivals>,
    rate: Option<Written<Rate>>,
    connections: Option<AtLeastOne>,
    script_threads: Option<AtLeastOne>,
    think: Option<Written<Nanos>>,
    timeout: Option<Written<Nanos>>,
}

impl TryFrom<WrittenLoad> for Load {
    type Error = &'static str;
    fn try_from(written: WrittenLoad) -> Result<Load, &'static str> {
        let WrittenLoad { model, arrivals, rate, connections, script_threads, think, timeout } =
            written;
        let model = model.ok_or(
            "neither open nor closed; write `model: open` (the clock decides when a request \
             starts) or `model: closed` (a completion does)",
        )?;
        match model {
            Model::Open if think.is_some() => {
                return Err("think time belongs to a closed loop; in an open one the rate decides");
            }
            Model::Closed if rate.is_some() || arrivals.is_some() => {
                return Err("a closed loop has neither rate nor arrivals: completions decide");
            }
            _ => {}
        }
        if timeout.is_some_and(|timeout| *timeout == Nanos::ZERO) {
            return Err("a timeout must be longer than zero");
        }
        Ok(Load {
            model,
            arrivals: arrivals.unwrap_or_default(),
            rate,
            connections: connections.unwrap_or(AtLeastOne(32)),
            script_threads,
            think,
            timeout: timeout.unwrap_or(Written(Nanos::from_secs(10))),
        })
    }
}
