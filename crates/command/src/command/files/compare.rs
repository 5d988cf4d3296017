//! `benchwright compare` of files: each file is a trial of its arm.

use std::path::PathBuf;

use measure::comparison::Block;
use measure::estimate::{Support, support};
use measure::quantity::grouped;
use results::comparison::{self, Comparison, Difference, Of, Question};
use results::foreign::{Code, Loop};
use results::printed::Since;
use results::{Foreign, Metric};

use super::Says;
use console::output::Failure;

/// The figures that files have.
const KNOWN: [Metric; 5] = [Metric::Completed, Metric::P50, Metric::P90, Metric::P99, Metric::P999];
/// The percentile that decides unless the user names others: the first that all files have.
const DECIDING: [Metric; 3] = [Metric::P99, Metric::P90, Metric::P50];

/// A comparison, with what speaks against it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) comparison: Comparison,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn compare(
    [a, b]: [&[PathBuf]; 2],
    says: &Says,
    metrics: &[Metric],
    margin: Option<f64>,
) -> Result<Found, Failure> {
    let (of_a, of_b) = (super::read(a, says)?, super::read(b, says)?);
    compared([&of_a, &of_b], metrics, margin.unwrap_or(comparison::MARGIN))
}

fn compared(arms: [&[Foreign]; 2], metrics: &[Metric], margin: f64) -> Result<Found, Failure> {
    let all = || arms.into_iter().flatten();
    if let Some(metric) = metrics.iter().find(|metric| !KNOWN.contains(metric)) {
        let known: Vec<&str> = KNOWN.into_iter().map(Metric::name).collect();
        let text =
            format!("files of load generators have no `{metric}`; compare {}", known.join(", "));
        return Err(Failure::question(text));
    }
    let meaning = times_differ(arms);
    let lacks = |metric: Metric| all().find(|file| file.facts.figure(metric).is_none());
    let chosen: Vec<Metric> =
        if metrics.is_empty() { usual(arms, meaning.is_none()) } else { metrics.to_vec() };
    for metric in &chosen {
        if let Some(file) = lacks(*metric) {
            let text = format!(
                "{} has no {metric}; name a figure that all files have by --metrics",
                file.file
            );
            return Err(Failure::question(text));
        }
        if let Some(why) = meaning.as_ref().filter(|_| metric.quantile().is_some()) {
            return Err(Failure::no_answer(format!("{metric} cannot be compared: {why}")));
        }
    }
    if chosen.is_empty() {
        let why = meaning.unwrap_or_else(|| "the files have no figure in common".to_owned());
        return Err(Failure::no_answer(format!("nothing can be compared: {why}")));
    }
    let question = |metric: Metric| {
        let figures =
            |arm: &[Foreign]| arm.iter().filter_map(|file| file.facts.figure(metric)).collect();
        Question {
            metric,
            of: Of::default(),
            blocks: vec![Block { a: figures(arms[0]), b: figures(arms[1]) }],
            censored: None,
            speeds: Vec::new(),
            interleaved: false,
        }
    };
    let to_look_at = Metric::PERCENTILES.into_iter().filter(|metric| lacks(*metric).is_none());
    let to_look_at = to_look_at.filter(|_| meaning.is_none()).map(question).collect();
    let names = [name(arms[0]), name(arms[1])];
    let comparison = comparison::compare(
        [&names[0], &names[1]],
        chosen.iter().copied().map(question).collect(),
        to_look_at,
        margin,
        &differences(arms),
    );
    let mut warnings = warnings(arms, &chosen);
    warnings.extend(meaning.map(|why| format!("percentiles are not compared: {why}")));
    Ok(Found { comparison, warnings })
}

fn name(arm: &[Foreign]) -> String {
    match arm {
        [only] => only.file.clone(),
        [first, others @ ..] => format!("{} and {} more", first.file, others.len()),
        [] => String::new(),
    }
}

/// In an open loop the rate was given, so it decides nothing.
fn usual(arms: [&[Foreign]; 2], are_times_comparable: bool) -> Vec<Metric> {
    let all = || arms.into_iter().flatten();
    let has = |metric: &Metric| all().all(|file| file.facts.figure(*metric).is_some());
    let is_open = all().all(|file| file.facts.pacing == Some(Loop::Open));
    let rate = Some(Metric::Completed).filter(|metric| !is_open && has(metric));
    let percentile = DECIDING.into_iter().find(has).filter(|_| are_times_comparable);
    rate.into_iter().chain(percentile).collect()
}

/// Returns the reason why times of both arms do not mean the same.
fn times_differ(arms: [&[Foreign]; 2]) -> Option<String> {
    let all = || arms.into_iter().flatten();
    let first = all().next()?;
    let other = |differs: &dyn Fn(&Foreign) -> bool| all().find(|file| differs(file));
    if let Some(file) = other(&|file| file.facts.since != first.facts.since) {
        return Some(format!(
            "times count {} in {} and {} in {}",
            moment(first.facts.since),
            first.file,
            moment(file.facts.since),
            file.file
        ));
    }
    other(&|file| file.facts.pacing != first.facts.pacing).map(|file| {
        format!(
            "the loop is {} in {} and {} in {}",
            word(first.facts.pacing),
            first.file,
            word(file.facts.pacing),
            file.file
        )
    })
}

fn moment(since: Option<Since>) -> &'static str {
    match since {
        Some(Since::Intended) => "from the intended start",
        Some(Since::Sent) => "from sending",
        None => "from an unknown moment",
    }
}

fn word(pacing: Option<Loop>) -> &'static str {
    pacing.map_or("unknown", Loop::word)
}

/// A property of a file by its name.
type Property<'a> = (&'a str, &'a dyn Fn(&Foreign) -> Option<String>);

/// Returns what was not the same for both arms, as far as the files say it.
fn differences([a, b]: [&[Foreign]; 2]) -> Vec<Difference> {
    let values = |arm: &[Foreign], of: &dyn Fn(&Foreign) -> Option<String>| {
        let mut values: Vec<String> = arm.iter().filter_map(of).collect();
        values.sort();
        values.dedup();
        (!values.is_empty()).then(|| values.join(", "))
    };
    let compared: [Property<'_>; 5] = [
        ("tool", &|file| Some(file.tool.clone())),
        ("format", &|file| Some(file.format.clone())),
        ("loop", &|file| Some(word(file.facts.pacing).to_owned())),
        ("times", &|file| Some(moment(file.facts.since).to_owned())),
        ("asked rate", &|file| file.facts.asked_per_s.map(|rate| format!("{}/s", grouped(rate)))),
    ];
    let one = |(what, of): Property<'_>| {
        let (a, b) = (values(a, of), values(b, of));
        (a != b).then(|| Difference { what: what.to_owned(), a, b })
    };
    compared.into_iter().filter_map(one).collect()
}

/// Returns what the files do not support and the comparison would need, each once.
fn warnings(arms: [&[Foreign]; 2], chosen: &[Metric]) -> Vec<String> {
    let weakens = |code: Code| match code {
        Code::NotValid | Code::Incomplete | Code::ClosedLoop | Code::FromSending => true,
        Code::LoopUnknown | Code::SinceUnknown | Code::NotSent | Code::Behind => true,
        Code::LeftOut | Code::FailuresAmongTimes | Code::CoarseTimes => true,
        Code::OnlyQuantiles | Code::FewRequests | Code::CountUnknown => false,
        Code::RateUnknown | Code::GeneratorUnknown | Code::OfTool => false,
    };
    let all = || arms.into_iter().flatten();
    let mut warnings: Vec<String> = Vec::new();
    for limit in all().flat_map(|file| &file.limits).filter(|limit| weakens(limit.code)) {
        if !warnings.contains(&limit.text) {
            warnings.push(limit.text.clone());
        }
    }
    for level in chosen.iter().filter_map(|metric| metric.quantile()) {
        let is_weak = |file: &&Foreign| {
            file.facts.count().is_some_and(|count| support(count, level) == Support::Unsupported)
        };
        if let Some(file) = all().find(is_weak) {
            warnings.push(format!("{} has too few requests for {}", file.file, level.name()));
        }
    }
    warnings
}
