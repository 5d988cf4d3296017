//! `benchwright compare` of files: each file is a trial of its arm.

use std::path::PathBuf;

use measure::comparison::Block;
use measure::estimate::{FEWEST_BEYOND, Support, beyond, needed, support};
use measure::quantity::{counted, grouped};
use results::comparison::{self, Comparison, Difference, Of, Question, Trials};
use results::failing::Tally;
use results::foreign::{Checks, Code, Facts, Loop, OfLabel};
use results::metric::MetricOf;
use results::printed::Since;
use results::{Foreign, Metric};

use super::{MOST_LABELS, Says};
use console::output::Failure;

/// The figures that files have.
const KNOWN: [Metric; 9] = [
    Metric::Completed,
    Metric::Goodput,
    Metric::P50,
    Metric::P75,
    Metric::P90,
    Metric::P95,
    Metric::P99,
    Metric::P999,
    Metric::P9999,
];
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
    metrics: &[MetricOf],
    margin: Option<f64>,
) -> Result<Found, Failure> {
    // Together: no file may be on both sides.
    let mut of_a = super::read(&[a, b].concat(), says)?;
    let of_b = of_a.split_off(a.len());
    compared([&of_a, &of_b], metrics, margin.unwrap_or(comparison::MARGIN))
}

fn compared(arms: [&[Foreign]; 2], metrics: &[MetricOf], margin: f64) -> Result<Found, Failure> {
    if let Some(wanted) = metrics.iter().find(|wanted| !KNOWN.contains(&wanted.metric)) {
        let known: Vec<&str> = KNOWN.into_iter().map(Metric::name).collect();
        let text =
            format!("files of load generators have no `{wanted}`; compare {}", known.join(", "));
        return Err(Failure::question(text));
    }
    let meaning = times_differ(arms);
    let chosen: Vec<MetricOf> =
        if metrics.is_empty() { usual(arms, meaning.is_none()) } else { metrics.to_vec() };
    check(arms, &chosen, meaning.as_deref())?;
    let void = void(arms);
    let chosen_questions = chosen.iter().map(|wanted| match (&void, weak(arms, wanted)) {
        (Some(_), _) => question([&[], &[]], wanted),
        (None, Some(_)) => Question { blocks: vec![Block::default()], ..question(arms, wanted) },
        (None, None) => question(arms, wanted),
    });
    let to_look_at = Metric::PERCENTILES.into_iter().map(MetricOf::from).chain(by_label(arms));
    let are_comparable = meaning.is_none() && void.is_none();
    let to_look_at = to_look_at
        .filter(|wanted| are_comparable && have(arms, wanted) && weak(arms, wanted).is_none());
    let names = [name(arms[0]), name(arms[1])];
    let mut comparison = comparison::compare(
        [&names[0], &names[1]],
        chosen_questions.collect(),
        to_look_at.map(|wanted| question(arms, &wanted)).collect(),
        margin,
        &differences(arms),
    );
    for (compared, wanted) in comparison.metrics.iter_mut().zip(&chosen) {
        let failing = compared.refused.take();
        compared.refused = void.clone().or(failing).or_else(|| weak(arms, wanted));
    }
    comparison.order_unknown = true;
    comparison.failures =
        [("A", arms[0]), ("B", arms[1])].into_iter().filter_map(failures).collect();
    let mut warnings = warnings(arms, &chosen);
    warnings.extend(meaning.map(|why| format!("percentiles are not compared: {why}")));
    Ok(Found { comparison, warnings })
}

/// Returns the p50 and the highest usual percentile of each label, as far as all files have them: the tools differ in
/// those that they print.
fn by_label(arms: [&[Foreign]; 2]) -> Vec<MetricOf> {
    let labels = arms.into_iter().flatten().next().map(|first| first.facts.labels.keys());
    let mut wanted = Vec::new();
    for label in labels.into_iter().flatten().take(MOST_LABELS) {
        let of = |metric| MetricOf { label: Some(label.clone()), metric };
        let tail = [Metric::P99, Metric::P95, Metric::P90].map(of);
        wanted.push(of(Metric::P50));
        wanted.extend(tail.into_iter().find(|wanted| have(arms, wanted)));
    }
    wanted
}

/// Returns true if all files have this figure.
fn have(arms: [&[Foreign]; 2], wanted: &MetricOf) -> bool {
    arms.into_iter().flatten().all(|file| file.facts.wanted(wanted).is_some())
}

/// Refuses metrics that not all files have, or that do not mean the same in all.
fn check(arms: [&[Foreign]; 2], chosen: &[MetricOf], meaning: Option<&str>) -> Result<(), Failure> {
    for wanted in chosen {
        let mut all = arms.into_iter().flatten();
        if let Some(file) = all.find(|file| file.facts.wanted(wanted).is_none()) {
            let text = format!(
                "{} has no {wanted}; name a figure that all files have by --metrics",
                file.file
            );
            return Err(Failure::question(text));
        }
        if let Some(why) = meaning.filter(|_| wanted.metric.quantile().is_some()) {
            return Err(Failure::no_answer(format!("{wanted} cannot be compared: {why}")));
        }
    }
    if chosen.is_empty() {
        let why = meaning.unwrap_or("the files have no figure in common");
        return Err(Failure::no_answer(format!("nothing can be compared: {why}")));
    }
    Ok(())
}

/// Returns the figures of a metric in the files of both arms that have sound ones.
fn question(arms: [&[Foreign]; 2], wanted: &MetricOf) -> Question {
    let figures = |arm: &[Foreign]| {
        let sound = arm.iter().filter(|file| is_sound(file, wanted));
        sound.filter_map(|file| file.facts.wanted(wanted)).collect()
    };
    Question {
        metric: wanted.metric,
        of: Of { label: wanted.label.clone(), ..Of::default() },
        blocks: vec![Block { a: figures(arms[0]), b: figures(arms[1]) }],
        censored: None,
        speeds: Vec::new(),
        interleaved: false,
        trials: arms.map(|arm| Trials::of(arm.iter().map(|file| is_sound(file, wanted)))),
    }
}

/// Returns true if a figure is one of a working service, as far as the metric needs one.
fn is_sound(file: &Foreign, wanted: &MetricOf) -> bool {
    let of_label = wanted.label.as_ref().and_then(|label| file.facts.labels.get(label));
    let is_failing = file.facts.is_failing() || of_label.is_some_and(OfLabel::is_failing);
    !is_failing || !wanted.metric.is_of_working_service()
}

/// Returns the reason why no figure is compared: from those of a file nothing follows.
fn void(arms: [&[Foreign]; 2]) -> Option<String> {
    let all: Vec<&Foreign> = arms.into_iter().flatten().collect();
    let of = |code: Code| -> Vec<&Foreign> {
        let has = |file: &&Foreign| file.limits.iter().any(|limit| limit.code == code);
        all.iter().copied().filter(has).collect()
    };
    let contradictory = of(Code::Contradiction);
    if !contradictory.is_empty() {
        let why = "its figures contradict each other, so nothing follows from them";
        return Some(of_files(&contradictory, all.len(), true, why));
    }
    let not_valid = of(Code::NotValid);
    let mut limits = not_valid.first()?.limits.iter();
    let reason = limits.find(|limit| limit.code == Code::NotValid)?;
    let why = format!(
        "not valid, as its generator says itself, so nothing follows from it: measure again, or compare without it \
         ({})",
        reason.text
    );
    Some(of_files(&not_valid, all.len(), true, &why))
}

/// Returns the reason why a percentile decides nothing: it rests on too few requests of a file.
fn weak(arms: [&[Foreign]; 2], wanted: &MetricOf) -> Option<String> {
    let all: Vec<&Foreign> = arms.into_iter().flatten().collect();
    let weak = all.iter().filter(|file| is_sound(file, wanted) && is_weak(file, wanted));
    let weak: Vec<&Foreign> = weak.copied().collect();
    let first = weak.first()?;
    let text = format!("too few requests: {}", rests_on(first, wanted)?);
    Some(of_files(&weak, all.len(), true, &text))
}

/// Returns true if a percentile rests on too few requests of a file.
fn is_weak(file: &Foreign, wanted: &MetricOf) -> bool {
    let count = file.facts.count_of(wanted).zip(wanted.metric.quantile());
    count.is_some_and(|(count, level)| support(count, level) == Support::Unsupported)
}

/// Returns the requests of a file that a percentile rests on, in words.
fn rests_on(file: &Foreign, wanted: &MetricOf) -> Option<String> {
    let (count, level) = file.facts.count_of(wanted).zip(wanted.metric.quantile())?;
    Some(format!(
        "{} of {} lie beyond its {wanted}, and at least {FEWEST_BEYOND} are needed ({} requests)",
        beyond(count, level),
        counted(count),
        counted(needed(level))
    ))
}

/// Returns the failures of an arm in words; `None` if there are none.
fn failures((letter, arm): (&str, &[Foreign])) -> Option<String> {
    let facts = || arm.iter().map(|file| &file.facts);
    let counts = [
        ("requests", in_all(facts().filter_map(Facts::tally))),
        ("checks", in_all(facts().filter_map(|facts| facts.checks.map(Checks::tally)))),
    ];
    let counts = counts.into_iter().filter(|(_, all)| 0 < all.failed).map(|(what, all)| {
        let (failed, of) = (counted(all.failed), counted(all.requests));
        format!("{failed} of {of} {what} failed ({:.2} %)", 100.0 * all.failed_share())
    });
    let counts: Vec<String> = counts.collect();
    let rest = match facts().filter(|facts| facts.is_failing()).count() {
        0 => String::new(),
        n if n == arm.len() => {
            ": no file shows a working service, and only its goodput is compared".to_owned()
        }
        n => format!(
            ": {n} of {} files show no working service, and only the goodput of these is compared",
            arm.len()
        ),
    };
    (!counts.is_empty()).then(|| format!("{letter}: {}{rest}", counts.join(", ")))
}

fn in_all(tallies: impl Iterator<Item = Tally>) -> Tally {
    let nothing = Tally { requests: 0, failed: 0, unfinished: 0 };
    tallies.fold(nothing, |all, one| Tally {
        requests: all.requests.saturating_add(one.requests),
        failed: all.failed.saturating_add(one.failed),
        unfinished: all.unfinished.saturating_add(one.unfinished),
    })
}

fn name(arm: &[Foreign]) -> String {
    match arm {
        [only] => only.file.clone(),
        [first, others @ ..] => format!("{} and {} more", first.file, others.len()),
        [] => String::new(),
    }
}

/// In an open loop the rate was given, so it decides nothing.
fn usual(arms: [&[Foreign]; 2], are_times_comparable: bool) -> Vec<MetricOf> {
    let all = || arms.into_iter().flatten();
    let has = |metric: &Metric| all().all(|file| file.facts.figure(*metric).is_some());
    let is_open = all().all(|file| file.facts.pacing == Some(Loop::Open));
    let rate = Some(Metric::Completed).filter(|metric| !is_open && has(metric));
    let percentile = DECIDING.into_iter().find(has).filter(|_| are_times_comparable);
    rate.into_iter().chain(percentile).map(MetricOf::from).collect()
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

/// Returns what the files do not support and the comparison would need, each kind once, with its files.
fn warnings(arms: [&[Foreign]; 2], chosen: &[MetricOf]) -> Vec<String> {
    let weakens = |code: Code| match code {
        Code::NotValid | Code::Incomplete | Code::Contradiction | Code::ClosedLoop => true,
        Code::FromSending | Code::LoopUnknown | Code::SinceUnknown | Code::NotSent => true,
        Code::Behind | Code::LeftOut | Code::LowerBounds | Code::CoarseTimes => true,
        // The document says them, in every form.
        Code::Failing | Code::FailuresAmongTimes => false,
        Code::OnlyQuantiles | Code::FewRequests | Code::CountUnknown => false,
        Code::RateUnknown | Code::GeneratorUnknown | Code::OfTool => false,
    };
    let all = || arms.into_iter().flatten();
    let mut kinds: Vec<(String, Vec<(&Foreign, String)>)> = Vec::new();
    let mut add = |file, text: String| {
        let kind = kind(&text);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, found)) => found.push((file, text)),
            None => kinds.push((kind, vec![(file, text)])),
        }
    };
    for file in all() {
        let limits = file.limits.iter().filter(|limit| weakens(limit.code));
        limits.for_each(|limit| add(file, limit.text.clone()));
        let weak = chosen.iter().filter(|wanted| is_weak(file, wanted));
        let texts = weak.filter_map(|wanted| rests_on(file, wanted));
        texts.for_each(|text| add(file, text));
    }
    let count = all().count();
    let in_words = |(_, found): (String, Vec<(&Foreign, String)>)| {
        let files: Vec<&Foreign> = found.iter().map(|(file, _)| *file).collect();
        let is_same = found.iter().all(|(_, text)| *text == found[0].1);
        of_files(&files, count, !is_same, &found[0].1)
    };
    kinds.into_iter().map(in_words).collect()
}

/// Returns a sentence with the files that it is about: `4 of 10 files, such as b-1.json: …`.
fn of_files(files: &[&Foreign], all: usize, is_example: bool, text: &str) -> String {
    let first = files.first().map_or("", |file| file.file.as_str());
    match files.len() {
        1 => format!("{first}: {text}"),
        n if n == all && !is_example => format!("all {n} files: {text}"),
        n if n == all => format!("all {n} files, such as {first}: {text}"),
        n => format!("{n} of {all} files, such as {first}: {text}"),
    }
}

/// Returns a sentence without its figures and their units: files differ in these alone.
fn kind(text: &str) -> String {
    const UNITS: [&str; 7] = ["ns", "µs", "ms", "s", "min", "h", "%"];
    let is_figure = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let is_unit = |word: &str| UNITS.contains(&word.trim_matches([',', ';', '.', ':', '(', ')']));
    let words = text.split_ascii_whitespace().filter(|word| !is_figure(word) && !is_unit(word));
    words.collect::<Vec<&str>>().join(" ")
}
