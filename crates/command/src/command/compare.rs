//! `benchwright compare`: whether one version is better than another.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use lab::comparison::{change, changes, effect_in_words, in_words, is_censored};
use lab::past::Past;
use measure::Share;
use measure::estimate::CONFIDENCE;
use measure::quantity::probability;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use results::answer::{failing_in_words, validity_in_words};
use results::comparison::{Compared, Difference, MARGIN, Shift, Verdict};
use results::journal::{Entry, OfLabel, Purpose, Status};
use results::metric::MetricOf;
use results::{Comparison, Metric};

use super::files::{self, Says};
use super::run::failed;
use super::unread;
use console::output::{self, Exit, Failure};

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 better or equivalent, 1 worse, 3 undecided.",
    after_long_help = "B is judged by A. A metric is\n  \
        worse or better  if the interval of the ratio excludes 1 and the ratio is beyond the margin,\n  \
        equivalent       if the interval lies within the margin on both sides,\n  \
        undecided        otherwise: about so many more blocks, or trials, are needed.\n\
        Trials with more than 3 % of failures, or more than the SLO allows, have no figure but the goodput: where \
        more of B's fail than chance explains, B is worse.\n\
        A search that found only a bound (\"at least 300/s\") counts with both ends of what it leaves open.\n\n\
        The best comparison is one experiment with a factor of two levels, whose trials run in random \
        blocks, so that a drift of the machine meets both alike:\n\n  \
        factors: {version: {levels: [{name: old, set: {…}}, {name: new, set: {…}}]}}\n  \
        repeat: {trials: 10, order: {blocks: 4}}\n  \
        compare: {metrics: [p99], margin: 3%}\n\n  \
        benchwright compare results/versions-2026-11-24-1012\n\n\
        Two directories ran one after the other: then what differs between their machines is listed first, and a \
        drift can look like a difference.\n\n\
        Files of load generators (`analyse --help` lists the formats) are compared as far as they support it. A \
        file is one trial, so two files show the effect without an interval; several of each side decide:\n\n  \
        benchwright compare old.json new.json\n  \
        benchwright compare --a old-*.json --b new-*.json --metrics p99\n\n\
        Exit codes: 0 better or equivalent, 1 worse, 3 undecided."
)]
pub(crate) struct Compare {
    /// A results directory: of the version to compare with, or of both if its spec has `compare`; or a file of
    /// a load generator
    #[arg(required_unless_present = "of_a")]
    pub(crate) a: Option<PathBuf>,
    /// The results directory, or the file, of the version that is judged
    pub(crate) b: Option<PathBuf>,
    /// The files of the version to compare with, each a trial
    #[arg(long = "a", id = "of_a", value_name = "FILE", num_args = 1.., requires = "of_b", conflicts_with = "a")]
    pub(crate) of_a: Vec<PathBuf>,
    /// The files of the version that is judged
    #[arg(long = "b", id = "of_b", value_name = "FILE", num_args = 1.., requires = "of_a", conflicts_with = "b")]
    pub(crate) of_b: Vec<PathBuf>,
    /// The metrics that decide: completed, goodput, p50, p90, p99, p99.9, capacity,
    /// maximum_throughput; of the requests with a label login.p50, login.p99; of events delivery_p50, delivery_p90,
    /// delivery_p99, delivery_p99.9, delivery_p99.99, lost, duplicated; of files also p75, p95, p99.99 [default: those
    /// of the spec, or what its question asks for]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = wanted)]
    pub(crate) metrics: Vec<MetricOf>,
    /// The difference that matters [default: that of the spec, or 3%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) margin: Option<Share>,
    /// Print a JSON document
    #[arg(long, conflicts_with_all = ["markdown", "junit"])]
    pub(crate) json: bool,
    /// Print Markdown, for a pull request
    #[arg(long, conflicts_with = "junit")]
    pub(crate) markdown: bool,
    /// Print JUnit XML, for a CI server
    #[arg(long)]
    pub(crate) junit: bool,
    #[command(flatten)]
    pub(crate) says: Says,
}

pub(crate) fn compare(arguments: &Compare) -> Result<Exit, Failure> {
    let Compare { a, b, metrics, margin, .. } = arguments;
    let margin = margin.map(|margin| margin.0);
    if let Some(arms) = arms(arguments)? {
        let found = files::compare::compare(arms, &arguments.says, metrics, margin)?;
        found.warnings.iter().for_each(|warning| output::error(&format!("! {warning}")));
        return print(arguments, &found.comparison);
    }
    if let Some(wanted) = metrics.iter().find(|wanted| is_of_files(wanted)) {
        let instead =
            if wanted.label.is_some() { "p50 or p99 of it" } else { "p50, p90, p99 or p99.9" };
        let text = format!(
            "trials keep no {wanted}, which only files of load generators have; compare {instead}"
        );
        return Err(Failure::question(text));
    }
    let a = a.as_ref().expect("without files there is a directory");
    if let Some(b) = b
        && a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
    {
        let (a, b) = (results::regular::shown(a), results::regular::shown(b));
        return Err(Failure::question(format!("{a} and {b} are the same directory; name two")));
    }
    let past = Past::read(a).map_err(failed)?;
    let other = b.as_ref().map(|b| Past::read(b).map_err(failed)).transpose()?;
    let found = match &other {
        None => past.compared(metrics, margin),
        Some(other) => {
            // The version that is judged brings the rule.
            let own = other.resolved.spec.compare.as_ref().or(past.resolved.spec.compare.as_ref());
            let usual = own.map(|own| own.metrics.iter().copied().map(MetricOf::from).collect());
            let usual: Vec<MetricOf> = usual.unwrap_or_default();
            let metrics = if metrics.is_empty() { &usual } else { metrics };
            let margin = margin.or(own.map(|own| own.margin.0.0)).unwrap_or(MARGIN);
            past.compared_with(other, metrics, margin)
        }
    };
    let mut found = found.map_err(failed)?;
    if let Some(other) = other.as_ref().filter(|other| is_copy(&past, other)) {
        return Err(Failure::question(format!(
            "{} and {} are of the same run: one is a copy of the other; name two runs",
            past.name, other.name
        )));
    }
    let both = || [Some(&past), other.as_ref()].into_iter().flatten();
    for past in both() {
        unread::tell(past);
        not_all_valid(past).iter().for_each(|words| output::error(words));
    }
    found.failures = both().filter_map(failing).collect();
    let exit = print(arguments, &found)?;
    if found.verdict == Verdict::Undecided {
        let go_on = both().filter_map(|past| past.answer().go_on(&past.name));
        go_on.for_each(|command| output::error(&format!("go on    {command}")));
    }
    // What is left of the trials may decide, but nothing shows which of two texts is the true one.
    Ok(if both().any(Past::departs) { Exit::NoAnswer } else { exit })
}

/// Returns true if two directories have the same first trial, as copies have. Equal runs on virtual time have equal
/// trials, and no date.
fn is_copy(past: &Past, other: &Past) -> bool {
    let first = |past: &Past| past.manifest.started_unix_s.zip(past.journal.first().cloned());
    first(past).is_some() && first(past) == first(other)
}

/// Prints a comparison in the form that was asked for.
fn print(arguments: &Compare, found: &Comparison) -> Result<Exit, Failure> {
    output::result(&match () {
        () if arguments.json => output::json(found),
        () if arguments.markdown => markdown(found),
        () if arguments.junit => junit(found)?,
        () => text(found),
    })?;
    Ok(match found.verdict {
        Verdict::Better | Verdict::Equivalent => Exit::Answered,
        Verdict::Worse => Exit::No,
        Verdict::Undecided => Exit::NoAnswer,
    })
}

/// Reads a metric, also one that only files of load generators have.
pub(super) fn wanted(name: &str) -> Result<MetricOf, String> {
    if let Ok(metric) = Metric::of_files(name) {
        return Ok(MetricOf::from(metric));
    }
    name.parse().or_else(|why| {
        let of_label = |metric: &Metric| {
            let label = name.strip_suffix(metric.name())?.strip_suffix('.')?;
            (!label.is_empty()).then(|| MetricOf { label: Some(label.to_owned()), metric: *metric })
        };
        let mut percentiles = Metric::PERCENTILES.iter().chain(&Metric::OF_FILES);
        percentiles.find_map(of_label).ok_or(why)
    })
}

/// Returns true for a metric that trials keep no figures of.
fn is_of_files(wanted: &MetricOf) -> bool {
    Metric::OF_FILES.contains(&wanted.metric)
        || wanted.label.is_some() && !OfLabel::METRICS.contains(&wanted.metric)
}

/// Returns the files of both sides; `None` if directories were named.
fn arms(arguments: &Compare) -> Result<Option<[&[PathBuf]; 2]>, Failure> {
    if !arguments.of_a.is_empty() {
        return Ok(Some([arguments.of_a.as_slice(), arguments.of_b.as_slice()]));
    }
    // What is not there is refused as the directory that it should be.
    let is_file =
        |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.exists() && !path.is_dir());
    match (is_file(&arguments.a), is_file(&arguments.b)) {
        (false, false) => Ok(None),
        (true, true) => Ok(Some([arguments.a.as_slice(), arguments.b.as_slice()])),
        _ => Err(Failure::question(
            "one side is a file and the other is not; name two files of load generators, or two results \
             directories",
        )),
    }
}

/// Returns the failures of a run, if there are so many in a trial that its figures are not those of a working
/// service.
pub(super) fn failing(past: &Past) -> Option<String> {
    let words = failing_in_words(past.journal.iter())?;
    Some(format!("{}: {words}", past.name))
}

/// Returns the trials of a run that were not valid, or disturbed, in the words of every other command; `None`
/// if there were none.
fn not_all_valid(past: &Past) -> Option<String> {
    let trials = || past.journal.iter().filter(|entry| entry.purpose == Purpose::Trial);
    let is_whole = |entry: &Entry| entry.status == Status::Valid && entry.disturbed.is_empty();
    (!trials().all(is_whole))
        .then(|| format!("! {}: {}", past.name, validity_in_words(past.journal.iter())))
}

/// The facts that a reader has to know before the figures: failures, differences of the environments, and the
/// order.
struct Caveats<'a> {
    failures: &'a [String],
    differences: &'a [Difference],
    not_interleaved: bool,
    order_unknown: bool,
}

impl Caveats<'_> {
    fn of(comparison: &Comparison) -> Caveats<'_> {
        let first = comparison.metrics.first();
        Caveats {
            failures: &comparison.failures,
            order_unknown: comparison.order_unknown,
            differences: first.map_or(&[], |first| &first.environment_differences),
            not_interleaved: comparison.metrics.iter().any(|compared| !compared.interleaved),
        }
    }

    /// Returns each sentence, and true if the list of the differences belongs to it.
    fn sentences(&self) -> Vec<(String, bool)> {
        let mut sentences: Vec<(String, bool)> =
            self.failures.iter().map(|failure| (failure.clone(), false)).collect();
        if !self.differences.is_empty() {
            let text = format!("not the same environment: {} differ", self.count());
            sentences.push((text, true));
        }
        if self.order_unknown {
            let text = "the order of the trials is not known, since files do not say whether the arms alternated: \
                        a drift of the machine looks like a difference between them; one experiment with \
                        repeat.order: {blocks: 4} alternates them";
            sentences.push((text.to_owned(), false));
        } else if self.not_interleaved {
            let text = "not interleaved: the arms ran one after the other, and a drift of the machine looks \
                 like a difference between them; run both in one experiment with repeat.order: {blocks: 4}";
            sentences.push((text.to_owned(), false));
        }
        sentences
    }

    fn count(&self) -> String {
        let named: Vec<&str> =
            self.differences.iter().take(3).map(|difference| difference.what.as_str()).collect();
        let further = self.differences.len() - named.len();
        let further = if further == 0 { String::new() } else { format!(" and {further} more") };
        format!("{}{further}", named.join(", "))
    }
}

/// Returns a value in one line.
fn value(value: &Option<String>) -> String {
    value.as_deref().map_or("–".to_owned(), |value| value.replace(char::is_control, " "))
}

/// Returns a sentence for each figure that has two intervals: which one decides, and what the other one is.
fn notes(comparison: &Comparison) -> Vec<&'static str> {
    let Comparison { metrics, percentiles, .. } = comparison;
    let has_alone = |compared: &Compared| {
        let is_same = |shift: &Shift| {
            shift.metric == compared.metric && shift.of == compared.of && shift.interval.is_some()
        };
        compared.interval.is_some()
            && CONFIDENCE + 1e-9 < compared.confidence
            && percentiles.iter().any(is_same)
    };
    let speed = "the verdict is that of the change as measured; the one at equal machine speed leaves out what the \
                 speed of the machine explains, and decides nothing";
    let alone = "the verdict has the wider interval of a percentile that stands twice: its metrics share the 5 % of \
                 errors, and a percentile to look at has them for itself";
    let has_speed = metrics.iter().any(|compared| compared.adjusted.is_some());
    let all = [(has_speed, speed), (metrics.iter().any(has_alone), alone)];
    all.into_iter().filter_map(|(is_there, note)| is_there.then_some(note)).collect()
}

pub(super) fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    let caveats = Caveats::of(comparison);
    let width = |difference: &Difference| difference.what.chars().count();
    let width = caveats.differences.iter().map(width).max().unwrap_or_default();
    for (sentence, is_listed) in caveats.sentences() {
        let _ = writeln!(text, "! {sentence}");
        for Difference { what, a, b } in caveats.differences.iter().filter(|_| is_listed) {
            let _ = writeln!(text, "    {what:<width$}  {} → {}", value(a), value(b));
        }
    }
    let Comparison { a, b, verdict, margin, .. } = comparison;
    let _ =
        writeln!(text, "{b} compared with {a}: {}  (margin {})", verdict.word(), Share(*margin));
    for compared in &comparison.metrics {
        let _ = writeln!(text, "  {}{}", compared.of.prefix(), in_words(compared));
    }
    if !comparison.percentiles.is_empty() {
        text += "percentiles, to look at:\n";
    }
    for Shift { metric, of, effect, interval, .. } in &comparison.percentiles {
        let interval = interval.map(|interval| format!("  ({})", changes(interval)));
        let _ = writeln!(
            text,
            "  {}{:<6} {:>9}{}",
            of.prefix(),
            metric.name(),
            change(*effect),
            interval.unwrap_or_default()
        );
    }
    for note in notes(comparison) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

pub(super) fn markdown(comparison: &Comparison) -> String {
    let Comparison { a, b, verdict, margin, .. } = comparison;
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text =
        format!("### {} {}: `{b}` compared with `{a}`\n\n", symbol(*verdict), verdict.word());
    let caveats = Caveats::of(comparison);
    for (sentence, _) in caveats.sentences() {
        let _ = writeln!(text, "> {}\n", cell(&sentence));
    }
    let is_adjusted = comparison.metrics.iter().any(|compared| compared.adjusted.is_some());
    let (title, line) = if is_adjusted { (" at equal speed |", "---:|") } else { ("", "") };
    let _ = writeln!(
        text,
        "| metric | verdict | change | interval | p |{title} trials | blocks |\n\
         |---|---|---:|---:|---:|{line}---:|---:|"
    );
    for compared in &comparison.metrics {
        let Compared { metric, of, verdict, interval, p, trials_a, trials_b, blocks, .. } =
            compared;
        let interval = interval.map(changes);
        let adjusted = match &compared.adjusted {
            _ if !is_adjusted => String::new(),
            None => " – |".to_owned(),
            Some(adjusted) => match adjusted.interval {
                Some(interval) => format!(" {} ({}) |", change(adjusted.effect), changes(interval)),
                None => format!(" {} |", change(adjusted.effect)),
            },
        };
        let _ = writeln!(
            text,
            "| {}{metric} | {} {} | {} | {} | {} |{adjusted} {trials_a} + {trials_b} | {blocks} |",
            cell(&of.prefix()),
            symbol(*verdict),
            verdict.word(),
            effect_in_words(compared).unwrap_or_else(|| "–".to_owned()),
            interval.unwrap_or_else(|| "–".to_owned()),
            p.map_or("–".to_owned(), probability),
        );
    }
    let is_explained = |compared: &&Compared| is_censored(compared) || compared.refused.is_some();
    for compared in comparison.metrics.iter().filter(is_explained) {
        let words = format!("{}{}", compared.of.prefix(), in_words(compared));
        let _ = writeln!(text, "\n> {}", cell(&words));
    }
    let _ = writeln!(text, "\nMargin {}.", Share(*margin));
    for note in notes(comparison) {
        let _ = writeln!(text, "\n> Note: {note}.");
    }
    if !comparison.percentiles.is_empty() {
        text += "\n<details><summary>Percentiles, to look at</summary>\n\n\
                 | percentile | change | interval |\n|---|---:|---:|\n";
        for Shift { metric, of, effect, interval, .. } in &comparison.percentiles {
            let (of, effect) = (cell(&of.prefix()), change(*effect));
            let interval = interval.map_or("–".to_owned(), changes);
            let _ = writeln!(text, "| {of}{metric} | {effect} | {interval} |");
        }
        text += "\n</details>\n";
    }
    if !caveats.differences.is_empty() {
        text += "\n<details><summary>Differences of the environments</summary>\n\n\
                 | what | A | B |\n|---|---|---|\n";
        for Difference { what, a, b } in caveats.differences {
            let [a, b] = [a, b].map(|side| cell(&value(side)));
            let _ = writeln!(text, "| {} | {a} | {b} |", cell(what));
        }
        text += "\n</details>\n";
    }
    text
}

fn symbol(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "▲",
        Verdict::Worse => "▼",
        Verdict::Equivalent => "=",
        Verdict::Undecided => "?",
    }
}

/// A metric is a test case: worse is a failure, and undecided an error, as the exit code says.
fn junit(comparison: &Comparison) -> Result<String, Failure> {
    let mut suite = TestSuite::new(format!("{} compared with {}", comparison.b, comparison.a));
    let caveats = Caveats::of(comparison).sentences().into_iter();
    let caveats: String = caveats.map(|(sentence, _)| format!("\n{sentence}")).collect();
    for compared in &comparison.metrics {
        let status = match compared.verdict {
            Verdict::Better | Verdict::Equivalent => TestCaseStatus::success(),
            Verdict::Worse => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Verdict::Undecided => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        let mut status = status;
        let words = in_words(compared);
        status.set_message(words.clone());
        let name = format!("{}{}", compared.of.prefix(), compared.metric);
        let mut case = TestCase::new(name, status);
        case.set_classname("benchwright.compare");
        case.set_system_out(format!("{words}{caveats}"));
        suite.add_test_case(case);
    }
    let mut report = Report::new("benchwright compare");
    report.add_test_suite(suite);
    let written = report.to_string();
    written.map_err(|error| Failure::no_answer(format!("writing JUnit XML: {error}")))
}
