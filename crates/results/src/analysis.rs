//! The analysis of trials by level: what their figures say together, and what they do not support.
//!
//! The unit is the trial. Nothing is left out: an outlier is named and counts.

use std::collections::BTreeMap;

use measure::comparison::Better;
use measure::estimate::{self, CONFIDENCE, Support, is_constant};
use measure::quantity::{self, grouped, p_in_words};
use measure::spread::{self, Percentile};
use measure::{Quantile, comparison, scaling as growth, trend};
use serde::{Deserialize, Serialize};

use crate::comparison::significances;
use crate::scaling;

pub mod conclusions;

#[cfg(test)]
pub(crate) mod guides;
#[cfg(test)]
mod tests;

use conclusions::SpreadVerdict;

/// In version 1 a look at outliers chose the test of the spreads. In version 2 each two levels were judged as if
/// there were no others: of six equal levels, two were called different in three of ten analyses.
pub const SCHEMA: &str = "benchwright.analysis/3";

/// The significance of all tests.
const SIGNIFICANCE: f64 = 1.0 - CONFIDENCE;
/// Fewer trials say little of their spread.
const FEWEST: usize = 5;
/// Within this factor of its floor a spread comes from the number of requests.
const NEAR_FLOOR: f64 = 1.5;

/// Trials, those of each level in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trials {
    /// The name of the column that has the level of each trial.
    pub by: String,
    pub metrics: Vec<String>,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number, from 1, in the order in which all ran.
    pub trial: usize,
    pub level: String,
    /// The value of each metric.
    pub values: Vec<f64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Analysis {
    pub schema: String,
    pub by: String,
    /// The number of requests of each trial, if it was given.
    pub requests: Option<u64>,
    /// The difference that matters, as a share.
    pub margin: f64,
    pub metrics: Vec<Metric>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Metric {
    pub metric: String,
    /// In the order of their first trials.
    pub levels: Vec<Level>,
    /// The trend inside the levels: what differs between them does not count.
    pub trend_stratified: Option<Trend>,
    /// Every two levels.
    pub pairs: Vec<Pair>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Level {
    pub level: String,
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of equal trials together.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Figures {
    pub n: usize,
    pub mean: f64,
    /// The relative standard deviation, as a share; null below two trials.
    pub rsd: Option<f64>,
    /// Its 95 % interval, from the χ² distribution.
    pub rsd_interval: Option<(f64, f64)>,
    /// The robust estimate of the same.
    pub spread_shamos: Option<f64>,
    /// The RSD that a percentile of so many requests has by chance alone; null if it is not a
    /// percentile, or if no lower percentile was measured.
    pub sampling_floor: Option<f64>,
    pub trend: Option<Trend>,
    /// The median slope of all pairs of trials, per trial, as a share of the size of the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
    pub outliers: Vec<Outlier>,
}

impl Figures {
    /// Returns the slope in words: `+0.31 %`, `−0.02 %`.
    pub fn slope_in_words(&self) -> Option<String> {
        Some(format!("{:+.2} %", 100.0 * self.slope?).replace('-', "−"))
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Trend {
    /// The pairs of trials that rise, less those that fall.
    pub s: i64,
    /// The largest possible S.
    pub of: i64,
    pub p: f64,
}

impl Trend {
    /// Returns true if an order by chance would hardly give it.
    pub fn is_significant(self) -> bool {
        self.p <= SIGNIFICANCE
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Outlier {
    /// The number of the trial, from 1.
    pub trial: usize,
    pub value: f64,
    /// The probability that one of so many normal trials lies as far apart.
    pub p: f64,
    /// The differences of this trial from the others; absent if only figures are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differed: Option<Vec<Difference>>,
}

/// Something that differed between an outlier and the other trials. It may be the cause.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Difference {
    pub what: What,
    /// The same with its figures, in words.
    pub text: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Most others have one fingerprint, and this trial has another.
    Fingerprint,
    /// Something was found in this trial that was not found in most others.
    Finding,
    /// The machine was slow.
    MachineSpeed,
    /// In some second other processes used more of the CPUs.
    ForeignLoad,
    /// In some second the hypervisor took more of a CPU.
    Steal,
    /// This trial waited for a calm machine, and most others did not.
    Wait,
}

impl Outlier {
    /// Returns the trial with what differed in it: `trial 31: machine speed 0.82`.
    pub fn in_words(&self) -> String {
        let differed = self.differed.as_ref().map(|all| match &all[..] {
            [] => ": no recorded difference from the others".to_owned(),
            all => {
                let texts: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
                format!(": {}", texts.join("; "))
            }
        });
        format!("trial {}{}", self.trial, differed.unwrap_or_default())
    }
}

/// Two levels beside each other.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Pair {
    pub a: String,
    pub b: String,
    /// The geometric mean of b over that of a, with its interval by Welch's t test of the logarithms; null if
    /// it cannot be known.
    pub ratio: Option<f64>,
    pub ratio_interval: Option<(f64, f64)>,
    /// The confidence of the interval: 0.95, or more where several pairs of levels share the probability of an error.
    #[serde(default = "usual_confidence")]
    pub confidence: f64,
    pub verdict: Option<Verdict>,
    /// The RSD of b over that of a.
    pub rsd_ratio: Option<f64>,
    /// The probability of such RSDs if the true ones were equal, by the F test, to look at: it assumes
    /// normal logarithms.
    pub rsd_ratio_p: Option<f64>,
    /// The same by Brown and Forsythe's test, to look at: it assumes less and needs more trials.
    pub rsd_ratio_p_brown_forsythe: Option<f64>,
    /// The judgement on the spreads; null if they were not tested.
    #[serde(default)]
    pub spread: Option<SpreadVerdict>,
    /// The reasons why a figure is null, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// True if the trials of the two levels alternate. If not, a drift of the machine looks like a
    /// difference.
    pub interleaved: bool,
}

/// The confidence of each pair in earlier versions.
fn usual_confidence() -> f64 {
    CONFIDENCE
}

/// A difference of two levels, by its interval and the margin.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Higher,
    Lower,
    Equivalent,
    Undecided,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Higher => "higher",
            Verdict::Lower => "lower",
            Verdict::Equivalent => "equivalent",
            Verdict::Undecided => "undecided",
        }
    }
}

/// Something that the figures do not support, or that speaks against them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Warning {
    pub code: Code,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    TooFewTrials,
    UnsupportedQuantile,
    IndicativeQuantile,
    NearFloor,
    Superlinear,
    Trend,
    Outlier,
    NotInterleaved,
    /// Nothing shows the shape of the distribution.
    ShapeUnknown,
    /// The times are those of a timer.
    Timer,
    /// A figure is a lower bound, so nothing is known of its spread.
    LowerBound,
    /// Some of equal searches found only a bound.
    Censored,
    /// The figures themselves decided the number of trials.
    Sequential,
}

/// Analyses trials. `requests` is the number of requests of each trial, and `margin` the difference
/// that matters, as a share.
pub fn analyse(trials: &Trials, requests: Option<u64>, margin: f64) -> Analysis {
    let levels = levels(trials);
    let metrics =
        (0..trials.metrics.len()).map(|index| metric(trials, &levels, index, requests, margin));
    let metrics: Vec<Metric> = metrics.collect();
    let mut warnings: Vec<Warning> = Vec::new();
    for (index, metric) in metrics.iter().enumerate() {
        warnings.extend(of_metric(metric, requests));
        warnings.extend(superlinear(trials, &levels, index).map(|(level, efficiency)| Warning {
            code: Code::Superlinear,
            metric: Some(metric.metric.clone()),
            level: Some(level.to_owned()),
            text: format!(
                "{} at {level}{}: {}",
                metric.metric,
                if is_rate(&metric.metric) { "" } else { ", if it is a throughput" },
                scaling::superlinear(efficiency, None)
            ),
        }));
    }
    warnings.extend(shape_unknown(&trials.metrics));
    if metrics.first().is_some_and(|m| m.pairs.iter().any(|pair| !pair.interleaved)) {
        warnings.push(Warning {
            code: Code::NotInterleaved,
            metric: None,
            level: None,
            text: "the levels ran one after the other: a drift of the machine looks like a difference \
                   between them; run them in turn (repeat.order: interleaved)"
                .to_owned(),
        });
    }
    let schema = SCHEMA.to_owned();
    Analysis { schema, by: trials.by.clone(), requests, margin, metrics, warnings }
}

/// Returns true for the name of a figure that is known to be a throughput; what other columns of a table have is not
/// known.
fn is_rate(metric: &str) -> bool {
    metric.parse().is_ok_and(|metric: crate::Metric| metric.better() == Better::Higher)
}

/// The rows of each level, in the order of their first trials.
fn levels(trials: &Trials) -> Vec<(String, Vec<usize>)> {
    let mut levels: Vec<(String, Vec<usize>)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, row) in trials.rows.iter().enumerate() {
        let at = *known.entry(&row.level).or_insert_with(|| {
            levels.push((row.level.clone(), Vec::new()));
            levels.len() - 1
        });
        levels[at].1.push(index);
    }
    levels
}

fn metric(
    trials: &Trials,
    levels: &[(String, Vec<usize>)],
    index: usize,
    requests: Option<u64>,
    margin: f64,
) -> Metric {
    let values: Vec<Vec<f64>> =
        levels.iter().map(|(_, rows)| values_of(trials, rows, index)).collect();
    let lower = lower_percentile(&trials.metrics, index);
    let level = |((name, rows), values): (&(String, Vec<usize>), &Vec<f64>)| {
        let floor = requests.zip(lower).and_then(|(requests, lower)| {
            let lower_values = values_of(trials, rows, lower);
            let percentile = |metric: usize, values: &[f64]| {
                let level = quantile(&trials.metrics[metric])?.level();
                Some(Percentile { level, value: estimate::median(values)? })
            };
            let (low, high) = (percentile(lower, &lower_values)?, percentile(index, values)?);
            spread::sampling_floor(low, high, requests)
        });
        let numbers: Vec<usize> = rows.iter().map(|&row| trials.rows[row].trial).collect();
        of_level(name, &numbers, values, floor)
    };
    let slices: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
    Metric {
        metric: trials.metrics[index].clone(),
        levels: levels.iter().zip(&values).map(level).collect(),
        trend_stratified: trend_of(&slices),
        pairs: pairs(trials, levels, &values, margin),
    }
}

/// Compares every two levels. The ratios of all pairs share the probability of an error.
fn pairs(
    trials: &Trials,
    levels: &[(String, Vec<usize>)],
    values: &[Vec<f64>],
    margin: f64,
) -> Vec<Pair> {
    let places = (0..levels.len()).flat_map(|a| (a + 1..levels.len()).map(move |b| (a, b)));
    let places: Vec<(usize, usize)> = places.collect();
    let of = |(a, b): (usize, usize)| [&*values[a], &*values[b]];
    let ratios = places.iter().map(|place| {
        let [a, b] = of(*place);
        Some(comparison::welch(a, b, SIGNIFICANCE)?.p)
    });
    let ratios = significances(&ratios.collect::<Vec<Option<f64>>>());
    let numbers = |level: usize| -> Vec<usize> {
        levels[level].1.iter().map(|&row| trials.rows[row].trial).collect()
    };
    let pair = |(&(a, b), &significance): (&(usize, usize), &f64)| {
        let pair = of_pair([&levels[a].0, &levels[b].0], of((a, b)), significance, margin);
        Pair { interleaved: alternate(&numbers(a), &numbers(b)), ..pair }
    };
    places.iter().zip(&ratios).map(pair).collect()
}

/// Returns the values of a metric in the trials of these rows.
fn values_of(trials: &Trials, rows: &[usize], metric: usize) -> Vec<f64> {
    rows.iter().map(|&row| trials.rows[row].values[metric]).collect()
}

fn of_level(name: &str, numbers: &[usize], values: &[f64], floor: Option<f64>) -> Level {
    let rsd = spread::rsd(values, CONFIDENCE);
    let outliers = spread::outliers(values, SIGNIFICANCE).into_iter().map(|outlier| Outlier {
        trial: numbers[outlier.index],
        value: values[outlier.index],
        p: outlier.p,
        differed: None,
    });
    let median = estimate::median(values).filter(|median| *median != 0.0);
    let figures = Figures {
        n: values.len(),
        mean: estimate::mean(values),
        rsd: rsd.map(|rsd| rsd.rsd),
        rsd_interval: rsd.map(|rsd| rsd.interval),
        spread_shamos: spread::shamos(values),
        sampling_floor: floor,
        trend: trend_of(&[values]),
        slope: trend::slope(values).zip(median).map(|(slope, median)| slope / median.abs()),
        outliers: outliers.collect(),
    };
    Level { level: name.to_owned(), figures }
}

fn trend_of(groups: &[&[f64]]) -> Option<Trend> {
    trend::mann_kendall(groups).map(|found| Trend { s: found.s, of: found.most, p: found.p })
}

fn of_pair(names: [&String; 2], values: [&[f64]; 2], significance: f64, margin: f64) -> Pair {
    let [a, b] = values;
    let tested = spread::compare_spreads(a, b);
    let rsd = |values: &[f64]| spread::rsd(values, CONFIDENCE).map(|rsd| rsd.rsd);
    let found = comparison::welch(a, b, significance);
    // Trials that are all equal have a ratio, although nothing tells how far it is known.
    let constant =
        || (is_constant(a) && is_constant(b) && 0.0 < a[0] && 0.0 < b[0]).then(|| b[0] / a[0]);
    let mut absent = Vec::new();
    if found.is_none() {
        absent.push(no_ratio(names, values));
    }
    if tested.is_none() {
        absent.push(no_test_of_spreads(names, values));
    }
    Pair {
        a: names[0].clone(),
        b: names[1].clone(),
        ratio: found.map(|found| found.ratio).or_else(constant),
        ratio_interval: found.map(|found| found.interval),
        confidence: 1.0 - significance,
        verdict: found.map(|found| verdict(found.interval, margin)),
        rsd_ratio: rsd(a).zip(rsd(b)).filter(|(a, _)| 0.0 < *a).map(|(a, b)| b / a),
        rsd_ratio_p: tested.map(|tested| tested.f),
        rsd_ratio_p_brown_forsythe: tested.map(|tested| tested.brown_forsythe),
        spread: tested.map(conclusions::judge),
        absent,
        interleaved: true,
    }
}

/// Returns the reason why two levels have no ratio with an interval.
fn no_ratio(names: [&String; 2], values: [&[f64]; 2]) -> String {
    let which = |has: fn(&[f64]) -> bool| {
        let of = names.iter().zip(values).find(|(_, values)| has(values));
        of.map(|(name, _)| *name)
    };
    if let Some(name) = which(|values| values.iter().any(|value| *value <= 0.0)) {
        return format!("no ratio: a value at {name} is not above zero");
    }
    if let Some(name) = which(|values| values.len() < 2) {
        return format!("no ratio: {name} has a single trial");
    }
    match values.iter().all(|values| is_constant(values)) {
        true => "no interval of the ratio: all trials of each level are equal".to_owned(),
        false => "no ratio: the trials lie too far apart for an interval".to_owned(),
    }
}

const NO_TEST: &str = "no test of the spreads: ";

/// Returns the reason why the spreads of two levels are not tested.
fn no_test_of_spreads(names: [&String; 2], values: [&[f64]; 2]) -> String {
    let mut reasons = names.iter().zip(values).filter_map(|(name, values)| match () {
        () if values.iter().any(|value| *value <= 0.0) => {
            Some(format!("a value at {name} is not above zero"))
        }
        () if values.len() < 3 => Some(format!("{name} has fewer than three trials")),
        () if is_constant(values) => Some(format!("all trials of {name} are equal")),
        () => None,
    });
    let reason = reasons.next().unwrap_or_else(|| "a spread is below all numbers".to_owned());
    format!("{NO_TEST}{reason}")
}

fn verdict((low, high): (f64, f64), margin: f64) -> Verdict {
    match () {
        () if 1.0 / (1.0 + margin) < low && high < 1.0 + margin => Verdict::Equivalent,
        () if 1.0 < low => Verdict::Higher,
        () if high < 1.0 => Verdict::Lower,
        () => Verdict::Undecided,
    }
}

/// Returns true if some trial of each level lies between two of the other, or there is one of each. The
/// trials of each are given in order.
pub fn alternate(a: &[usize], b: &[usize]) -> bool {
    let ends = |rows: &[usize]| Some((*rows.first()?, *rows.last()?));
    let (Some(a), Some(b)) = (ends(a), ends(b)) else { return true };
    a.0 < b.1 && b.0 < a.1
}

/// Reads the name of a percentile, as tools and people write it: `p99.9`, `P99_9`, `p999`, `delivery_p99`,
/// `p99_ns`, `99%`.
pub(crate) fn quantile(metric: &str) -> Option<Quantile> {
    Some(percentile(metric)?.1)
}

/// Divides the name of a percentile into the times that it is of and its level: `delivery` and 0.99.
fn percentile(metric: &str) -> Option<(String, Quantile)> {
    const BEFORE: [&str; 5] = ["percentile", "perc", "pct", "p", "q"];
    const SEPARATORS: [char; 3] = ['_', '-', ' '];
    let name = metric.to_lowercase();
    let is_digit = |c: char| c.is_ascii_digit();
    let starts = name
        .char_indices()
        .filter(|&(at, c)| is_digit(c) && !name[..at].ends_with(|c: char| is_digit(c) || c == '.'));
    starts.map(|(at, _)| at).find_map(|at| {
        let (before, rest) = name.split_at(at);
        let is_boundary = |before: &str| !before.ends_with(char::is_alphanumeric);
        let marked = before.trim_end_matches(SEPARATORS);
        let marked = BEFORE.iter().find_map(|mark| marked.strip_suffix(mark));
        let marked = marked.filter(|before| is_boundary(before));
        let (percent, after) = percent(rest);
        let ended = ["%", "th"].iter().find_map(|end| after.strip_prefix(end));
        let (before, after) = match (marked, ended) {
            (Some(before), _) => (before, ended.unwrap_or(after)),
            (None, Some(after)) if is_boundary(before) => (before, after),
            (None, _) => return None,
        };
        let quantile = Quantile::new(percent? / 100.0).filter(|quantile| quantile.level() < 1.0)?;
        let times = format!("{before} {after}");
        Some((times.replace(SEPARATORS, " ").trim().to_owned(), quantile))
    })
}

/// Reads the percent at the beginning of a text: `99.9`, `99_9`, `999`; returns what follows, too.
fn percent(text: &str) -> (Option<f64>, &str) {
    let end = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(end(text));
    // A part behind a line is one only if nothing else is probable: the p99 of target 2 is not p99.2.
    let part = rest.strip_prefix(['.', '_', '-']).map(|part| part.split_at(end(part)));
    let is_part = |part: &str| {
        rest.starts_with('.') || (part.starts_with('9') || part == "5") && whole.len() == 2
    };
    match part.filter(|(part, _)| !part.is_empty() && is_part(part)) {
        Some((part, rest)) => (format!("{whole}.{part}").parse().ok(), rest),
        // `p100` is the maximum.
        None if 2 < whole.len() && !whole.starts_with("10") => {
            (format!("{}.{}", &whole[..2], &whole[2..]).parse().ok(), rest)
        }
        None => (whole.parse().ok(), rest),
    }
}

/// Returns the highest percentile of the same times below this one that was measured too.
fn lower_percentile(metrics: &[String], index: usize) -> Option<usize> {
    let (of, own) = percentile(&metrics[index])?;
    let all = metrics.iter().enumerate();
    let all = all.filter_map(|(at, metric)| Some((at, percentile(metric)?)));
    let below = all.filter(|(_, (times, quantile))| {
        *times == of && (0.9..own.level()).contains(&quantile.level())
    });
    let level = |(_, (_, quantile)): &(usize, (String, Quantile))| quantile.level();
    Some(below.max_by(|one, other| level(one).total_cmp(&level(other)))?.0)
}

/// Returns a warning if there are high percentiles alone: those of a timer repeat superbly, and only the
/// shape shows it.
fn shape_unknown(metrics: &[String]) -> Option<Warning> {
    let levels = metrics.iter().filter_map(|metric| Some((metric, quantile(metric)?.level())));
    let levels: Vec<(&String, f64)> = levels.collect();
    let (metric, _) = levels.first()?;
    let text = || {
        format!(
            "no p50 is given beside {metric}: a high percentile that hardly differs from trial to trial may \
             be that of a timer (flat times with a sharp edge), and say nothing of the system; look at \
             the p50 and at the shape"
        )
    };
    levels.iter().all(|(_, level)| 0.5 < *level).then(|| Warning {
        code: Code::ShapeUnknown,
        metric: Some((*metric).clone()),
        level: None,
        text: text(),
    })
}

fn of_metric(metric: &Metric, requests: Option<u64>) -> Vec<Warning> {
    let name = &metric.metric;
    let warning = |code, level: Option<&Level>, text: String| Warning {
        code,
        metric: Some(name.clone()),
        level: level.map(|level| level.level.clone()),
        text,
    };
    let mut warnings = Vec::new();
    if let (Some(requests), Some(quantile)) = (requests, quantile(name)) {
        let beyond = (1.0 - quantile.level()) * requests as f64;
        let of = quantity::requests(requests);
        let beyond = format!("{name} of {of} rests on {beyond:.1} beyond it");
        match estimate::support(requests, quantile) {
            Support::Unsupported => warnings.push(warning(
                Code::UnsupportedQuantile,
                None,
                format!(
                    "{beyond}: it is unsupported, at least 10 are needed for an indication ({} requests)",
                    grouped(estimate::needed(quantile) as f64)
                ),
            )),
            Support::Indicative => warnings.push(warning(
                Code::IndicativeQuantile,
                None,
                format!("{beyond}: it is only an indication, 100 are needed for a decision"),
            )),
            Support::Sound => {}
        }
    }
    for level in &metric.levels {
        let Figures { n, rsd, sampling_floor, outliers, .. } = &level.figures;
        if *n < FEWEST {
            warnings.push(warning(
                Code::TooFewTrials,
                Some(level),
                format!("{name} at {}: {n} trials say little of their spread", level.level),
            ));
        }
        if let (Some(rsd), Some(floor)) = (*rsd, *sampling_floor)
            && rsd < NEAR_FLOOR * floor
        {
            warnings.push(warning(
                Code::NearFloor,
                Some(level),
                format!(
                    "{name} at {}: its RSD is what chance gives with so many requests; measure \
                     longer, not more often",
                    level.level
                ),
            ));
        }
        for outlier in outliers {
            warnings.push(warning(
                Code::Outlier,
                Some(level),
                format!("{name} at {}: trial {} lies apart", level.level, outlier.trial),
            ));
        }
    }
    if let Some(trend) = metric.trend_stratified.filter(|trend| trend.is_significant()) {
        let direction = if 0 < trend.s { "rise" } else { "fall" };
        warnings.push(warning(
            Code::Trend,
            None,
            format!(
                "{name}: the trials {direction} inside the levels (S = {} of {}, {}): a warm-up, \
                 or a drift",
                trend.s,
                trend.of,
                p_in_words(trend.p)
            ),
        ));
    }
    warnings
}

/// Returns the most superlinear level with its efficiency: of a rate by the level, if levels are numbers.
fn superlinear<'a>(
    trials: &Trials,
    levels: &'a [(String, Vec<usize>)],
    index: usize,
) -> Option<(&'a str, f64)> {
    if quantile(&trials.metrics[index]).is_some() {
        return None;
    }
    let units = |name: &str| name.parse().ok().filter(|n: &f64| n.is_finite());
    let level = |(name, rows): &(String, Vec<usize>)| {
        let values = values_of(trials, rows, index);
        Some(growth::Level { n: units(name)?, values, interval: None })
    };
    let mut known: Vec<growth::Level> = levels.iter().map(level).collect::<Option<_>>()?;
    known.sort_by(|a, b| a.n.total_cmp(&b.n));
    let (n, efficiency) = growth::superlinear(&known)?;
    let (name, _) = levels.iter().find(|(name, _)| units(name) == Some(n))?;
    Some((name, efficiency))
}
