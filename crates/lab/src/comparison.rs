//! The comparison of two arms: which trials of them belong together.
//!
//! Trials at one load are compared by their figures, and only if they are valid; a search by its
//! result. A search that found only a bound is in the comparison with that bound.

use std::collections::{BTreeMap, BTreeSet};

use measure::comparison::Block;
use measure::quantity::p_in_words;
use results::analysis::alternate;
use results::answer::Search;
use results::comparison::{
    Adjusted, Censored, Compared, Difference, Of, Question, Trials, Verdict,
};
use results::found::Found;
use results::journal::{Entry, Observed, OfLabel, Purpose, Status};
use results::metric::MetricOf;
use results::speed::Usual;
use results::{Comparison, Metric};

use crate::plan::Plan;
use crate::spec::{Arms, Cell, Order, ResultKind};

#[cfg(test)]
mod tests;

/// An experiment that ran, or a part of it.
#[derive(Clone, Copy)]
pub(crate) struct Ran<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) journal: &'a [Entry],
    pub(crate) searches: &'a [Search],
}

/// One question of an experiment: one search, or the trials at one load, in one combination of
/// levels.
#[derive(Clone, Copy)]
struct Arm<'a> {
    ran: Ran<'a>,
    question: usize,
}

/// A figure with its place in the order of the trials.
struct Figure {
    block: u64,
    trial: usize,
    found: Found,
    /// The speed of the machine; a search has none.
    speed: Option<f64>,
}

/// Two questions that differ in what is compared alone.
struct Pair<'a> {
    of: Of,
    a: Arm<'a>,
    b: Arm<'a>,
}

/// Compares the two arms that the spec names; `None` if it names none.
pub(crate) fn of(plan: &Plan, journal: &[Entry], searches: &[Search]) -> Option<Comparison> {
    let compare = plan.resolved(0).spec.compare.as_ref()?;
    let ran = Ran { plan, journal, searches };
    let metrics: Vec<MetricOf> = compare.metrics.iter().copied().map(MetricOf::from).collect();
    of_arms(ran, &metrics, compare.margin.0.0)
}

/// Compares the two arms of a plan that has them.
pub(crate) fn of_arms(ran: Ran<'_>, metrics: &[MetricOf], margin: f64) -> Option<Comparison> {
    let arms = ran.plan.arms.as_ref()?;
    let pairs = pairs_of_levels(ran, arms);
    let differences = fingerprints(&pairs);
    let (metrics, percentiles) = questions(&pairs, metrics, Blocks::OfTheOrder);
    let names = [&*arms.a, &*arms.b];
    Some(results::comparison::compare(names, metrics, percentiles, margin, &differences))
}

/// Compares two experiments that ran one after the other, by their names: A, and B, which is judged.
///
/// # Errors
///
/// If they have no question in common, or if their loads differ.
pub(crate) fn of_experiments(
    (name_a, a): (&str, Ran<'_>),
    (name_b, b): (&str, Ran<'_>),
    metrics: &[MetricOf],
    margin: f64,
    differences: &[Difference],
) -> Result<Comparison, String> {
    let pairs = pairs_of_experiments(a, b);
    if pairs.is_empty() {
        return Err(format!("{name_a} and {name_b} have no search and no levels in common"));
    }
    for pair in &pairs {
        let [load_a, load_b] = [&pair.a, &pair.b].map(Arm::load);
        if pair.a.is_fixed() != pair.b.is_fixed() || load_a != load_b {
            let words = |arm: &Arm<'_>| match arm.load() {
                Some(rate) => Metric::Completed.written(rate),
                None if !arm.is_fixed() => "a search".to_owned(),
                None if arm.trials().next().is_none() => "no trial".to_owned(),
                None => "no fixed rate".to_owned(),
            };
            return Err(format!(
                "the loads differ ({}, {}): trials are compared at the same load only",
                words(&pair.a),
                words(&pair.b)
            ));
        }
    }
    let (deciding, percentiles) = questions(&pairs, metrics, Blocks::One);
    Ok(results::comparison::compare([name_a, name_b], deciding, percentiles, margin, differences))
}

/// Returns the questions that differ in the levels of the two arms alone.
fn pairs_of_levels<'a>(ran: Ran<'a>, arms: &Arms) -> Vec<Pair<'a>> {
    let Arms { factor, a, b } = arms;
    let with = |cell: &Cell, level: &str| {
        let mut cell = cell.clone();
        let own = cell.levels.iter_mut().find(|(name, _)| name == factor)?;
        level.clone_into(&mut own.1);
        Some(cell)
    };
    let questions = || ran.plan.questions.iter().enumerate();
    let pair = |(question, of_a): (usize, &crate::spec::Question)| {
        let cell = &ran.plan.cells[of_a.cell];
        if !cell.levels.iter().any(|(name, level)| name == factor && level == a) {
            return None;
        }
        let other = with(cell, b)?;
        let (of_b, _) = questions().find(|(_, question)| {
            ran.plan.cells[question.cell] == other && question.search == of_a.search
        })?;
        let mut rest = cell.clone();
        rest.levels.retain(|(name, _)| name != factor);
        let of = Of { cell: rest.name(), search: of_a.search.clone(), label: None };
        Some(Pair { of, a: Arm { ran, question }, b: Arm { ran, question: of_b } })
    };
    questions().filter_map(pair).collect()
}

/// Returns the questions of the same name in the same combination of levels.
fn pairs_of_experiments<'a>(a: Ran<'a>, b: Ran<'a>) -> Vec<Pair<'a>> {
    let of = |ran: Ran, question: &crate::spec::Question| Of {
        cell: ran.plan.cells[question.cell].name(),
        search: question.search.clone(),
        label: None,
    };
    let pair = |(question, of_a): (usize, &crate::spec::Question)| {
        let of_a = of(a, of_a);
        let other = b.plan.questions.iter().position(|question| of(b, question) == of_a)?;
        let (arm_a, arm_b) = (Arm { ran: a, question }, Arm { ran: b, question: other });
        Some(Pair { of: of_a, a: arm_a, b: arm_b })
    };
    a.plan.questions.iter().enumerate().filter_map(pair).collect()
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Blocks {
    /// The blocks in which the trials were made, as the order of the experiment has them.
    OfTheOrder,
    /// All trials in one: the arms did not run together.
    One,
}

/// Returns the figures that decide and, for trials at one load, the percentiles to look at. Without
/// `metrics` each question has its usual one.
fn questions(
    pairs: &[Pair<'_>],
    metrics: &[MetricOf],
    blocks: Blocks,
) -> (Vec<Question>, Vec<Question>) {
    let (mut deciding, mut percentiles) = (Vec::new(), Vec::new());
    for pair in pairs {
        let usual = [MetricOf::from(pair.a.usual_metric())];
        let metrics = if metrics.is_empty() { &usual } else { metrics };
        let is_measured = |wanted: &&MetricOf| wanted.metric.is_of_search() != pair.a.is_fixed();
        let question =
            |wanted: &MetricOf| pair.question(wanted.metric, wanted.label.as_deref(), blocks);
        deciding.extend(metrics.iter().filter(is_measured).map(question));
        if pair.a.is_fixed() {
            let of_delivery = metrics.iter().any(|wanted| wanted.metric.is_of_delivery());
            let all = if of_delivery { &Metric::OF_DELIVERY[..] } else { &Metric::PERCENTILES };
            percentiles.extend(all.iter().map(|metric| pair.question(*metric, None, blocks)));
            percentiles.extend(pair.labels().iter().flat_map(|label| {
                let of = |metric| pair.question(metric, Some(label), blocks);
                [Metric::P50, Metric::P99].map(of)
            }));
        }
    }
    (deciding, percentiles)
}

impl Pair<'_> {
    /// Returns the labels of requests that both arms have.
    fn labels(&self) -> BTreeSet<String> {
        let [a, b] = [&self.a, &self.b].map(|arm| {
            let observed = arm.trials().filter_map(|entry| entry.observed.as_ref());
            let labels = observed.flat_map(|observed| &observed.labels);
            labels.map(|of| of.label.clone()).collect::<BTreeSet<String>>()
        });
        a.intersection(&b).cloned().collect()
    }

    /// The question about a figure of all requests, or of those with a label.
    fn question(&self, metric: Metric, label: Option<&str>, blocks: Blocks) -> Question {
        // The speeds of both are shares of the same one.
        let usual = Usual::of(self.a.ran.journal.iter().chain(self.b.ran.journal));
        let [of_a, of_b] = [&self.a, &self.b].map(|arm| arm.figures(metric, label, blocks, &usual));
        let numbers = |figures: &[Figure]| -> Vec<usize> {
            let mut trials: Vec<usize> = figures.iter().map(|figure| figure.trial).collect();
            trials.sort_unstable();
            trials
        };
        let interleaved = match (blocks, self.a.ran.plan.order) {
            (Blocks::One, _) => false,
            (Blocks::OfTheOrder, Order::Interleaved | Order::Blocks(_)) => true,
            (Blocks::OfTheOrder, Order::Listed | Order::Shuffled) => {
                alternate(&numbers(&of_a), &numbers(&of_b))
            }
        };
        let in_blocks = |value: fn(&Figure) -> Option<f64>| -> Vec<Block> {
            let mut together: BTreeMap<u64, Block> = BTreeMap::new();
            for figure in &of_a {
                together.entry(figure.block).or_default().a.extend(value(figure));
            }
            for figure in &of_b {
                together.entry(figure.block).or_default().b.extend(value(figure));
            }
            let both = |block: &Block| !block.a.is_empty() && !block.b.is_empty();
            together.into_values().filter(both).collect()
        };
        let is_exact = |figure: &Figure| figure.found.exact().is_some();
        let censored = match of_a.iter().chain(&of_b).all(is_exact) {
            true => None,
            false => {
                let results =
                    |arm: &[Figure]| arm.iter().map(|figure| figure.found).collect::<Vec<Found>>();
                Some(Censored { a: results(&of_a), b: results(&of_b) })
            }
        };
        let are_known = of_a.iter().chain(&of_b).all(|figure| figure.speed.is_some());
        let speeds = if are_known { in_blocks(|figure| figure.speed) } else { Vec::new() };
        let blocks = match &censored {
            Some(_) => Vec::new(),
            None => in_blocks(|figure| figure.found.exact()),
        };
        let of = Of { label: label.map(str::to_owned), ..self.of.clone() };
        let trials = [&self.a, &self.b].map(|arm| arm.valid(metric, label));
        Question { metric, of, blocks, censored, speeds, interleaved, trials }
    }
}

impl Arm<'_> {
    fn spec(&self) -> &crate::spec::Spec {
        &self.ran.plan.questions[self.question].resolved.spec
    }

    /// Returns true if it measures one load, not a search.
    fn is_fixed(&self) -> bool {
        self.spec().search.is_none()
    }

    fn usual_metric(&self) -> Metric {
        match (&self.spec().search, self.spec().load.is_closed()) {
            (Some(search), _) if search.result == ResultKind::Capacity => Metric::Capacity,
            (Some(_), _) => Metric::MaximumThroughput,
            (None, true) => Metric::Completed,
            (None, false) => Metric::P99,
        }
    }

    /// Returns the load of all targets, if it measures one with a rate.
    fn load(&self) -> Option<f64> {
        self.trials().next().filter(|_| self.is_fixed())?.asked_per_s
    }

    /// Returns the trials, in the order in which they ran.
    fn trials(&self) -> impl Iterator<Item = &Entry> {
        self.ran.journal.iter().filter(|entry| {
            let strand = &self.ran.plan.strands[entry.strand.map_or(0, |n| n as usize - 1)];
            strand.question == self.question
        })
    }

    fn figures(
        &self,
        metric: Metric,
        label: Option<&str>,
        blocks: Blocks,
        usual: &Usual,
    ) -> Vec<Figure> {
        match metric.is_of_search() {
            true => self.of_searches(metric).collect(),
            false => self.of_trials(metric, label, blocks, usual),
        }
    }

    /// Returns the results of equal searches. They have no blocks: searches that are interleaved
    /// all run at the same time.
    fn of_searches(&self, metric: Metric) -> impl Iterator<Item = Figure> {
        let Ran { plan, journal, searches } = self.ran;
        let question = self.question;
        let own = searches.iter().filter(move |search| {
            plan.strands[search.strand as usize - 1].question == question && search.is_made()
        });
        own.map(move |search| {
            let last = || journal.iter().rev().find(|entry| entry.strand == Some(search.strand));
            let trial = search.trial_of(metric).or_else(|| Some(last()?.trial));
            Figure {
                block: 0,
                trial: trial.unwrap_or_default() as usize,
                found: search.found(metric),
                speed: None,
            }
        })
    }

    /// Returns the number of valid trials, and of those whose figures are not those of the service. So many may fail
    /// that lateness does not matter: such a trial counts, though it is only a bound.
    fn valid(&self, metric: Metric, label: Option<&str>) -> Trials {
        let trials = self.trials().filter(|entry| entry.purpose == Purpose::Trial);
        let is_failing = |entry: &Entry| entry.observed.as_ref().is_some_and(Observed::is_failing);
        Trials::of(trials.filter_map(|entry| match entry.status {
            Status::Valid => Some(self.is_sound(entry, metric, label)),
            Status::Bounded if is_failing(entry) => Some(!metric.is_of_working_service()),
            Status::Bounded | Status::Invalid | Status::Aborted => None,
        }))
    }

    /// Returns true if a figure of a trial is one of a working service, as far as the metric needs one.
    fn is_sound(&self, entry: &Entry, metric: Metric, label: Option<&str>) -> bool {
        let slos = || self.ran.plan.questions[self.question].resolved.slos();
        let works = entry.observed.as_ref().is_none_or(|observed| {
            let of_label = label.and_then(|label| observed.of_label(label));
            observed.shows_working_service(&slos()) && !of_label.is_some_and(OfLabel::is_failing)
        });
        works || !metric.is_of_working_service()
    }

    fn of_trials(
        &self,
        metric: Metric,
        label: Option<&str>,
        blocks: Blocks,
        usual: &Usual,
    ) -> Vec<Figure> {
        let mut turn = 0;
        let mut last = None;
        // Its turn, also if those before it gave no valid trial.
        let in_turn = self.trials().filter(|entry| entry.purpose == Purpose::Trial).map(|entry| {
            let own = Some((entry.strand, entry.repetition));
            if own != last {
                (turn, last) = (turn + 1, own);
            }
            (turn, entry)
        });
        let is_sound = |entry: &Entry| self.is_sound(entry, metric, label);
        let valid = in_turn.filter(|(_, entry)| entry.status == Status::Valid && is_sound(entry));
        let figure = |(turn, entry): (u64, &Entry)| {
            let block = match (blocks, self.ran.plan.order) {
                (Blocks::One, _) => 0,
                (Blocks::OfTheOrder, Order::Listed | Order::Shuffled) => 0,
                // The trials of a turn ran one after the other.
                (Blocks::OfTheOrder, Order::Interleaved) => turn,
                (Blocks::OfTheOrder, Order::Blocks(_)) => u64::from(entry.block?),
            };
            let observed = entry.observed.as_ref()?;
            let value = match label {
                None => metric.of(observed)?,
                Some(label) => observed.of_label(label)?.time_ns(metric)? as f64,
            };
            let speed = usual.speed_in(entry);
            let found = match metric.is_lower_bound(observed) {
                true => Found::between(Some(value), None),
                false => Found::Exact(value),
            };
            Some(Figure { block, trial: entry.trial as usize, found, speed })
        };
        valid.filter_map(figure).collect()
    }
}

/// Returns a difference if the checks of the machines found other things around the trials of one arm
/// than around those of the other.
fn fingerprints(pairs: &[Pair<'_>]) -> Vec<Difference> {
    let found = |arm: for<'a> fn(&'a Pair<'a>) -> &'a Arm<'a>| -> Vec<&str> {
        let all = pairs.iter().flat_map(|pair| arm(pair).trials());
        let found: BTreeSet<&str> = all.filter_map(|entry| entry.fingerprint.as_deref()).collect();
        // A hash is told apart by its beginning.
        found.into_iter().map(|hash| hash.get(..12).unwrap_or(hash)).collect()
    };
    let (a, b) = (found(|pair| &pair.a), found(|pair| &pair.b));
    let words = |all: &[&str]| (!all.is_empty()).then(|| all.join(", "));
    let what = "fingerprint of the machines".to_owned();
    let difference = Difference { what, a: words(&a), b: words(&b) };
    (a != b).then_some(difference).into_iter().collect()
}

/// Returns a metric's verdict with its figures: `p99 worse: +5.1 % (+3.0 … +7.2 %), p = 0.0021; median 4.90 ms
/// → 5.15 ms; 10 and 10 trials in 5 blocks`.
pub fn in_words(compared: &Compared) -> String {
    let Compared { metric, verdict, interval, p, trials_a, trials_b, blocks, .. } = compared;
    let change = effect_in_words(compared);
    if change.is_none() && !is_censored(compared) {
        let usual = "an arm has no valid trial with this figure";
        let why = compared.refused.as_deref().unwrap_or(usual);
        return format!("{metric} {}: {why}", verdict.word());
    }
    let interval = match interval {
        Some(interval) => format!(" ({})", changes(*interval)),
        None if is_censored(compared) => String::new(),
        None => " (too few trials for an interval)".to_owned(),
    };
    let change = change.map(|change| format!("{change}{interval}"));
    // Of bounds, it is the most that the probability can be.
    let p_in_words = |p: f64| match is_censored(compared) {
        true => p_in_words(p).replace('=', "≤"),
        false => p_in_words(p),
    };
    let p = p.map(p_in_words);
    let probability = [change, p].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let written = |median: Found| median.in_words(|value| metric.written(value));
    let medians = match (compared.median_a, compared.median_b) {
        (Some(a), Some(b)) => Some(format!("median {} → {}", written(a), written(b))),
        _ => None,
    };
    let what = if metric.is_of_search() { "searches" } else { "trials" };
    let in_blocks = match blocks {
        1 => String::new(),
        several => format!(" in {several} blocks"),
    };
    let more = match (verdict, compared.more_blocks_needed) {
        _ if compared.refused.is_some() => compared.refused.clone(),
        _ if is_censored(compared) => Some(censored_in_words(compared)),
        // One block has all trials of both arms.
        (Verdict::Undecided, Some(more)) if *blocks == 1 => {
            let [a, b] = [trials_a, trials_b].map(|count| count * more as usize);
            Some(format!("about {a} and {b} more are needed"))
        }
        (Verdict::Undecided, Some(1)) => Some("about 1 more block is needed".to_owned()),
        (Verdict::Undecided, Some(more)) => Some(format!("about {more} more blocks are needed")),
        (Verdict::Undecided, None) => Some("how many more are needed cannot be known".to_owned()),
        _ => None,
    };
    let adjusted = compared.adjusted.as_ref().map(adjusted_in_words);
    let counts = format!("{trials_a} and {trials_b} {what}{in_blocks}");
    let parts = (!probability.is_empty()).then_some(probability).into_iter().chain(medians);
    let parts = parts.chain([counts]).chain(adjusted).chain(more);
    let parts = parts.collect::<Vec<String>>().join("; ");
    format!("{metric} {}: {parts}", verdict.word())
}

/// Returns true if searches of an arm found only a bound.
pub fn is_censored(compared: &Compared) -> bool {
    0 < compared.censored_a + compared.censored_b
}

/// Returns the effect as a change: `+5.1 %`, or `at least +20.0 %` if searches found only a bound; `None` if
/// nothing is known of it.
pub fn effect_in_words(compared: &Compared) -> Option<String> {
    let exact = compared.effect.map(Found::Exact);
    Some(exact.or(compared.effect_bounds)?.in_words(change))
}

fn censored_in_words(compared: &Compared) -> String {
    let Compared { metric, verdict, censored_a, censored_b, .. } = compared;
    if !metric.is_of_search() {
        let found = format!("in {censored_a} and {censored_b} of them it falls among lost events");
        return match verdict {
            Verdict::Undecided => {
                format!("{found}, and how long these took decides: compare `lost`")
            }
            _ => format!("{found}, and the verdict holds however long these took"),
        };
    }
    let found = format!("{censored_a} and {censored_b} of them found only a bound");
    let nothing = [(compared.median_a, "A"), (compared.median_b, "B")];
    let nothing = nothing.into_iter().find_map(|(median, arm)| median.is_none().then_some(arm));
    let is_missed = |median: Option<Found>| {
        median.is_some_and(|found| {
            matches!(found, Found::Bounds { at_least: None, at_most: Some(_) })
        })
    };
    match (verdict, nothing) {
        (Verdict::Undecided, None)
            if is_missed(compared.median_a) && is_missed(compared.median_b) =>
        {
            format!("{found}: no load met the SLO in either arm; search lower, or ask for less")
        }
        (Verdict::Undecided, Some(arm)) => format!(
            "no search of {arm} found anything: `benchwright explain` says why, and a run whose searches end with an \
             answer decides"
        ),
        (Verdict::Undecided, None) if compared.depends_on_bounds || compared.p.is_none() => {
            format!(
                "{found}, and what they would have found decides: widen the range or raise the budget, until each search \
             ends with an answer"
            )
        }
        (Verdict::Undecided, None) => format!(
            "{found}, and whatever they would have found, there are too few searches for a verdict: repeat them \
             (repeat.searches)"
        ),
        _ => format!("{found}, and the verdict holds whatever they would have found"),
    }
}

/// Returns the figures at equal speed: `at equal machine speed +4.8 % (+3.9 … +5.7 %), p = 0.0011`.
fn adjusted_in_words(adjusted: &Adjusted) -> String {
    let interval = adjusted.interval.map(|interval| format!(" ({})", changes(interval)));
    let interval = interval.unwrap_or_default();
    format!(
        "at equal machine speed {}{interval}, {}",
        change(adjusted.effect),
        p_in_words(adjusted.p)
    )
}

/// Returns a ratio as a change: `+5.1 %`.
pub fn change(ratio: f64) -> String {
    format!("{} %", signed(ratio))
}

/// Returns an interval of a ratio as changes: `+3.0 … +7.2 %`.
pub fn changes((low, high): (f64, f64)) -> String {
    format!("{} … {} %", signed(low), signed(high))
}

fn signed(ratio: f64) -> String {
    format!("{:+.1}", 100.0 * (ratio - 1.0)).replace('-', "−")
}
