//! The load that is offered, and what decides when requests start.

use std::fmt;

use measure::{Nanos, Rate, Share};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{AtLeastOne, Literal, Name, Written};

/// The load that is offered.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenLoad")]
pub struct Load {
    pub model: Model,
    pub arrivals: Arrivals,
    /// The rate of each instance. Absent if a search decides it, or in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Offered>,
    /// The number for each instance.
    pub connections: AtLeastOne,
    /// The number of script states for each instance, for a workload that depends on it (wrk's -t).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script_threads: Option<AtLeastOne>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Written<Nanos>>,
    pub timeout: Written<Nanos>,
}

/// The one load of a question without a search: `rate: 500/s`, or `rate: {share: 50%, of: capacity}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Offered {
    Rate(Rate),
    /// A share of the capacity that another search found in the same cell; of its maximum
    /// throughput if it has no SLO.
    Share {
        share: Share,
        of: Name,
    },
}

impl Offered {
    /// Returns the rate, if it is known beforehand.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Offered::Rate(rate) => Some(*rate),
            Offered::Share { .. } => None,
        }
    }
}

/// `500/s`, or `50 % of capacity`
impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offered::Rate(rate) => rate.fmt(f),
            Offered::Share { share, of } => write!(f, "{share} of `{of}`"),
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenShare {
    share: Written<Share>,
    of: Name,
}

impl Serialize for Offered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Offered::Rate(rate) => Written(*rate).serialize(serializer),
            Offered::Share { share, of } => {
                WrittenShare { share: Written(*share), of: of.clone() }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Offered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Offered, D::Error> {
        struct RateOrShare;
        impl<'de> Visitor<'de> for RateOrShare {
            type Value = Offered;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate (`500/s`) or `{share: 50%, of: SEARCH}`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Offered, E> {
                Rate::read(text).map(Offered::Rate).map_err(E::custom)
            }
            // A rate without its unit looks like a number.
            fn visit_u64<E: Error>(self, number: u64) -> Result<Offered, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Offered, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Offered, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Offered, A::Error> {
                let written = WrittenShare::deserialize(MapAccessDeserializer::new(map))?;
                match *written.share {
                    share if 0.0 < share.0 => Ok(Offered::Share { share, of: written.of }),
                    _ => Err(A::Error::custom("a share of a capacity must be above zero")),
                }
            }
        }
        deserializer.deserialize_any(RateOrShare)
    }
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
    rate: Option<Offered>,
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
