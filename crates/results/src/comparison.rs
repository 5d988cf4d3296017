//! The comparison of two arms: two levels of one experiment, or two results directories.

use measure::comparison::{self, Better, Block};
use measure::quantity::p_in_words;
use serde::{Deserialize, Serialize};

use crate::found::Found;
use crate::metric::Metric;

pub use censored::Censored;

mod censored;
#[cfg(test)]
mod tests;

/// Version 1 had the mean of the logarithms as the effect, an interval around it, and no bounds.
pub const SCHEMA: &str = "benchwright.compare/2";

/// The probability of an error that a comparison accepts, over all its decisions together.
pub const SIGNIFICANCE: f64 = 0.05;
/// The difference that matters, as a share, if nobody states one.
pub const MARGIN: f64 = 0.03;

/// The trials of each arm from which on the speed of the machine is told from the difference of the arms.
const ENOUGH_FOR_SPEED: usize = 6;

/// Two arms, compared in each declared metric.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Comparison {
    pub schema: String,
    /// The arms by their names. B is judged, A is what it is compared with.
    pub a: String,
    pub b: String,
    /// The worst of the metrics' verdicts.
    pub verdict: Verdict,
    /// The difference that matters, as a share.
    pub margin: f64,
    /// The failures of the arms, in words: figures of requests that failed are not those of the service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// True if nothing says in which order the trials ran, so that `interleaved` is only not known to be true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub order_unknown: bool,
    /// The metrics that decide.
    pub metrics: Vec<Compared>,
    /// The percentiles of trials at one load, of all requests and of each label: they show where a
    /// difference lies, and decide nothing.
    pub percentiles: Vec<Shift>,
}

/// One metric of both arms.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Compared {
    pub metric: Metric,
    #[serde(flatten)]
    pub of: Of,
    pub verdict: Verdict,
    /// The reason why the figures of an arm are not compared, why they do not decide, or why failures do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The figure of B over that of A: 1.05 is five per cent more. It is the ratio at which the ranks of
    /// both agree, which a few trials that lie apart hardly move. Of numbers of events, each is one more
    /// than was counted. Null if an arm has no figure, or only bounds of one.
    pub effect: Option<f64>,
    /// The bounds of the effect, if some searches found only a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_bounds: Option<Found>,
    /// The ratios that the test does not refuse; it decides, and excludes 1 exactly if `p` is at most
    /// 1 − `confidence`. Null with too few trials to refuse any.
    pub interval: Option<(f64, f64)>,
    /// Its confidence: 0.95, or more where several metrics share the probability of an error.
    pub confidence: f64,
    /// The interval of the mean by Student's t over the blocks, to look at; null with one block.
    pub t_interval: Option<(f64, f64)>,
    /// The probability of ranks as far apart as these if both arms were equal.
    pub p: Option<f64>,
    /// The same at equal speed of the machine, to look at; absent where the speeds are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<Adjusted>,
    /// The median of the trials of each arm.
    pub median_a: Option<Found>,
    pub median_b: Option<Found>,
    /// The trials of each arm that were compared.
    pub trials_a: usize,
    pub trials_b: usize,
    /// The searches among them that found only a bound. Then the verdict holds whatever these would have
    /// found.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub censored_a: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub censored_b: usize,
    /// True if the verdict depends on what these would have found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub depends_on_bounds: bool,
    pub blocks: usize,
    /// True if the trials of both arms alternate. If not, a drift of the machine looks like a
    /// difference.
    pub interleaved: bool,
    /// The differences of the environment that the factor itself does not explain.
    pub environment_differences: Vec<Difference>,
    /// About how many further blocks are needed for a verdict; 0 if there is one, null if that
    /// cannot be known.
    pub more_blocks_needed: Option<u32>,
}

/// A metric of both arms at equal speed of the machine. It decides nothing, since an arm may change the
/// speed itself: by a larger footprint in the caches.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Adjusted {
    pub effect: f64,
    /// The ratios that the test does not refuse, with the confidence of the raw interval. Null with too
    /// few trials to refuse any.
    pub interval: Option<(f64, f64)>,
    pub p: f64,
    pub verdict: Verdict,
    /// The change of the figure's logarithm with that of the speed: −1 if a machine of half the speed
    /// doubles the figure.
    pub slope: f64,
}

/// The part of an experiment that both arms have in common.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Of {
    /// The levels of the other factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The label of the requests, if it is about some of a load only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl Of {
    /// Returns the part in words, as a prefix: `replicas=2 · half: `, or nothing if there is only one.
    pub fn prefix(&self) -> String {
        let parts: Vec<&str> = [&self.cell, &self.search, &self.label]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        if parts.is_empty() { String::new() } else { format!("{}: ", parts.join(" · ")) }
    }
}

/// A percentile of both arms.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Shift {
    pub metric: Metric,
    #[serde(flatten)]
    pub of: Of,
    pub effect: f64,
    /// The 95 % interval, of this percentile alone.
    pub interval: Option<(f64, f64)>,
    pub p: f64,
}

/// Something that was not the same for both arms.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Difference {
    /// `governor of host1`, `binary hotel`, `placement of geo-1.1`.
    pub what: String,
    /// Null if that arm has none, or if it is unknown.
    pub a: Option<String>,
    pub b: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Better,
    Worse,
    /// The difference is smaller than the margin, either way.
    Equivalent,
    /// More blocks are needed.
    Undecided,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Equivalent => "equivalent",
            Verdict::Undecided => "undecided",
        }
    }
}

impl From<comparison::Verdict> for Verdict {
    fn from(verdict: comparison::Verdict) -> Verdict {
        match verdict {
            comparison::Verdict::Better => Verdict::Better,
            comparison::Verdict::Worse => Verdict::Worse,
            comparison::Verdict::Equivalent => Verdict::Equivalent,
            comparison::Verdict::Undecided => Verdict::Undecided,
        }
    }
}

/// The figures of one metric in both arms, before they are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub metric: Metric,
    pub of: Of,
    pub blocks: Vec<Block>,
    /// The results of both arms, if some of them are only bounds; then there are no blocks.
    pub censored: Option<Censored>,
    /// The speed of the machine in each trial, in the places of the figures; empty if one is not known.
    pub speeds: Vec<Block>,
    pub interleaved: bool,
    /// The valid trials of each arm.
    pub trials: [Trials; 2],
}

/// The number of an arm's trials.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Trials {
    pub all: usize,
    /// Those that have no figure of the metric, since the service failed: see [`Metric::is_of_working_service`].
    pub failing: usize,
}

impl Trials {
    /// Counts trials, of which each has a figure of a working service or not.
    pub fn of(are_sound: impl Iterator<Item = bool>) -> Trials {
        are_sound.fold(Trials::default(), |Trials { all, failing }, is_sound| Trials {
            all: all + 1,
            failing: failing + usize::from(!is_sound),
        })
    }
}

impl Question {
    /// Returns the figures as those whose ratios are compared.
    fn ratios(&self) -> Vec<Block> {
        let all = |figures: &[f64]| figures.iter().map(|one| self.metric.for_ratio(*one)).collect();
        self.blocks.iter().map(|block| Block { a: all(&block.a), b: all(&block.b) }).collect()
    }

    fn p_value(&self) -> Option<f64> {
        match &self.censored {
            Some(arms) => arms.p_value(),
            None => comparison::p_value(&self.ratios()),
        }
    }
}

/// Compares two arms. `metrics` decide together, and share the probability of an error ([`significances`]).
pub fn compare(
    [a, b]: [&str; 2],
    metrics: Vec<Question>,
    percentiles: Vec<Question>,
    margin: f64,
    differences: &[Difference],
) -> Comparison {
    let p_values: Vec<Option<f64>> = metrics.iter().map(Question::p_value).collect();
    let levels = significances(&p_values);
    let metrics = metrics.into_iter().zip(levels);
    let metrics: Vec<Compared> = metrics
        .map(|(question, significance)| {
            let trials = question.trials;
            of_all(judged(question, significance, margin, differences), trials, significance)
        })
        .collect();
    let shift = |question: Question| {
        let found = comparison::compare(&question.ratios(), SIGNIFICANCE)?;
        let Question { metric, of, .. } = question;
        let interval = finite(found.interval);
        Some(Shift { metric, of, effect: found.ratio, interval, p: found.p })
    };
    Comparison {
        schema: SCHEMA.to_owned(),
        a: a.to_owned(),
        b: b.to_owned(),
        verdict: together(&metrics),
        margin,
        failures: Vec::new(),
        order_unknown: false,
        percentiles: percentiles.into_iter().filter_map(shift).collect(),
        metrics,
    }
}

fn judged(
    question: Question,
    significance: f64,
    margin: f64,
    differences: &[Difference],
) -> Compared {
    if let Some(arms) = &question.censored {
        return censored::judged(&question, arms, significance, margin, differences);
    }
    let ratios = question.ratios();
    let Question { metric, of, blocks, speeds, interleaved, .. } = question;
    let found = comparison::compare(&ratios, significance);
    let better: Better = metric.better();
    let verdict =
        found.map_or(Verdict::Undecided, |found| Verdict::from(found.verdict(better, margin)));
    let more = match verdict {
        Verdict::Undecided => comparison::more_blocks(&ratios, significance, margin),
        Verdict::Better | Verdict::Worse | Verdict::Equivalent => Some(0),
    };
    let all = |arm: fn(&Block) -> &Vec<f64>| -> Vec<f64> {
        blocks.iter().flat_map(arm).copied().collect()
    };
    let (of_a, of_b) = (all(|block| &block.a), all(|block| &block.b));
    let are_enough = ENOUGH_FOR_SPEED <= of_a.len().min(of_b.len());
    let adjusted = comparison::adjusted(&ratios, &speeds, significance).filter(|_| are_enough);
    let adjusted = adjusted.map(|found| Adjusted {
        effect: found.comparison.ratio,
        interval: finite(found.comparison.interval),
        p: found.comparison.p,
        verdict: found.comparison.verdict(better, margin).into(),
        slope: found.slope,
    });
    Compared {
        metric,
        of,
        verdict,
        refused: None,
        effect: found.map(|found| found.ratio),
        effect_bounds: None,
        interval: found.and_then(|found| finite(found.interval)),
        confidence: 1.0 - significance,
        t_interval: found.and_then(|found| found.t_interval),
        p: found.map(|found| found.p),
        adjusted,
        median_a: measure::estimate::median(&of_a).map(Found::Exact),
        median_b: measure::estimate::median(&of_b).map(Found::Exact),
        trials_a: of_a.len(),
        trials_b: of_b.len(),
        censored_a: 0,
        censored_b: 0,
        depends_on_bounds: false,
        blocks: blocks.len(),
        interleaved,
        environment_differences: differences.to_vec(),
        more_blocks_needed: more,
    }
}

/// Returns a comparison that holds for all trials of the arms, also for those in which the service failed: the others
/// alone are a choice by the result, and failures are fast. If more of B's fail than chance explains, B is worse,
/// whatever the figures of the others.
fn of_all(compared: Compared, trials: [Trials; 2], significance: f64) -> Compared {
    let [a, b] = trials;
    // What fails in B alone makes it no better.
    let holds = compared.verdict == Verdict::Worse && a.failing == 0;
    if a.failing + b.failing == 0 || holds {
        return compared;
    }
    let [of_a, of_b] = trials.map(|Trials { all, failing }| format!("{failing} of {all}"));
    let fails_more = a.failing * b.all < b.failing * a.all;
    match p_of_failing(trials).filter(|p| fails_more && *p <= significance) {
        Some(p) => {
            let text = format!(
                "too many requests failed in {of_b} trials of B, and in {of_a} of A ({}): a service that fails is \
                 worse, however fast it fails",
                p_in_words(p)
            );
            let (verdict, refused) = (Verdict::Worse, Some(text));
            Compared { verdict, refused, more_blocks_needed: Some(0), ..compared }
        }
        None => {
            let text = format!(
                "too many requests failed in {of_a} trials of A and {of_b} of B: figures of failures are not those of \
                 the service, and the others alone decide nothing; find out why they failed, or compare the goodput"
            );
            let (verdict, refused) = (Verdict::Undecided, Some(text));
            Compared { verdict, refused, more_blocks_needed: None, ..compared }
        }
    }
}

/// Returns the probability that the trials that fail lie as unevenly on both arms, if both were equal: by the test of
/// every comparison, of two figures.
fn p_of_failing(trials: [Trials; 2]) -> Option<f64> {
    let figures = |Trials { all, failing }| [vec![2.0; failing], vec![1.0; all - failing]].concat();
    let [a, b] = trials.map(figures);
    comparison::p_value(&[Block { a, b }])
}

/// Returns the significance at which each of several questions is judged that are asked together: the smallest
/// p against α/m, the next against α/(m − 1), and so on; from the first that is not refused on, all against the
/// same. The probability that one of them is called different although none is, is at most α (Holm,
/// *Scandinavian Journal of Statistics* 6, 1979).
pub(crate) fn significances(p_values: &[Option<f64>]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    let p = |index: usize| p_values[index].unwrap_or(1.0);
    order.sort_by(|&one, &other| p(one).total_cmp(&p(other)));
    let mut levels = vec![SIGNIFICANCE; p_values.len()];
    let mut left = p_values.len();
    for index in order {
        levels[index] = SIGNIFICANCE / left as f64;
        if p(index) <= levels[index] && 1 < left {
            left -= 1;
        }
    }
    levels
}

/// Returns the verdict of all metrics together: worse if one is worse, otherwise undecided if one is.
fn together(metrics: &[Compared]) -> Verdict {
    let has = |verdict: Verdict| metrics.iter().any(|compared| compared.verdict == verdict);
    [Verdict::Worse, Verdict::Undecided, Verdict::Better]
        .into_iter()
        .find(|verdict| has(*verdict))
        .unwrap_or(if metrics.is_empty() { Verdict::Undecided } else { Verdict::Equivalent })
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// An end that is not finite was not found: JSON has no infinity.
fn finite((low, high): (f64, f64)) -> Option<(f64, f64)> {
    (0.0 < low && high.is_finite()).then_some((low, high))
}
