//! The answer of a run, from its journal: maximum throughput and capacity are separate results.

use std::collections::BTreeSet;

use measure::Share;
use measure::quantity::grouped;
use results::Answer;
use results::analysis::conclusions::spreads_in_words;
use results::analysis::{Analysis, Code};
use results::answer::{
    Capacity, Estimate, Level, Repeated, SCHEMA, Search, Validity, Verdict, add_intervals,
    failing_in_words, failing_strands, habit_in_words, habits_in_words, validity_in_words,
};
use results::at_load::{self, AtLoad, Conclusion};
use results::comparison::{Compared, Comparison, MARGIN, Verdict as Outcome};
use results::found::{Found, Spread};
use results::journal::Entry;
use results::reproducibility::OfMetric;
use results::sessions::Arrivals;
use results::speed::Usual;
use results::transport::Habit;
use results::{Metric, Reproduced, repetitions, reproducibility};

use crate::comparison;
use crate::course::Ending;
use crate::plan::{CORRECT, Plan, Turns, found};
use crate::scaling;
use crate::spec::Cell;

/// Returns the answer of a plan from its journal, for a run that ended in this way.
pub fn of(plan: &Plan, turns: &Turns<'_>, ending: &Ending) -> Answer {
    let journal = turns.journal();
    let usual = Usual::so_far(journal.iter());
    if !plan.has_several() {
        let search = found::of_strand(plan, turns, 0, ending, usual.as_ref());
        let slo = plan.resolved(0).slo_in_words();
        let reproducibility = reproduced(plan, &journal, std::slice::from_ref(&search));
        let found = found(&search, slo.as_deref(), &journal);
        let is_some = found.is_some();
        let found = concluded(None, &reproducibility, &[]).or(found);
        let found = found.unwrap_or_else(|| without_throughput(&journal).to_owned());
        let verdict = with_targets(search.verdict, &reproducibility);
        let stopped_by = search.stopped_by.clone();
        let summary = match ending {
            Ending::Failing(why) => format!("the service fails: {why}"),
            _ => in_a_sentence(verdict, &stopped_by, &found, is_some),
        };
        return Answer {
            reproducibility,
            maximum_throughput: search.maximum_throughput.clone(),
            capacity: search.capacity.clone(),
            limited_by: search.limited_by.clone(),
            searches: vec![search],
            ..answer(plan, verdict, summary, stopped_by, journal)
        };
    }
    let mut searches: Vec<Search> = (0..plan.strands.len())
        .map(|number| {
            let ending = turns.ending_of(number).unwrap_or(ending);
            found::of_strand(plan, turns, number, ending, usual.as_ref())
        })
        .collect();
    add_intervals(&mut searches);
    let verdict = match ending {
        Ending::Interrupted => Verdict::Interrupted,
        Ending::Open => Verdict::Open,
        Ending::NoAnswer(_) => Verdict::NoAnswer,
        Ending::Failing(_) => Verdict::No,
        Ending::Answered(_) if searches.iter().any(|search| search.verdict == Verdict::No) => {
            Verdict::No
        }
        Ending::Answered(_) => Verdict::Answered,
    };
    let stopped_by = ending.reason();
    let ended = searches
        .iter()
        .filter(|search| matches!(search.verdict, Verdict::Answered | Verdict::No))
        .count();
    let reproducibility = reproduced(plan, &journal, &searches);
    let verdict = with_targets(verdict, &reproducibility);
    let comparison = comparison::of(plan, &journal, &searches);
    let (verdict, stopped_by) = match (verdict, comparison.as_ref().map(|of| of.verdict)) {
        (Verdict::Answered, Some(Outcome::Worse)) => (Verdict::No, stopped_by),
        (Verdict::Answered, Some(Outcome::Undecided)) => {
            (Verdict::NoAnswer, "the comparison is undecided".to_owned())
        }
        (verdict, _) => (verdict, stopped_by),
    };
    let between_levels = between_levels(plan, &journal);
    let found = concluded(comparison.as_ref(), &reproducibility, &between_levels);
    let found = found.unwrap_or_else(|| {
        let are = if searches.iter().all(|search| search.fixed) { "loads" } else { "searches" };
        format!("{ended} of {} {are} have an answer", searches.len())
    });
    let summary = in_a_sentence(verdict, &stopped_by, &found, 0 < ended);
    let levels = levels(plan, &searches);
    Answer {
        reproducibility,
        between_levels,
        comparison,
        scaling: scaling::of(plan, &journal, &searches),
        levels,
        searches,
        ..answer(plan, verdict, summary, stopped_by, journal)
    }
}

/// Returns the verdict with that on the spread: a target that was missed is an answer, and the answer is
/// no. One that is undecided needs more trials, and refuses nothing.
fn with_targets(verdict: Verdict, reproduced: &[Reproduced]) -> Verdict {
    match verdict {
        Verdict::Answered if targets_missed(reproduced) => Verdict::No,
        verdict => verdict,
    }
}

fn targets_missed(reproduced: &[Reproduced]) -> bool {
    let mut targets = reproduced.iter().flat_map(|of| &of.metrics).filter_map(|of| of.target);
    targets.any(|target| target.verdict == reproducibility::Verdict::Missed)
}

fn reproduced(plan: &Plan, journal: &[Entry], searches: &[Search]) -> Vec<Reproduced> {
    let wanted = plan.resolved(0).spec.reproducibility.as_ref();
    let target = wanted.map(|wanted| reproducibility::Target {
        metric: wanted.target.metric,
        rsd: wanted.target.rsd.0.0,
    });
    let until = plan.resolved(0).spec.repeat.until.as_ref().map(|until| until.metric);
    repetitions::of(journal, searches, target, until)
}

/// Returns the levels side by side, if the spec asks for their spread.
fn between_levels(plan: &Plan, journal: &[Entry]) -> Vec<Analysis> {
    let spec = &plan.resolved(0).spec;
    let margin = spec.compare.as_ref().map_or(MARGIN, |compare| compare.margin.0.0);
    match spec.reproducibility.is_some() {
        true => repetitions::levels::of(journal, margin),
        false => Vec::new(),
    }
}

fn answer(
    plan: &Plan,
    verdict: Verdict,
    summary: String,
    stopped_by: String,
    trials: Vec<Entry>,
) -> Answer {
    // What failed comes before everything that was measured of it.
    let failing = failing_in_words(trials.iter()).filter(|_| !failing_strands(&trials).is_empty());
    // The requests that it loses are why.
    let habit =
        habit_in_words(&trials, Habit::SilentClose).filter(|_| verdict != Verdict::Answered);
    let summary = failing.into_iter().chain(habit).chain([summary]).collect::<Vec<_>>().join("; ");
    Answer {
        schema: SCHEMA.to_owned(),
        experiment: plan.resolved(0).spec.name.to_string(),
        verdict,
        summary,
        maximum_throughput: None,
        capacity: None,
        limited_by: None,
        stopped_by,
        levels: Vec::new(),
        searches: Vec::new(),
        reproducibility: Vec::new(),
        between_levels: Vec::new(),
        comparison: None,
        scaling: Vec::new(),
        validity: Validity::of(&trials),
        resume: None,
        trials,
        report: None,
    }
}

/// Returns the results of each combination of levels; empty without factors.
fn levels(plan: &Plan, searches: &[Search]) -> Vec<Level> {
    let of_cell = |cell: &Cell| {
        let name = cell.name()?;
        let here: Vec<&Search> =
            searches.iter().filter(|search| search.cell.as_ref() == Some(&name)).collect();
        Some(Level {
            levels: cell.levels.iter().cloned().collect(),
            searches: repeated(&here),
            cell: name,
        })
    };
    plan.cells.iter().filter_map(of_cell).collect()
}

/// Returns the results of equal searches together, in the order of the plan.
fn repeated(searches: &[&Search]) -> Vec<Repeated> {
    searches.chunk_by(|a, b| a.name == b.name).filter_map(Repeated::of).collect()
}

/// Returns what an experiment found that compares, or that asks for a spread; `None` for others.
fn concluded(
    comparison: Option<&Comparison>,
    reproduced: &[Reproduced],
    between_levels: &[Analysis],
) -> Option<String> {
    let compared = comparison.map(|Comparison { a, b, verdict, metrics, .. }| {
        let metric = |compared: &Compared| {
            let prefix = compared.of.prefix();
            let change = compared.effect.map(|effect| format!(" {}", comparison::change(effect)));
            let verdict = compared.verdict.word();
            format!("{prefix}{}{} ({verdict})", compared.metric, change.unwrap_or_default())
        };
        let metrics: Vec<String> = metrics.iter().map(metric).collect();
        format!("{b} compared with {a}: {}; {}", verdict.word(), metrics.join(", "))
    });
    let targets = reproduced.iter().flat_map(|reproduced| {
        reproduced.metrics.iter().filter_map(move |of| {
            let target = of.target.as_ref()?;
            let of_what = reproduced.of_what();
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            let rsd = of.figures.rsd.map(percent)?;
            let interval = of
                .figures
                .rsd_interval
                .map(|(low, high)| format!(" ({} … {})", percent(low), percent(high)));
            Some(format!(
                "{of_what}RSD of {} {rsd}{}, target {} {}",
                of.metric,
                interval.unwrap_or_default(),
                Share(target.rsd),
                target.verdict.word()
            ))
        })
    });
    let wanted: BTreeSet<Metric> = reproduced
        .iter()
        .flat_map(|reproduced| &reproduced.metrics)
        .filter_map(|of| of.target.map(|_| of.metric))
        .collect();
    let spreads = between_levels.iter().flat_map(|analysis| {
        let is_wanted = |name: &str| wanted.iter().any(|metric| metric.name() == name);
        let metrics = analysis.metrics.iter().filter(move |metric| is_wanted(&metric.metric));
        metrics.filter_map(spreads_in_words)
    });
    let all: Vec<String> = compared.into_iter().chain(spreads).chain(targets).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns what one search found, or how the system took its only load; `None` if nothing is known.
fn found(search: &Search, slo: Option<&str>, journal: &[Entry]) -> Option<String> {
    let Search { maximum_throughput: maximum, capacity, .. } = search;
    let but = capacity.as_ref().map(|capacity| but_too_few(capacity, journal)).unwrap_or_default();
    if search.fixed {
        return maximum.as_ref().map(|maximum| {
            let objectives = match (capacity, slo) {
                (Some(capacity), _) => format!("; met {}{but}", capacity.slo),
                (None, Some(slo)) => format!("; missed {slo}"),
                (None, None) => String::new(),
            };
            let rate = maximum.arrivals().requests_in_words(maximum.rate_per_s);
            format!("sustained {rate} of {} offered{objectives}", maximum.offered_in_words())
        });
    }
    let maximum =
        maximum.as_ref().map(|found| format!("maximum throughput {}", found.rate_in_words()));
    let known = search.found(Metric::Capacity);
    let words = known.in_words(|per_s| search.arrivals().load_in_words(per_s));
    let capacity = match (capacity, slo) {
        (Some(capacity), _) => Some(format!("capacity {words} with {}{but}", capacity.slo)),
        (None, Some(slo)) if !known.is_unknown() => {
            Some(format!("capacity {words}: no load met {slo}"))
        }
        (None, Some(slo)) if search.verdict == Verdict::No => Some(format!("no load met {slo}")),
        (None, Some(slo)) => {
            missed_in_words(search, slo, journal).map(|words| format!("capacity {words}"))
        }
        (None, None) => None,
    };
    let parts: Vec<String> = maximum.into_iter().chain(capacity).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns `, but 7 requests are too few to decide p99 at 95 %` of the trials at a capacity; empty if they are enough.
fn but_too_few(capacity: &Capacity, journal: &[Entry]) -> String {
    let loads = at_load::by_load(journal);
    let load = loads.iter().find(|load| load.has(capacity.trial));
    let too_few = load.and_then(AtLoad::too_few_in_words);
    too_few.map(|words| format!(", but {words}")).unwrap_or_default()
}

/// Returns why trials show no throughput yet, or none at all.
fn without_throughput(journal: &[Entry]) -> &'static str {
    let mut answering = at_load::evidence(journal).peekable();
    match (journal.is_empty(), answering.peek().is_none()) {
        (true, _) => "nothing was measured",
        (false, true) => "no trial was valid",
        (false, false) if answering.all(|(_, observed)| observed.is_failing()) => {
            "requests failed, so nothing was sustained"
        }
        (false, false) => NOT_ALL_MADE,
    }
}

/// The unit of the loads of sessions.
const OF_SESSIONS: &str = "in sessions per second, each of several requests; what is sustained and completed is in \
                           requests per second";
/// The words for a load that has no figure yet, although its trials may all be valid.
const NOT_ALL_MADE: &str = "not all of its trials were made";

fn in_a_sentence(verdict: Verdict, stopped_by: &str, found: &str, is_some: bool) -> String {
    match verdict {
        Verdict::Answered | Verdict::No => format!("{found} ({stopped_by})"),
        Verdict::NoAnswer => {
            let (why, details) = stopped_by.split_at(first_line(stopped_by).len());
            match is_some {
                true => {
                    let why = why.trim_end_matches('.');
                    format!("no trustworthy answer: {why}; so far: {found}{details}")
                }
                false => format!("no trustworthy answer: {why}{details}"),
            }
        }
        Verdict::Interrupted => format!("interrupted; so far: {found}"),
        Verdict::Open => format!("not ended; so far: {found}"),
    }
}

/// Returns `replicas=2 capacity`, what equal searches have in common.
fn title(search: &Search) -> String {
    let parts: Vec<&str> =
        [&search.cell, &search.name].into_iter().flatten().map(|s| &**s).collect();
    if parts.is_empty() { "searches".to_owned() } else { parts.join(" ") }
}

/// Returns the results of equal searches in words: `capacity 4,018 … 5,841/s (median 5,017/s of 5)`.
fn together(equal: &[&Search]) -> String {
    let arrivals = Arrivals::are_sessions(equal.iter().any(|search| search.sessions));
    let load = |per_s: f64| arrivals.load_in_words(per_s);
    let requests = |per_s: f64| arrivals.requests_in_words(per_s);
    let shown = |what: &str, spread: Option<Spread>, rate: &dyn Fn(f64) -> String| {
        let Spread { count, least, median, most } = spread?;
        let words = median.in_words(rate);
        Some(match (count, least.exact(), most.exact()) {
            (1, ..) => format!("{what} {words}"),
            (n, Some(least), Some(most)) => {
                format!("{what} {words} (median of {n}, {} … {})", grouped(least), rate(most))
            }
            (n, ..) if least == most => format!("{what} {words} (all {n})"),
            (n, ..) => {
                let ends = [least, most].map(|end| end.in_words(rate)).join(" … ");
                format!("{what} {words} (median of {n}, {ends})")
            }
        })
    };
    let slo = equal.iter().find_map(|search| Some(&search.capacity.as_ref()?.slo));
    let with = slo.map(|slo| format!(" with {slo}")).unwrap_or_default();
    let interval = equal[0]
        .interval
        .map(|(low, high)| format!(", 95 % interval {} … {}", grouped(low), load(high)));
    let interval = interval.unwrap_or_default();
    let is_given = equal[0].fixed;
    let parts = match is_given {
        // A given load has no capacity.
        true => {
            let sustained = equal.iter().filter_map(|search| search.maximum_throughput.as_ref());
            let sustained = sustained.map(|found| Found::Exact(found.rate_per_s));
            let sustained = Spread::of(&sustained.collect::<Vec<Found>>());
            [shown("sustained", sustained, &requests), None]
        }
        false => {
            let repeated = Repeated::of(equal);
            let of = |spread: fn(&Repeated) -> Option<Spread>| repeated.as_ref().and_then(spread);
            [
                shown(
                    "maximum throughput",
                    of(|repeated| repeated.maximum_throughput_per_s),
                    &requests,
                ),
                shown("capacity", of(|repeated| repeated.capacity_per_s), &load)
                    .map(|text| text + &with + &interval),
            ]
        }
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let why = equal.iter().find_map(|search| match search.verdict {
        Verdict::NoAnswer => Some(format!("no answer: {}", first_line(&search.stopped_by))),
        Verdict::Interrupted | Verdict::Open if is_given => Some(NOT_ALL_MADE.to_owned()),
        _ => None,
    });
    match parts.is_empty() {
        true if is_given && 0 < equal.iter().map(|search| search.trials).sum::<u32>() => {
            why.unwrap_or_else(|| "requests failed, so nothing was sustained".to_owned())
        }
        true => why.unwrap_or_else(|| "nothing was measured yet".to_owned()),
        false => parts.into_iter().chain(why).collect::<Vec<_>>().join("; "),
    }
}

fn no_in_words(answer: &Answer) -> String {
    let failing = failing_strands(&answer.trials);
    let no = || answer.searches.iter().filter(|search| search.verdict == Verdict::No);
    let (failed, failing) = (no().count(), no().filter(|s| failing.contains(&s.strand)).count());
    let why = Some(answer.stopped_by.as_str()).filter(|why| why.contains(CORRECT));
    match answer.searches.len() {
        0 | 1 if 0 < failing || why.is_some() => {
            let why = why.unwrap_or("so many requests failed that nothing was sustained");
            format!("the service fails: {why}")
        }
        all if 0 < failing => format!("the service fails in {failing} of {all} searches"),
        _ if failed == 0 && targets_missed(&answer.reproducibility) => {
            let compared = answer.comparison.as_ref();
            let worse = compared.filter(|it| it.verdict == results::comparison::Verdict::Worse);
            let worse = worse.map(|it| format!("; {} is worse than {}", it.b, it.a));
            format!("the target of the spread was missed{}", worse.unwrap_or_default())
        }
        _ if failed == 0 => match &answer.comparison {
            Some(Comparison { a, b, .. }) => format!("{b} is worse than {a}"),
            None => "the answer is no".to_owned(),
        },
        0 | 1 => {
            let down_to = answer.searches.first().and_then(met_nowhere_in_words);
            down_to.unwrap_or_else(|| "no load met the SLO".to_owned())
        }
        all => format!("no load met the SLO in {failed} of {all} searches"),
    }
}

/// Returns the lowest load of a search that met the SLO nowhere, with the remedy; `None` of other searches, and if no
/// lower load would meet it either.
pub(crate) fn met_nowhere_in_words(search: &Search) -> Option<String> {
    let is_met_nowhere = search.verdict == Verdict::No && search.lower.is_none();
    let fails = search.stopped_by.contains(CORRECT);
    let lowest = search.upper.filter(|_| is_met_nowhere && !fails)?;
    Some(format!(
        "no load met the SLO, down to {}: search lower, or ask for less",
        search.arrivals().load_in_words(lowest)
    ))
}

/// The first line; output of the components may follow it.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The most spreads that are listed with an answer.
const MOST_SPREADS: usize = 8;

/// Returns the spreads that a reader looks for: of the p99, of a search's result, and of what has a
/// target.
fn spread_in_words(reproduced: &Reproduced) -> Vec<String> {
    let of = reproduced.of_what();
    let shown = |of: &&OfMetric| {
        of.target.is_some() || of.metric == Metric::P99 || of.metric.is_of_search()
    };
    let words = |OfMetric { metric, figures, target, .. }: &OfMetric| {
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        let (rsd, (low, high)) = (figures.rsd?, figures.rsd_interval?);
        let floor = figures.sampling_floor.map(|floor| format!(", floor {}", percent(floor)));
        let is_sequential = reproduced.warnings.iter().any(|one| one.code == Code::Sequential);
        let what = match metric.is_of_search() {
            true => "searches",
            false if is_sequential => "trials, sequential",
            false => "trials",
        };
        let target = target
            .map(|judged| format!("; target {}: {}", percent(judged.rsd), judged.verdict.word()));
        Some(format!(
            "{of}{metric} RSD {} ({} … {}) of {} {what}{}{}",
            percent(rsd),
            percent(low),
            percent(high),
            figures.n,
            floor.unwrap_or_default(),
            target.unwrap_or_default()
        ))
    };
    let is_shown = |code| matches!(code, Code::Timer | Code::LowerBound | Code::Censored);
    let warnings = reproduced.warnings.iter().filter(|warning| is_shown(warning.code));
    let warnings = warnings.map(|warning| format!("{of}{}", warning.text));
    reproduced.metrics.iter().filter(shown).filter_map(words).chain(warnings).collect()
}

/// Returns `estimated from all its trials: 5,801/s (95 % interval 5,546 … 6,080/s); at the machine's usual speed
/// 5,970/s (5,381 … 6,120/s)`, if the search has an estimate.
pub(crate) fn estimated_in_words(search: &Search) -> Option<String> {
    let written = |per_s: f64| search.arrivals().load_in_words(per_s);
    let between = |(low, high): (f64, f64)| format!("{} … {}", grouped(low), written(high));
    let at_usual_speed = search.at_usual_speed.map(|found| {
        let rate = written(found.rate_per_s);
        format!("; at the machine's usual speed {rate} ({})", between(found.interval))
    });
    let Estimate { rate_per_s, interval, .. } = search.estimate?;
    let (rate, interval) = (written(rate_per_s), between(interval));
    let at_usual_speed = at_usual_speed.unwrap_or_default();
    Some(format!(
        "estimated from all its trials: {rate} (95 % interval {interval}){at_usual_speed}"
    ))
}

/// Returns the loads that missed the SLO although they are no bound, since the search ended before it believed them:
/// `unknown: 19,136/s missed p99 ≤ 10 ms, and no load met it`.
fn missed_in_words(search: &Search, slo: &str, journal: &[Entry]) -> Option<String> {
    let of_search =
        journal.iter().filter(|entry| entry.strand.is_none_or(|of| of == search.strand));
    let loads = at_load::by_load(of_search);
    let missed = loads.iter().filter(|load| load.conclusion() == Some(Conclusion::Missed));
    let lowest = missed.filter_map(AtLoad::rate_per_s).min_by(f64::total_cmp)?;
    let lowest = search.arrivals().load_in_words(lowest);
    Some(format!("unknown: {lowest} missed {slo}, and no load met it"))
}

/// The answer as it is printed: one line for each quantity that is known.
pub fn table(answer: &Answer) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text += &format!("{name:<21} {value}\n");
    // Of a given load, the summary has the figures.
    let is_given = answer.is_given();
    let summary = (is_given && answer.searches.len() == 1).then(|| first_line(&answer.summary));
    let failing = failing_in_words(answer.trials.iter());
    let failing = failing.filter(|words| !summary.is_some_and(|text| text.starts_with(words)));
    failing.into_iter().for_each(|words| line("failures", words));
    summary.into_iter().for_each(|text| line("answer", text.to_owned()));
    if let Some(maximum) = answer.maximum_throughput.as_ref().filter(|_| !is_given) {
        let above = at_load::evidence(&answer.trials)
            .filter(|(_, o)| maximum.offered_per_s < o.offered_per_s)
            .count();
        let above = match above {
            _ if maximum.at_least => String::new(),
            0 => String::new(),
            1 => "; one trial above it brought no more".to_owned(),
            n => format!("; {n} trials above it brought no more"),
        };
        line(
            "maximum throughput",
            format!(
                "{} sustained at {} offered (trial {}){above}",
                maximum.rate_in_words(),
                maximum.offered_in_words(),
                maximum.trial
            ),
        );
    }
    if let Some(capacity) = answer.capacity.as_ref().filter(|_| !is_given) {
        let (known, beside) = capacity.known_in_words(answer.searches.first());
        let but = but_too_few(capacity, &answer.trials);
        line("capacity", format!("{known} highest load with {}{but}{beside}", capacity.slo));
    }
    if Arrivals::of(&answer.trials) == Arrivals::Sessions {
        line("loads", OF_SESSIONS.to_owned());
    }
    if let [only] = &answer.searches[..] {
        let known = only.found(Metric::Capacity);
        let words = known.in_words(|per_s| only.arrivals().load_in_words(per_s));
        let words = match known.is_unknown() {
            false => Some(format!("{words}: no load met the SLO")),
            true if only.fixed || only.verdict == Verdict::No => None,
            true => missed_in_words(only, "the SLO", &answer.trials),
        };
        words.filter(|_| only.capacity.is_none()).into_iter().for_each(|it| line("capacity", it));
        estimated_in_words(only).into_iter().for_each(|words| line("", words));
    }
    if let Some(limit) = &answer.limited_by {
        line("limited by", limit.clone());
    }
    let habits = habits_in_words(&answer.trials).into_iter();
    habits.for_each(|(about, words)| line(about, words));
    // The only search is the answer itself.
    let several = answer.searches.iter().filter(|_| 1 < answer.searches.len());
    let searches: Vec<&Search> = several.collect();
    for equal in searches.chunk_by(|a, b| a.cell == b.cell && a.name == b.name) {
        line(&title(equal[0]), together(equal));
    }
    for compared in answer.comparison.iter().flat_map(|comparison| &comparison.metrics) {
        let words = comparison::in_words(compared);
        line("comparison", format!("{}{words}", compared.of.prefix()));
    }
    for law in &answer.scaling {
        line("scaling", scaling::in_words(law));
    }
    for analysis in &answer.between_levels {
        analysis.conclusions().into_iter().for_each(|text| line("between levels", text));
        let warnings = analysis.warnings.iter();
        warnings.for_each(|warning| line("", format!("! {}", warning.text)));
    }
    let spreads = || answer.reproducibility.iter().flat_map(spread_in_words);
    spreads().take(MOST_SPREADS).for_each(|text| line("reproducibility", text));
    if let Some(further @ 1..) = spreads().count().checked_sub(MOST_SPREADS) {
        line("", format!("and {further} more; `benchwright reproducibility` shows all"));
    }
    line("validity", validity_in_words(answer.trials.iter()));
    match answer.verdict {
        Verdict::Answered => line("stopped by", answer.stopped_by.clone()),
        Verdict::No => line("verdict", no_in_words(answer)),
        Verdict::NoAnswer => line("no answer", first_line(&answer.stopped_by).to_owned()),
        Verdict::Interrupted => {
            line("interrupted", "what was finished is in the journal".to_owned())
        }
        Verdict::Open => line("not ended", "this answer rests on the trials so far".to_owned()),
    }
    if let Some(report) = &answer.report {
        line("report", report.clone());
    }
    text
}
