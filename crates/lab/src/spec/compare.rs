//! The judgement of an experiment as a whole: which two arms are compared, and how far equal trials
//! may lie apart.

use measure::Share;
use measure::comparison::least_p;
use measure::quantity::p_in_words;
use results::Metric;
use results::comparison::{MARGIN, SIGNIFICANCE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::questions::scalar;
use super::source::SpecError;
use super::{Factor, Name, Order, Question, Resolved, Spec, Until, Written, questions, schema};

/// The comparison of two levels of a factor.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The factor. May be left out if the experiment has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<Name>,
    /// The two levels; the second is judged by the first. May be left out if the factor has two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<schema::Scalar>")]
    arms: Vec<Value>,
    /// The metrics that decide. If there are none: of a search its result, of trials at one load
    /// the p99, of a closed loop the completed rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::metrics")]
    pub metrics: Vec<Metric>,
    /// The difference that matters.
    #[serde(default = "margin")]
    pub margin: Written<Share>,
}

/// The spread of equal trials.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reproducibility {
    /// The spread that equal trials shall have.
    pub target: Target,
}

/// The relative standard deviation that equal trials shall have: it is met if the whole 95 % interval
/// of theirs is within it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The figure whose spread it is.
    #[schemars(schema_with = "schema::metric")]
    pub metric: Metric,
    /// The largest relative standard deviation.
    pub rsd: Written<Share>,
}

/// The two levels that are compared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Arms {
    pub(crate) factor: String,
    pub(crate) a: String,
    pub(crate) b: String,
}

/// The margin of a spec that states none.
fn margin() -> Written<Share> {
    Written(Share(MARGIN))
}

impl Compare {
    /// Returns the two levels of an experiment that was checked.
    pub(crate) fn arms(&self, resolved: &Resolved) -> Arms {
        self.find_arms(resolved).expect("the comparison was checked when the spec was read")
    }

    /// Returns the number of figures of a question that decide.
    fn figures(&self, question: &Question) -> usize {
        let has_search = question.resolved.spec.search.is_some();
        let measured = self.metrics.iter().filter(|metric| metric.is_of_search() == has_search);
        // Without metrics it is the usual one.
        if self.metrics.is_empty() { 1 } else { measured.count() }
    }

    fn find_arms(&self, resolved: &Resolved) -> Result<Arms, SpecError> {
        let factors = &resolved.spec.factors.0;
        let source = &resolved.source;
        let names = || factors.iter().map(|(name, _)| &**name).collect::<Vec<_>>().join(", ");
        let (name, factor) = match (&self.factor, &factors[..]) {
            (None, [only]) => only,
            (None, _) => {
                let message = match factors.len() {
                    0 => "two arms are compared, and there is no factor",
                    _ => "there are several factors to compare",
                };
                let label = match factors.len() {
                    0 => "add a factor with two levels".to_owned(),
                    _ => format!("write factor: with one of {}", names()),
                };
                return Err(source.error(message, source.find("compare:", "compare"), &label));
            }
            (Some(name), _) => {
                factors.iter().find(|(known, _)| known == name).ok_or_else(|| {
                    let place = source.find("factor:", name);
                    let label = format!("factors here: {}", names());
                    source.error(format!("no factor is called `{name}`"), place, &label)
                })?
            }
        };
        let Factor { levels, .. } = factor;
        let levels: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        let label = format!("write arms: with two of {}", levels.join(", "));
        let place = || source.find("compare:", "compare");
        let arms: Vec<String> = match &self.arms[..] {
            [] => levels.iter().map(|&level| level.to_owned()).collect(),
            arms => arms.iter().map(|arm| scalar(arm).unwrap_or_default()).collect(),
        };
        if let Some(unknown) = arms.iter().find(|arm| !levels.contains(&arm.as_str())) {
            let message = format!("`{name}` has no level `{unknown}`");
            return Err(source.error(message, source.find("arms:", unknown), &label));
        }
        match <[String; 2]>::try_from(arms) {
            Ok([a, b]) if a != b => Ok(Arms { factor: name.to_string(), a, b }),
            Ok(_) => Err(source.error("a level is compared with itself", place(), &label)),
            Err(arms) => {
                let message = format!("two arms are compared, and `{name}` has {}", arms.len());
                Err(source.error(message, place(), &label))
            }
        }
    }
}

/// Checks that the arms exist, and that each metric is one that the experiment measures.
pub(super) fn check(resolved: &Resolved, questions: &[Question]) -> Result<(), SpecError> {
    let source = &resolved.source;
    let error = |message: String, key: &str, name: &str, label: &str| {
        Err(source.error(message, source.find(key, name), label))
    };
    let has_search = questions.iter().any(|question| question.resolved.spec.search.is_some());
    let has_load = questions.iter().any(|question| question.resolved.spec.search.is_none());
    let measured = |metric: Metric| if metric.is_of_search() { has_search } else { has_load };
    if let Some(compare) = &resolved.spec.compare {
        compare.find_arms(resolved)?;
        if let Some(metric) = compare.metrics.iter().find(|metric| !measured(**metric)) {
            let label = match metric.is_of_search() {
                true => "compare a figure of trials, for example p99; or add a search",
                false => {
                    "write capacity or maximum_throughput: searches are compared by their results"
                }
            };
            let message = format!("no question here is compared by `{metric}`");
            return error(message, "metrics:", metric.name(), label);
        }
        if compare.margin.0.0 <= 0.0 {
            let label = "write for example 3%";
            return error("the margin is zero".into(), "margin:", "0", label);
        }
    }
    if let Some(until) = &resolved.spec.repeat.until
        && until.metric.is_of_search()
    {
        let message = format!("`{}` is not a figure of a trial", until.metric);
        let label = "write for example p99; repeat: {searches: 5} repeats searches";
        return error(message, "until:", until.metric.name(), label);
    }
    Ok(())
}

/// The trials of each arm for one question.
struct Trials {
    /// The field of `repeat` that says how many.
    field: &'static str,
    all: u32,
    /// The number in each block; `None` if all of them are one.
    in_a_block: Option<u32>,
}

impl Trials {
    fn of(question: &Question, order: Order, questions: usize) -> Trials {
        let Spec { search, repeat, .. } = &question.resolved.spec;
        let of_one = |field, trials: u32, in_a_block| Trials {
            field,
            all: trials.saturating_mul(repeat.searches.0),
            in_a_block,
        };
        let in_a_block = match order {
            Order::Listed | Order::Shuffled => None,
            Order::Interleaved => Some(1),
            Order::Blocks(of) => Some((of.0 / questions as u32).max(1)),
        };
        match (search, &repeat.until) {
            (Some(_), _) => of_one("searches", 1, None),
            (None, Some(until)) => of_one("max", until.max.0, in_a_block),
            (None, None) => of_one("trials", repeat.trials.0, in_a_block),
        }
    }

    /// Returns the smallest probability that they can show.
    fn least(&self) -> f64 {
        self.least_of(self.all)
    }

    /// Returns the same for another number of them.
    fn least_of(&self, all: u32) -> f64 {
        least_p(u64::from(all), u64::from(self.in_a_block.unwrap_or(all)))
    }
}

/// Checks that the trials of the arms can give a verdict. Only for a new run: the answer of an older one says how
/// many more it needs.
pub(super) fn check_trials(resolved: &Resolved) -> Result<(), SpecError> {
    const MOST: u32 = 1_000;
    let Some(compare) = &resolved.spec.compare else { return Ok(()) };
    let (cells, questions) = questions(resolved)?;
    let Arms { factor, a, .. } = compare.arms(resolved);
    let is_a = |question: &&Question| {
        cells[question.cell].levels.iter().any(|(name, level)| *name == factor && *level == a)
    };
    let of_a: Vec<&Question> = questions.iter().filter(is_a).collect();
    let figures: usize = of_a.iter().map(|question| compare.figures(question)).sum();
    // The clearest of several differences that are asked for together is judged at a part of the significance.
    let significance = SIGNIFICANCE / figures.max(1) as f64;
    let trials =
        of_a.iter().map(|one| Trials::of(one, resolved.spec.repeat.order, questions.len()));
    let Some(trials) = trials.min_by(|one, other| one.least().total_cmp(&other.least())) else {
        return Ok(());
    };
    if trials.least() <= significance {
        return Ok(());
    }
    let field = trials.field;
    let enough = (trials.all..MOST).find(|count| trials.least_of(*count) <= significance);
    let together = match figures {
        0 | 1 => String::new(),
        _ => format!(" of {figures} figures together"),
    };
    let message = format!("the comparison cannot decide: `{field}` of `repeat` is too small");
    let label = format!(
        "the clearest difference has {}, and a verdict{together} needs {}: write {field}: {} or more",
        p_in_words(trials.least()),
        p_in_words(significance).replace('=', "≤"),
        enough.unwrap_or(MOST)
    );
    Err(resolved.source.error(message, resolved.source.find("compare:", "compare"), &label))
}

/// Checks that a repetition can end by its interval. Only for a new run: results of earlier versions began
/// with two trials.
pub(super) fn check_until(resolved: &Resolved) -> Result<(), SpecError> {
    let (source, repeat) = (&resolved.source, &resolved.spec.repeat);
    let Some(until) = &repeat.until else { return Ok(()) };
    let (trials, max) = (repeat.trials.0, until.max.0);
    let (message, label) = match () {
        () if max < Until::FEWEST => (
            format!("`until` judges its interval from the fifth trial on, and `max` is {max}"),
            format!(
                "write max: {} or more; trials: {max} without until makes {max}",
                Until::FEWEST
            ),
        ),
        () if max < trials => (
            format!("`max` is {max}, and fewer than the {trials} trials that are made in any case"),
            format!("write max: {trials} or more"),
        ),
        () => return Ok(()),
    };
    Err(source.error(message, source.find("until:", "max"), &label))
}
