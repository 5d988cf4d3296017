//! The choice of loads: where a search begins, how it goes on, and what ends it.

use std::fmt;

use measure::search::Strategy as Bisection;
use measure::{Rate, Share};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{AtLeastOne, Growth, Literal, Written};

/// The choice of loads.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenSearch", into = "WrittenSearch")]
pub struct Search {
    pub start: Start,
    /// The highest load; without one the budget bounds the search.
    pub to: Option<Rate>,
    pub strategy: Strategy,
    pub result: ResultKind,
}

/// The rule for the next load.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// Ever higher loads.
    Sweep(Sweep),
    /// Ever nearer to the capacity, from both sides.
    Bracket(Bracket),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    pub step: Growth,
    pub stop: Vec<Stop>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    pub by: Bisection,
    /// The most by which the loads around the capacity may differ.
    pub precision: Share,
    /// The first step away from the start, if nothing else is known.
    pub step: Option<Share>,
}

impl Search {
    /// Returns the rule of a sweep; `None` for another strategy.
    pub fn sweep(&self) -> Option<&Sweep> {
        match &self.strategy {
            Strategy::Sweep(sweep) => Some(sweep),
            Strategy::Bracket(_) => None,
        }
    }
}

/// The first load of a search: `start: 500/s` or `start: {probe: 0.6}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    At(Rate),
    /// A share of the rate that a short closed loop completes.
    Probe(Share),
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Probe")]
pub(super) struct WrittenProbe {
    /// The first load, as a share of the rate that a short closed loop completes.
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

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenStop", into = "WrittenStop")]
pub enum Stop {
    /// The last `window` loads together completed no more than the best before them plus `by`: the
    /// system is saturated. `by: 0` is "no new maximum".
    NoNewMax { window: u32, by: Share },
    /// The last `times` loads all missed the SLO.
    SloViolated { times: u32 },
}

/// A rule and its fields in one struct, so that errors keep their place.
#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenStop {
    /// The rule.
    rule: Rule,
    /// The number of loads without a new maximum, for `no_new_max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<AtLeastOne>,
    /// The least by which a new maximum exceeds the one before, for `no_new_max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Written<Share>>,
    /// The number of loads in a row that miss the SLO, for `slo_violated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<AtLeastOne>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Rule {
    /// The last loads brought no new maximum of the completed rate.
    NoNewMax,
    /// The last loads all missed the SLO.
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

/// The quantity that is the answer of a search.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// The highest rate that the system sustained.
    MaximumThroughput,
    /// The highest load that met the SLO.
    Capacity,
}

/// The rule for the next load.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Strategy")]
enum Name {
    /// One pass or else the first to two decides about a load; the bounds that remain in the end are
    /// tried again.
    Adaptive,
    /// One trial decides about a load.
    Bisect,
    /// The first to so many passes or failures decides about a load.
    Mlr,
    /// Ever higher loads, until a rule stops them or the range ends.
    Sweep,
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenSearch {
    /// The rule for the next load. If absent: a sweep if there is a step or a stop rule, otherwise
    /// adaptive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strategy: Option<Name>,
    /// The lowest and the highest load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Option<(Written<Rate>, Written<Rate>)>,
    /// The first load, instead of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Start>,
    /// A sweep: the step to the next load. Otherwise the first step away from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<Written<Growth>>,
    /// A sweep: the rules that end it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stop: Vec<Stop>,
    /// The most by which the loads around the capacity may differ; 2 % by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    precision: Option<Written<Share>>,
    /// The passes that the lower bound needs (`adaptive`), or that decide about a load (`mlr`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirm: Option<AtLeastOne>,
    /// The quantity that is the answer; the other one is reported too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<ResultKind>,
}

/// The precision of an answer without one of its own.
const PRECISION: Share = Share(0.02);
/// The finest precision: trials differ more.
const FINEST: Share = Share(0.001);
/// The passes that the lower bound of `adaptive` needs, and those that decide about a load of `mlr`.
const CONFIRM: u32 = 2;
const FIRST_TO: u32 = 3;
const MOST_WINS: u32 = 10;

impl TryFrom<WrittenSearch> for Search {
    type Error = String;
    fn try_from(written: WrittenSearch) -> Result<Search, String> {
        let (start, to) = bounds(written.range.as_ref(), written.start)?;
        let sweeps = written.step.is_some() || !written.stop.is_empty();
        match written.strategy.unwrap_or(if sweeps { Name::Sweep } else { Name::Adaptive }) {
            Name::Sweep => sweep(written, start, to),
            name => bracket(name, written, start, to),
        }
    }
}

fn bounds(
    range: Option<&(Written<Rate>, Written<Rate>)>,
    start: Option<Start>,
) -> Result<(Start, Option<Rate>), String> {
    match (range, start) {
        (Some((from, to)), None) if **to < **from => Err(format!(
            "the range from {} to {} is empty; write the lower rate first",
            **from, **to
        )),
        (Some((from, to)), None) => Ok((Start::At(**from), Some(**to))),
        (None, Some(start)) => Ok((start, None)),
        (Some(_), Some(_)) => {
            Err("`range` and `start` both set where the search begins; remove one of them"
                .to_owned())
        }
        (None, None) => {
            Err("a search begins with `range: [500/s, 2000/s]`, with `start: 500/s` or with \
                 `start: {probe: 0.6}`"
                .to_owned())
        }
    }
}

fn sweep(written: WrittenSearch, start: Start, to: Option<Rate>) -> Result<Search, String> {
    let WrittenSearch { step, stop, precision, confirm, result, .. } = written;
    if precision.is_some() || confirm.is_some() {
        return Err("`precision` and `confirm` belong to the strategies that bisect; a sweep has \
                    `step`"
            .to_owned());
    }
    let Some(step) = step else {
        return Err("a sweep needs its step; write for example step: 5%".to_owned());
    };
    if to.is_none() && stop.is_empty() {
        return Err("a sweep without a range needs a stop rule; write for example `stop: \
                    [{rule: no_new_max, window: 6, by: 1%}]`"
            .to_owned());
    }
    let result = result.unwrap_or(ResultKind::MaximumThroughput);
    Ok(Search { start, to, strategy: Strategy::Sweep(Sweep { step: *step, stop }), result })
}

fn bracket(
    name: Name,
    written: WrittenSearch,
    start: Start,
    to: Option<Rate>,
) -> Result<Search, String> {
    let WrittenSearch { step, stop, precision, confirm, result, .. } = written;
    if !stop.is_empty() {
        return Err(
            "`stop` belongs to `strategy: sweep`; this one ends at its `precision`".to_owned()
        );
    }
    if result == Some(ResultKind::MaximumThroughput) {
        return Err(
            "this strategy looks for the capacity; write `strategy: sweep` for the maximum \
                    throughput"
                .to_owned(),
        );
    }
    let precision = precision.map_or(PRECISION, |precision| *precision);
    if precision < FINEST {
        return Err(format!("a precision is at least {FINEST}: trials differ more"));
    }
    let step = match step.map(|step| *step) {
        None => None,
        Some(_) if to.is_some() => {
            return Err("a range is bisected: remove `step`, or write `start` instead of `range`"
                .to_owned());
        }
        Some(Growth::By(share)) => Some(share),
        Some(Growth::Add(_)) => {
            return Err("the first step is a share; write for example step: 25%".to_owned());
        }
    };
    let wins = confirm.map(|wins| wins.0);
    if wins.is_some_and(|wins| MOST_WINS < wins) {
        return Err(format!("`confirm` is at most {MOST_WINS}"));
    }
    let by = match name {
        Name::Adaptive => Bisection::Adaptive { confirm: wins.unwrap_or(CONFIRM) },
        Name::Mlr => Bisection::Mlr { first_to: wins.unwrap_or(FIRST_TO) },
        Name::Bisect if wins.is_some() => {
            return Err(
                "`bisect` believes each trial; write `strategy: mlr` to confirm them".to_owned()
            );
        }
        Name::Bisect | Name::Sweep => Bisection::Bisect,
    };
    let strategy = Strategy::Bracket(Bracket { by, precision, step });
    Ok(Search { start, to, strategy, result: ResultKind::Capacity })
}

impl From<Search> for WrittenSearch {
    fn from(search: Search) -> WrittenSearch {
        let Search { start, to, strategy, result } = search;
        let (range, start) = match (start, to) {
            (Start::At(from), Some(to)) => (Some((Written(from), Written(to))), None),
            (start, _) => (None, Some(start)),
        };
        let written = WrittenSearch {
            strategy: Some(Name::Sweep),
            range,
            start,
            step: None,
            stop: Vec::new(),
            precision: None,
            confirm: None,
            result: Some(result),
        };
        match strategy {
            Strategy::Sweep(Sweep { step, stop }) => {
                WrittenSearch { step: Some(Written(step)), stop, ..written }
            }
            Strategy::Bracket(Bracket { by, precision, step }) => {
                let (strategy, confirm) = match by {
                    Bisection::Adaptive { confirm } => (Name::Adaptive, Some(confirm)),
                    Bisection::Mlr { first_to } => (Name::Mlr, Some(first_to)),
                    Bisection::Bisect => (Name::Bisect, None),
                };
                WrittenSearch {
                    strategy: Some(strategy),
                    confirm: confirm.map(AtLeastOne),
                    precision: Some(Written(precision)),
                    step: step.map(|share| Written(Growth::By(share))),
                    ..written
                }
            }
        }
    }
}
