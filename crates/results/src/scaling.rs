//! The growth of a throughput over the levels of a factor, and the law that it follows.

use std::collections::BTreeMap;

use measure::quantity::grouped;
use measure::scaling::{
    self, Conclusion, Estimate as Known, FEWEST_LEVELS, FEWEST_VALUES, Identified, Reason,
};
use measure::{Random, estimate};
use serde::{Deserialize, Serialize};

use crate::failing::is_failing;
use crate::found::{Found, Spread};
use crate::metric::Metric;

#[cfg(test)]
mod tests;

/// The points of a curve.
const POINTS: u32 = 32;

/// The levels of one factor in one search, at the same levels of all other factors.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Scaling {
    pub factor: String,
    /// The levels of the other factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The throughput that grows: `capacity`, `maximum_throughput`, or of closed loops `goodput`.
    pub quantity: Metric,
    /// In ascending number of units.
    pub levels: Vec<Level>,
    pub law: Law,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Level {
    /// The number of units.
    pub n: f64,
    /// The figure of each search or trial, per second. Of a single search that has an estimate, this is the
    /// estimate.
    pub values: Vec<f64>,
    /// The results of searches that found only a bound. Such a level has no mean, and no law has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub censored: Vec<Found>,
    /// Their geometric mean; null without values, and if a search found only a bound.
    pub mean: Option<f64>,
    /// Its 95 % t interval; null below three values, unless the only one is a search with an interval.
    pub interval: Option<(f64, f64)>,
    /// The throughput per unit over that of the first level.
    pub efficiency: Option<f64>,
    pub efficiency_interval: Option<(f64, f64)>,
    /// The successes inside the measurement per second of CPU time of all components together; null if the
    /// use of a component is not known.
    pub per_cpu_second: Option<f64>,
    /// The failures over the requests that ended, the largest of the trials; null without values.
    #[serde(default)]
    pub failed_share: Option<f64>,
}

impl Level {
    /// Returns the median of all results of a level of which a search found only a bound; `None` of others.
    pub fn bound(&self) -> Option<Found> {
        let exact = self.values.iter().copied().map(Found::Exact);
        let all: Vec<Found> = exact.chain(self.censored.iter().copied()).collect();
        let median = Spread::of(&all).map_or(Found::between(None, None), |spread| spread.median);
        (!self.censored.is_empty()).then_some(median)
    }
}

/// The law, or the reason why the trials show none.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Law {
    pub form: Form,
    pub lambda: Option<Estimate>,
    pub sigma: Option<Estimate>,
    pub kappa: Option<Estimate>,
    /// The number of units with the highest throughput; null if the trials do not show one within twice
    /// the largest level.
    pub n_max: Option<Estimate>,
    /// The corrected information criterion of each form that was fitted: the least was chosen.
    pub aicc: BTreeMap<Form, f64>,
    /// The fitted throughput from the first level to the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<Point>,
    /// The reason why no law is identifiable, or the meaning of the form, in a sentence.
    pub why: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Linear,
    Amdahl,
    Usl,
    NotIdentifiable,
}

impl Form {
    pub fn word(self) -> &'static str {
        match self {
            Form::Linear => "linear",
            Form::Amdahl => "Amdahl's law",
            Form::Usl => "Universal Scalability Law",
            Form::NotIdentifiable => "not identifiable",
        }
    }
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Estimate {
    pub value: f64,
    pub interval: (f64, f64),
}

/// A point of the fitted curve.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Point {
    pub n: f64,
    pub per_s: f64,
    pub interval: (f64, f64),
}

/// The figures of one level, as they were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub n: f64,
    pub values: Vec<f64>,
    /// The results of the searches that found only a bound.
    pub censored: Vec<Found>,
    /// The 95 % interval of a single value that has one.
    pub interval: Option<(f64, f64)>,
    /// The requests per second of CPU time of each trial; `None` if it is not known of one.
    pub per_cpu_second: Option<Vec<f64>>,
    /// The failures of each trial over its requests that ended.
    pub failed_shares: Vec<f64>,
}

/// Returns the levels with their intervals, and the law that they follow. A level without values has no
/// part in the law. If searches of a level found only a bound, what the others found is no figure of that
/// level, and there is no law.
pub fn of(mut measured: Vec<Measured>, seed: u64) -> (Vec<Level>, Law) {
    measured.sort_by(|a, b| a.n.total_cmp(&b.n));
    let known: Vec<scaling::Level> = measured
        .iter()
        .filter(|level| level.is_known())
        .map(|level| scaling::Level {
            n: level.n,
            values: level.values.clone(),
            interval: level.interval,
        })
        .collect();
    let mut efficiencies = scaling::efficiencies(&known).unwrap_or_default().into_iter();
    let mean = |values: &[f64]| Some(estimate::mean(&estimate::logs(values)?).exp());
    let level = |level: Measured| {
        let is_known = level.is_known();
        let efficiency = is_known.then(|| efficiencies.next()).flatten();
        let per_cpu_second = level.per_cpu_second.filter(|values| !values.is_empty());
        Level {
            n: level.n,
            mean: mean(&level.values).filter(|_| is_known),
            interval: estimate::interval(&level.values, estimate::CONFIDENCE)
                .or(level.interval)
                .filter(|_| is_known),
            efficiency: efficiency.map(|found| found.value),
            efficiency_interval: efficiency.and_then(|found| found.interval),
            per_cpu_second: per_cpu_second.and_then(|values| mean(&values)),
            failed_share: level.failed_shares.iter().copied().reduce(f64::max),
            values: level.values,
            censored: level.censored,
        }
    };
    let levels: Vec<Level> = measured.into_iter().map(level).collect();
    let why = censored(&levels).or_else(|| failing(&levels, &known));
    let shares: Option<Vec<f64>> = levels.iter().map(|level| level.failed_share).collect();
    let failed = shares.map(|shares| shares.iter().any(|share| 0.0 < *share));
    let law = why.map(unknown).unwrap_or_else(|| law(&known, failed, seed));
    (levels, law)
}

impl Measured {
    fn is_known(&self) -> bool {
        !self.values.is_empty() && self.censored.is_empty()
    }
}

/// Returns why levels of which only bounds are known show no law; `None` if there are none.
fn censored(levels: &[Level]) -> Option<String> {
    let level = levels.iter().find(|level| !level.censored.is_empty())?;
    let (count, of) = (level.censored.len(), level.values.len() + level.censored.len());
    let median = level.bound()?.in_words(|per_s| format!("{}/s", grouped(per_s)));
    let searches = if of == 1 { "the search" } else { &format!("{count} of {of} searches") };
    Some(format!(
        "at {} {searches} found only a bound ({median}), so its throughput is not known; widen the range or raise the \
         budget, until each search ends with an answer",
        level.n
    ))
}

/// Returns the law of levels; `failed` says if a request failed at any of them, as far as that is known.
fn law(levels: &[scaling::Level], failed: Option<bool>, seed: u64) -> Law {
    match scaling::conclude(levels, &mut Random::new(seed)) {
        Conclusion::Identified(found) => identified(&found, levels),
        Conclusion::NotIdentifiable(reason) => unknown(why(&reason, failed)),
    }
}

fn unknown(why: String) -> Law {
    Law {
        form: Form::NotIdentifiable,
        lambda: None,
        sigma: None,
        kappa: None,
        n_max: None,
        aicc: BTreeMap::new(),
        curve: Vec::new(),
        why,
    }
}

/// Returns why levels with failures show no law; `None` if there are none.
fn failing(levels: &[Level], known: &[scaling::Level]) -> Option<String> {
    let failing = levels.iter().filter_map(|level| Some((level.n, level.failed_share?)));
    let failing: Vec<(f64, f64)> = failing.filter(|(_, share)| is_failing(*share)).collect();
    let &(n, share) = failing.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let step = match scaling::superlinear(known) {
        Some(_) => "; a level without them then looks superlinear, and is none",
        None => "",
    };
    Some(format!(
        "at {n} {:.1} % of the outcomes were failures, so its throughput is that of an overloaded system \
         and no capacity{step}. Search for the capacity at each level",
        100.0 * share
    ))
}

fn identified(found: &Identified, levels: &[scaling::Level]) -> Law {
    let (first, last) = (levels[0].n, levels[levels.len() - 1].n);
    let n = |i: u32| first + (last - first) * f64::from(i) / f64::from(POINTS);
    let point =
        |n: f64| found.at(n).map(|known| Point { n, per_s: known.value, interval: known.interval });
    let form = match found.form {
        scaling::Form::Linear => Form::Linear,
        scaling::Form::Amdahl => Form::Amdahl,
        scaling::Form::Usl => Form::Usl,
    };
    let aicc = found.aicc.iter().map(|(form, aicc)| {
        let form = match form {
            scaling::Form::Linear => Form::Linear,
            scaling::Form::Amdahl => Form::Amdahl,
            scaling::Form::Usl => Form::Usl,
        };
        (form, *aicc)
    });
    Law {
        form,
        lambda: Some(found.lambda.into()),
        sigma: Some(found.sigma.into()),
        kappa: Some(found.kappa.into()),
        n_max: found.peak.map(Estimate::from),
        aicc: aicc.collect(),
        curve: (0..=POINTS).filter_map(|i| point(n(i))).collect(),
        why: match form {
            Form::Linear => "each unit adds as much as the first",
            Form::Amdahl => "a part of the work is done by one unit at a time",
            Form::Usl | Form::NotIdentifiable => "the units also wait for each other",
        }
        .to_owned(),
    }
}

impl From<Known> for Estimate {
    fn from(known: Known) -> Estimate {
        Estimate { value: known.value, interval: known.interval }
    }
}

fn why(reason: &Reason, failed: Option<bool>) -> String {
    match reason {
        Reason::TooFew { levels, values } => format!(
            "{values} values at {levels} levels are too few: a law needs at least {FEWEST_VALUES} values at \
             {FEWEST_LEVELS} levels, and three values more than it has parameters; add levels, or repeat \
             (repeat: {{searches: 3}})"
        ),
        Reason::Superlinear { n, efficiency } => {
            format!("at {n} {}", superlinear(*efficiency, failed))
        }
        Reason::NoGrowth => {
            "the throughput does not grow with the levels: something else limits it; look \
                             at what each level is limited by"
                .to_owned()
        }
        Reason::Misses { n, by } => format!(
            "the law misses the level {n} by {:.0} %, and the scatter of its values does not explain that; \
             look at what limits this level",
            100.0 * by.abs()
        ),
        Reason::Scatter { n, low, high } => format!(
            "the values scatter too much: at {n} the fitted throughput is between {low:.0} and {high:.0}/s; \
             repeat more often, or measure longer"
        ),
    }
}

/// Returns the warning about an efficiency that is too high; `failed` says if requests failed, as far as that is known.
pub fn superlinear(efficiency: f64, failed: Option<bool>) -> String {
    let causes = match failed {
        Some(false) => {
            "No request failed, so look for a warm-up, for a cache, and for what limits the first level"
        }
        Some(true) => "Overload, warm-up or a cache; look at the failures",
        None => "Overload, warm-up or a cache; look if requests failed",
    };
    format!("{efficiency:.2} times as much as the first level promises: superlinear. {causes}")
}
