//! The choice of the next load: a pure function of the observations, so that the journal is enough
//! to resume a run.

use measure::Rate;

use crate::spec::{Growth, Search, Start, Stop};

#[cfg(test)]
mod tests;

/// One load with the summary of its valid trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The rate asked of each target.
    pub asked: Rate,
    /// The median of its trials' sustained rates, summed over all targets.
    pub sustained_per_s: f64,
    /// True if more than half of its trials met every SLO; `None` without an SLO.
    pub slo_met: Option<bool>,
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The next load to try.
    Load(Rate),
    /// A stop rule has fired: the search is over. The text names the rule.
    Stopped(String),
    /// The range is measured to its end; the text explains whether that is an answer.
    Ended { answered: bool, why: String },
}

/// Returns the next load after `points`, which are in the order they were tried. `probed` is the
/// rate that the closed loop completed on each target, if the search begins with a probe.
pub fn next(search: &Search, probed: Option<Rate>, points: &[Point]) -> Next {
    if let Some(rule) = search.stop.iter().find(|rule| fires(rule, points)) {
        return Next::Stopped(describe(rule));
    }
    let load = match points.last() {
        None => first(search, probed),
        Some(last) => rounded(match search.step {
            Growth::By(share) => last.asked.as_per_second() * (1.0 + share.0),
            Growth::Add(rate) => last.asked.as_per_second() + rate.as_per_second(),
        }),
    };
    match search.to {
        Some(to) if to.as_per_second() * (1.0 + 1e-9) < load.as_per_second() => Next::Ended {
            answered: search.stop.is_empty(),
            why: match search.stop.is_empty() {
                true => format!("the range was measured up to {to}"),
                false => format!("no stop rule fired up to {to}, the end of the range"),
            },
        },
        _ => Next::Load(load),
    }
}

/// Describes how far the rules are from firing: `4 of 6 without a new maximum`.
pub fn nearness(search: &Search, points: &[Point]) -> Option<String> {
    search.stop.iter().find_map(|rule| match rule {
        Stop::NoNewMax { window, by } => {
            let since = without_new_maximum(points, by.0).min(*window as usize);
            (0 < since).then(|| format!("{since} of {window} without a new maximum"))
        }
        Stop::SloViolated { times } => {
            let missed = missed_in_a_row(points);
            (0 < missed).then(|| format!("{missed} of {times} that miss the SLO"))
        }
    })
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

fn fires(rule: &Stop, points: &[Point]) -> bool {
    match rule {
        // The best of the window is compared with the best before it, so a rise of less than `by`
        // over the whole window counts as a plateau.
        Stop::NoNewMax { window, by } => {
            let Some(split) = points.len().checked_sub(*window as usize) else { return false };
            let (before, last) = points.split_at(split);
            0 < split && best(last) <= best(before) * (1.0 + by.0)
        }
        Stop::SloViolated { times } => *times as usize <= missed_in_a_row(points),
    }
}

fn best(points: &[Point]) -> f64 {
    points.iter().map(|point| point.sustained_per_s).fold(0.0, f64::max)
}

/// Returns the length of the longest tail of loads that together bring no new maximum.
fn without_new_maximum(points: &[Point], by: f64) -> usize {
    let holds = |&split: &usize| best(&points[split..]) <= best(&points[..split]) * (1.0 + by);
    (1..points.len()).find(holds).map_or(0, |split| points.len() - split)
}

fn missed_in_a_row(points: &[Point]) -> usize {
    points.iter().rev().take_while(|point| point.slo_met == Some(false)).count()
}

fn first(search: &Search, probed: Option<Rate>) -> Rate {
    match search.start {
        Start::At(rate) => rate,
        Start::Probe(share) => {
            let probed = probed.expect("a search that begins with a probe is called after it");
            rounded(probed.as_per_second() * share.0)
        }
    }
}

/// Rounds a rate to whole requests per second if that is finer than a percent. A sweep that nothing
/// ends stays finite.
pub(crate) fn rounded(rate: f64) -> Rate {
    let rate = if 100.0 <= rate { rate.round() } else { (rate * 1e3).round() / 1e3 };
    Rate::per_second(rate.clamp(1e-3, f64::MAX)).expect("positive and finite by its bounds")
}
