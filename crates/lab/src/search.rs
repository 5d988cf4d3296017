//! The choice of the next load: a pure function of the observations, so that the journal is enough
//! to resume a run.

use measure::Rate;
use measure::search::{self, Bounds, Strategy as Bisection};
use results::sessions::Arrivals;

use crate::spec::{Bracket, Growth, ResultKind, Search, Start, Stop, Strategy, Sweep};

#[cfg(test)]
mod tests;

/// One load with the summary of its valid trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The rate asked of each target.
    pub asked: Rate,
    /// The median of its trials' sustained rates, summed over all targets. A trial in which the service failed
    /// sustained nothing.
    pub sustained_per_s: f64,
    /// True if more than half of its trials met every SLO; `None` without an SLO, and of a bound.
    pub slo_met: Option<bool>,
    /// True if no trial was valid: the system sustains at least this rate.
    pub is_bound: bool,
}

/// The next step of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The next load to try.
    Load(Rate),
    /// A stop rule has fired: the sweep is over. The text names the rule.
    Stopped(String),
    /// The range is measured to its end; the text explains whether that is an answer.
    Ended { answered: bool, why: String },
}

/// The most steps below the load with which a probe lets a sweep begin.
const STEPS_BELOW_A_PROBE: usize = 5;

/// Returns the next load of a sweep after `points`, which are in the order they were tried. `probed` is
/// the rate that the closed loop completed on each target, if the search begins with a probe. Where
/// the SLO is missed at the first load, the probe was too fast or the share too high, so the sweep looks for
/// a lower load to begin with.
pub fn next(
    search: &Search,
    sweep: &Sweep,
    probed: Option<Rate>,
    points: &[Point],
    arrivals: Arrivals,
) -> Next {
    if let Some(below) = below_a_probe(search, points) {
        return Next::Load(below);
    }
    let climbed = climb(sweep, points);
    if let Some(rule) = sweep.stop.iter().find(|rule| fires(rule, &climbed)) {
        return Next::Stopped(describe(rule));
    }
    let load = match climbed.last() {
        None => first(search, probed),
        Some(last) => above(sweep, last.asked),
    };
    match search.to {
        Some(to) if to.as_per_second() * (1.0 + 1e-9) < load.as_per_second() => {
            let last = points.last().map_or(to, |last| last.asked);
            let last = arrivals.load_in_words(last.as_per_second());
            let is_met = |point: &Point| point.slo_met == Some(true);
            let asks_capacity = search.result == ResultKind::Capacity;
            let (answered, why) = match () {
                () if !sweep.stop.is_empty() => {
                    (false, format!("no stop rule fired up to {last}, the end of the range"))
                }
                () if asks_capacity && points.iter().all(is_met) => {
                    (false, met_everywhere(&last, ""))
                }
                () if asks_capacity && all_missed(points) => {
                    let first = arrivals.load_in_words(points[0].asked.as_per_second());
                    (true, missed_everywhere(search, &first, ""))
                }
                () => (true, format!("the range was measured up to {last}")),
            };
            Next::Ended { answered, why }
        }
        _ => Next::Load(load),
    }
}

/// Returns the load below the lowest one, if a sweep that began with a probe has met the SLO nowhere yet.
fn below_a_probe(search: &Search, points: &[Point]) -> Option<Rate> {
    let down = way_down(points);
    let goes_on = down.len() == points.len() && down.len() <= STEPS_BELOW_A_PROBE;
    let lowest = down.last().filter(|_| goes_on && all_missed(down))?;
    let begins_with_probe = matches!(search.start, Start::Probe(_));
    begins_with_probe.then(|| Rate::rounded(lowest.asked.as_per_second() / AFTER_PROBE))
}

/// Returns the loads at the beginning, each lower than the one before it.
fn way_down(points: &[Point]) -> &[Point] {
    let falls = |pair: &&[Point]| pair[1].asked < pair[0].asked;
    &points[..points.len().min(1 + points.windows(2).take_while(falls).count())]
}

fn all_missed(points: &[Point]) -> bool {
    points.iter().all(|point| point.slo_met == Some(false))
}

/// Returns the loads of a sweep in the order of its steps. It begins where the way down from a probe ended; if
/// that met the SLO nowhere, at the first load, as the maximum may still be of interest. It passes the loads
/// of the way down that are a whole number of steps above, and those tried after it.
fn climb<'a>(sweep: &Sweep, points: &'a [Point]) -> Vec<&'a Point> {
    let down = way_down(points);
    let is_in_vain = STEPS_BELOW_A_PROBE < down.len() && all_missed(down);
    let start = if is_in_vain { down.first() } else { down.last() };
    let mut after = points[down.len()..].iter().peekable();
    let next = |last: &&'a Point| {
        // Where the rate is so high that a step is lost in rounding, there is nothing above.
        let load = Some(above(sweep, last.asked)).filter(|load| last.asked < *load)?;
        let is_there = |point: &&Point| point.asked == load;
        after.next_if(is_there).or_else(|| down.iter().find(is_there))
    };
    std::iter::successors(start, next).collect()
}

/// Returns the load a step above another. A step that the rounding would undo becomes the least one.
fn above(sweep: &Sweep, load: Rate) -> Rate {
    let load = load.as_per_second();
    let least = if 100.0 <= load { 1.0 } else { 1e-3 };
    Rate::rounded(match sweep.step {
        Growth::By(share) => load + (load * share.0).max(least),
        Growth::Add(rate) => load + rate.as_per_second().max(least),
    })
}

/// Returns the reason why a search for a capacity ends without one at the end of its range.
pub(crate) fn met_everywhere(to: &str, each: &str) -> String {
    format!("the SLO was met up to {to}{each}, the end of the range: raise it")
}

/// Returns the reason why a search for a capacity ends at the lowest load that it tries, which misses the SLO.
pub(crate) fn missed_everywhere(search: &Search, lowest: &str, each: &str) -> String {
    let end = match (search.start, search.to) {
        (Start::At(_), Some(_)) => "the lower end of the range: lower it, or ask for less",
        _ => "where the search gives up: state a lower range, or ask for less",
    };
    format!("the SLO was missed down to {lowest}{each}, {end}")
}

/// Returns true if a rule for the maximum has fired: the last loads brought no more than those before them.
pub fn reached_maximum(sweep: &Sweep, points: &[Point]) -> bool {
    let is_of_maximum = |rule: &&Stop| matches!(rule, Stop::NoNewMax { .. });
    let climbed = climb(sweep, points);
    sweep.stop.iter().filter(is_of_maximum).any(|rule| fires(rule, &climbed))
}

/// Describes how far the rules are from firing: `stop: 4 of 6 without a new maximum`.
pub fn nearness(sweep: &Sweep, points: &[Point]) -> Option<String> {
    let points = &climb(sweep, points);
    sweep.stop.iter().find_map(|rule| match rule {
        Stop::NoNewMax { window, by } => {
            let since = without_new_maximum(points, by.0).min(*window as usize);
            (0 < since).then(|| format!("stop: {since} of {window} without a new maximum"))
        }
        Stop::SloViolated { times } => {
            let missed = missed_in_a_row(points);
            (0 < missed).then(|| format!("stop: {missed} of {times} that miss the SLO"))
        }
    })
}

/// Describes the bounds of the capacity that are known: `capacity between 800/s and 1,000/s`.
pub fn bounds(bracket: &search::Bracket, arrivals: Arrivals) -> Option<String> {
    let written = |load: Rate| arrivals.load_in_words(load.as_per_second());
    match (bracket.lower.map(written), bracket.upper.map(written)) {
        (Some(lower), Some(upper)) => Some(format!("capacity between {lower} and {upper}")),
        (Some(lower), None) => Some(format!("capacity above {lower}")),
        (None, Some(upper)) => Some(format!("capacity below {upper}")),
        (None, None) => None,
    }
}

/// Describes the rule for the loads after the first: `step 5 %`, `adaptive to 2 %`.
pub fn in_words(search: &Search) -> String {
    match &search.strategy {
        Strategy::Sweep(sweep) => format!("step {}", sweep.step),
        Strategy::Bracket(Bracket { by, precision, .. }) => {
            format!("{} to {precision}", name(*by))
        }
    }
}

/// Returns the strategy as a spec names it.
pub fn name(strategy: Bisection) -> &'static str {
    match strategy {
        Bisection::Adaptive { .. } => "adaptive",
        Bisection::Bisect => "bisect",
        Bisection::Mlr { .. } => "mlr",
    }
}

pub fn describe(rule: &Stop) -> String {
    match rule {
        Stop::NoNewMax { window, by } if by.0 == 0.0 => {
            format!("no new maximum in {window} loads")
        }
        Stop::NoNewMax { window, by } => {
            format!("no new maximum (by more than {by}) in {window} loads")
        }
        Stop::SloViolated { times } if *times == 1 => "the SLO was missed".to_owned(),
        Stop::SloViolated { times } => format!("the SLO was missed {times} times in a row"),
    }
}

fn fires(rule: &Stop, points: &[&Point]) -> bool {
    match rule {
        // The best of the window is compared with the best before it, so a rise of less than `by`
        // over the whole window counts as a plateau.
        Stop::NoNewMax { window, by } => {
            let Some(split) = points.len().checked_sub(*window as usize) else { return false };
            let (before, last) = points.split_at(split);
            0 < split && best(last.iter().copied()) <= best(before.iter().copied()) * (1.0 + by.0)
        }
        Stop::SloViolated { times } => *times as usize <= missed_in_a_row(points),
    }
}

/// Returns the most that the system sustained at any load.
pub(crate) fn best<'a>(points: impl IntoIterator<Item = &'a Point>) -> f64 {
    points.into_iter().map(|point| point.sustained_per_s).fold(0.0, f64::max)
}

/// Returns the length of the longest tail of loads that together bring no new maximum.
fn without_new_maximum(points: &[&Point], by: f64) -> usize {
    let most = |part: &[&'_ Point]| best(part.iter().copied());
    let holds = |&split: &usize| most(&points[split..]) <= most(&points[..split]) * (1.0 + by);
    (1..points.len()).find(holds).map_or(0, |split| points.len() - split)
}

fn missed_in_a_row(points: &[&Point]) -> usize {
    points.iter().rev().take_while(|point| point.slo_met == Some(false)).count()
}

fn first(search: &Search, probed: Option<Rate>) -> Rate {
    match search.start {
        Start::At(rate) => rate,
        Start::Probe(share) => {
            let probed = probed.expect("a search that begins with a probe is called after it");
            Rate::rounded(probed.as_per_second() * share.0)
        }
    }
}

/// The first step away from a start of which nothing is known, and from one that a probe found.
const FIRST_FACTOR: f64 = 2.0;
const AFTER_PROBE: f64 = 1.25;

/// Returns the search for a capacity.
pub fn bisection(search: &Search, bracket: &Bracket, probed: Option<Rate>) -> search::Search {
    let step = |otherwise: f64| bracket.step.map_or(otherwise, |share| 1.0 + share.0);
    let bounds = match (search.start, search.to) {
        (Start::At(from), Some(to)) => Bounds::Range(from, to),
        (Start::At(_), None) => {
            Bounds::Unknown { start: first(search, probed), factor: step(FIRST_FACTOR) }
        }
        (Start::Probe(_), _) => {
            Bounds::Unknown { start: first(search, probed), factor: step(AFTER_PROBE) }
        }
    };
    search::Search { bounds, strategy: bracket.by, precision: bracket.precision.0 }
}
