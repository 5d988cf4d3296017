//! The choice of loads: where a sweep begins, how it goes on, and what ends it.

use std::fmt;

use measure::{Rate, Share};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{AtLeastOne, Growth, Literal, Written};

/// The choice of loads.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenSearch", into = "WrittenSearch")]
pub struct Search {
    pub start: Start,
    /// The highest load; without one the budget bounds the search.
    pub to: Option<Rate>,
    pub step: Growth,
    pub stop: Vec<Stop>,
    pub result: ResultKind,
}

/// The first load of a sweep: `start: 500/s` or `start: {probe: 0.6}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    At(Rate),
    /// A share of the rate that a short closed loop completes.
    Probe(Share),
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenProbe {
    probe: Written<Share>,
}

impl Serialize for Start {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Start::At(rate) => Written(rate).serialize(serializer),
            Start::Probe(share) => WrittenProbe { probe: Written(share) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Start, D::Error> {
        struct RateOrProbe;
        impl<'de> Visitor<'de> for RateOrProbe {
            type Value = Start;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate (`500/s`) or `{probe: 0.6}`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Start, E> {
                Rate::read(text).map(Start::At).map_err(E::custom)
            }
            // A rate without its unit looks like a number.
            fn visit_u64<E: Error>(self, number: u64) -> Result<Start, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Start, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Start, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Start, A::Error> {
                let written = WrittenProbe::deserialize(MapAccessDeserializer::new(map))?;
                match *written.probe {
                    share if 0.0 < share.0 => Ok(Start::Probe(share)),
                    _ => Err(A::Error::custom("a probe's share must be above zero")),
                }
            }
        }
        deserializer.deserialize_any(RateOrProbe)
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenStop", into = "WrittenStop")]
pub enum Stop {
    /// The last `window` loads together completed no more than the best before them plus `by`: the
    /// system is saturated. `by: 0` is "no new maximum".
    NoNewMax { window: u32, by: Share },
    /// The last `times` loads all missed the SLO.
    SloViolated { times: u32 },
}

/// A rule and its fields in one struct, so that errors keep their place.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenStop {
    rule: Rule,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<AtLeastOne>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Written<Share>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<AtLeastOne>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Rule {
    NoNewMax,
    SloViolated,
}

impl TryFrom<WrittenStop> for Stop {
    type Error = &'static str;
    fn try_from(written: WrittenStop) -> Result<Stop, &'static str> {
        let WrittenStop { rule, window, by, times } = written;
        match (rule, window, by, times) {
            (Rule::NoNewMax, Some(window), by, None) => {
                Ok(Stop::NoNewMax { window: window.0, by: by.map_or(Share(0.0), |by| *by) })
            }
            (Rule::NoNewMax, None, _, None) => {
                Err("`no_new_max` needs its window; write for example window: 6")
            }
            (Rule::NoNewMax, _, _, Some(_)) => Err("`times` belongs to the rule slo_violated"),
            (Rule::SloViolated, None, None, times) => {
                Ok(Stop::SloViolated { times: times.map_or(1, |times| times.0) })
            }
            (Rule::SloViolated, ..) => Err("`window` and `by` belong to the rule no_new_max"),
        }
    }
}

impl From<Stop> for WrittenStop {
    fn from(stop: Stop) -> WrittenStop {
        let rule = |rule| WrittenStop { rule, window: None, by: None, times: None };
        match stop {
            Stop::NoNewMax { window, by } => WrittenStop {
                window: Some(AtLeastOne(window)),
                by: Some(Written(by)),
                ..rule(Rule::NoNewMax)
            },
            Stop::SloViolated { times } => {
                WrittenStop { times: Some(AtLeastOne(times)), ..rule(Rule::SloViolated) }
            }
        }
    }
}

/// The quantity that is the answer; the other one is reported too.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    #[default]
    MaximumThroughput,
    Capacity,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Strategy {
    #[default]
    Sweep,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenSearch {
    #[serde(default)]
    strategy: Strategy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Option<(Written<Rate>, Written<Rate>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Start>,
    step: Written<Growth>,
    #[serde(default)]
    stop: Vec<Stop>,
    #[serde(default)]
    result: ResultKind,
}

impl TryFrom<WrittenSearch> for Search {
    type Error = String;
    fn try_from(written: WrittenSearch) -> Result<Search, String> {
        let WrittenSearch { strategy: Strategy::Sweep, range, start, step, stop, result } = written;
        let (start, to) = match (range, start) {
            (Some((from, to)), None) if *to < *from => {
                return Err(format!(
                    "the range from {} to {} is empty; write the lower rate first",
                    *from, *to
                ));
            }
            (Some((from, to)), None) => (Start::At(*from), Some(*to)),
            (None, Some(start)) => (start, None),
            (Some(_), Some(_)) => {
                return Err("`range` and `start` both set where the sweep begins; remove one of \
                            them"
                    .to_owned());
            }
            (None, None) => {
                return Err(
                    "a sweep begins with `range: [500/s, 2000/s]`, with `start: 500/s` or \
                            with `start: {probe: 0.6}`"
                        .to_owned(),
                );
            }
        };
        if to.is_none() && stop.is_empty() {
            return Err("a sweep without a range needs a stop rule; write for example `stop: \
                        [{rule: no_new_max, window: 6, by: 1%}]`"
                .to_owned());
        }
        Ok(Search { start, to, step: *step, stop, result })
    }
}

impl From<Search> for WrittenSearch {
    fn from(search: Search) -> WrittenSearch {
        let Search { start, to, step, stop, result } = search;
        let (range, start) = match (start, to) {
            (Start::At(from), Some(to)) => (Some((Written(from), Written(to))), None),
            (start, _) => (None, Some(start)),
        };
        let strategy = Strategy::Sweep;
        WrittenSearch { strategy, range, start, step: Written(step), stop, result }
    }
}
