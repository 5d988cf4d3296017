//! The results of a search, from its trials: maximum throughput and capacity are separate results, and each may be
//! only a bound.

use measure::estimate::CONFIDENCE;
use measure::quantity;
use measure::search::Bracket;
use measure::{Rate, capacity as fit};
use results::answer::{Capacity, Estimate, Maximum, Search, Verdict};
use results::at_load::{self, AtLoad};
use results::journal::{Entry, Observed, Purpose, Status};
use results::sessions::Arrivals;
use results::slo;
use results::speed::Usual;

use super::decide::{bounding, bounds_above, bracket, limit_of_connections, points, swept};
use super::{Plan, Turns};
use crate::course::Ending;
use crate::search::{self, Next, Point};
use crate::spec::{Resolved, Strategy};

/// Returns what one strand found.
pub(crate) fn of_strand(
    plan: &Plan,
    turns: &Turns<'_>,
    number: usize,
    ending: &Ending,
    usual: Option<&Usual>,
) -> Search {
    let (resolved, journal) = (plan.resolved(number), turns.of(number));
    let mut search = Search {
        name: plan.question(number).search.clone(),
        cell: plan.cell_name(number),
        repetition: plan.strands[number].repetition,
        ..searched(resolved, journal, ending)
    };
    search.strand = number as u32 + 1;
    if search.is_enclosed() && bracket(resolved, journal).is_some() {
        (search.estimate, search.at_usual_speed) = estimates(resolved, journal, usual);
    }
    search
}

/// Returns what the trials of a strand say of its quantities, if it ended in this way. It marks what is only a
/// bound.
pub(crate) fn searched(resolved: &Resolved, journal: &[Entry], ending: &Ending) -> Search {
    let has_ended = matches!(ending, Ending::Answered(_));
    let connections_bound = limit_of_connections(resolved, journal).is_some();
    let (mut maximum, mut capacity, upper, limited_by) = match bracket(resolved, journal) {
        // It does not look for the maximum: the highest load that it tried says nothing of it.
        Some(bracket) => {
            let limited_by = bracket.upper.and_then(|upper| limited_at(journal, upper));
            // If the connections were the limit, the system may do more.
            let upper = bracket.upper.filter(|_| !connections_bound);
            let upper = upper.and_then(|upper| at(journal, upper).rate_per_s());
            (None, enclosed(resolved, &bracket, journal), upper, limited_by)
        }
        None => {
            let maximum = maximum(resolved, journal);
            let limited_by = maximum.as_ref().and_then(|maximum| limited_by(journal, maximum));
            let capacity = capacity(resolved, journal);
            let upper = match &capacity {
                Some(capacity) => capacity.missed_at_per_s,
                None => lowest_missed(resolved, journal),
            };
            // A single miss may be one of the machine: the rule of the sweep decides.
            (maximum, capacity, upper.filter(|_| has_ended), limited_by)
        }
    };
    let fixed = resolved.spec.search.is_none();
    let has_slo = !resolved.spec.slo.is_empty();
    // A given load may meet an objective that allows most requests to fail, and then shows no capacity.
    let is_met = || points(resolved, journal).iter().any(|it| it.slo_met == Some(true));
    let has_none = has_slo && capacity.is_none() && !(fixed && is_met());
    let verdict = match ending {
        Ending::Interrupted => Verdict::Interrupted,
        Ending::Open => Verdict::Open,
        Ending::NoAnswer(_) => Verdict::NoAnswer,
        Ending::Failing(_) => Verdict::No,
        Ending::Answered(_) if has_none => Verdict::No,
        Ending::Answered(_) if fails(resolved, journal) => Verdict::No,
        Ending::Answered(_) => Verdict::Answered,
    };
    let mut search = Search {
        verdict,
        fixed,
        sessions: Arrivals::of(journal) == Arrivals::Sessions,
        limited_by,
        connections_bound,
        ended_with_range: has_ended_with_range(resolved, journal, ending),
        lower: capacity.as_ref().map(|capacity| capacity.rate_per_s),
        upper: upper.filter(|_| !fixed),
        stopped_by: ending.reason(),
        trials: journal.len() as u32,
        ..Search::of_strand(1)
    };
    if let Some(capacity) = &mut capacity {
        capacity.at_least = !search.is_enclosed();
    }
    if let Some(maximum) = &mut maximum {
        let points = swept(resolved, journal);
        let is_limit = has_ended && !fixed && shows_limit(resolved, journal, maximum);
        maximum.at_least = !is_limit || !bounds_above(resolved, &points).is_empty();
    }
    (search.capacity, search.maximum_throughput) = (capacity, maximum);
    search
}

/// Returns true if a sweep that has ended shows that the system does no more: its rule for this fired, or the
/// system did not keep up with this load or a higher one.
fn shows_limit(resolved: &Resolved, journal: &[Entry], maximum: &Maximum) -> bool {
    let stop = resolved.spec.search.as_ref().and_then(|search| search.sweep());
    let fired = stop.is_some_and(|sweep| search::reached_maximum(sweep, &swept(resolved, journal)));
    let falls_short = |observed: &Observed| observed.saturated || observed.is_failing();
    let is_limit = |observed: &Observed| {
        falls_short(observed) && maximum.offered_per_s <= observed.offered_per_s
    };
    fired || at_load::evidence(journal).any(|(_, observed)| is_limit(observed))
}

/// Returns true if a search ended with its range, and none of its rules ended it.
fn has_ended_with_range(resolved: &Resolved, journal: &[Entry], ending: &Ending) -> bool {
    let Some(search) = &resolved.spec.search else { return false };
    let points = swept(resolved, journal);
    let is_at_end = || match (&search.strategy, bracket(resolved, journal)) {
        (_, Some(bracket)) => {
            bracket.upper.is_none() && bracket.lower.is_some() && bracket.lower == search.to
        }
        // Only the first load of a sweep depends on a probe.
        (Strategy::Sweep(sweep), None) => {
            !points.is_empty()
                && matches!(
                    search::next(search, sweep, None, &points, Arrivals::of(journal)),
                    Next::Ended { .. }
                )
        }
        (Strategy::Bracket(_), None) => false,
    };
    matches!(ending, Ending::Answered(_) | Ending::NoAnswer(_)) && is_at_end()
}

/// Returns true if at every load so many requests failed that nothing was sustained, and no objective on failures
/// decides about that.
fn fails(resolved: &Resolved, journal: &[Entry]) -> bool {
    let declares = |slo: &slo::Slo| matches!(slo, slo::Slo::Failures { .. });
    let mut observed = at_load::evidence(journal).map(|(_, observed)| observed).peekable();
    !resolved.slos().iter().any(declares)
        && observed.peek().is_some()
        && observed.all(|observed| observed.throughput_per_s().is_none())
}

/// Returns the capacity estimated from all trials of a search, and the same at the usual speed of the
/// machine, if it was measured in each of them.
fn estimates(
    resolved: &Resolved,
    journal: &[Entry],
    usual: Option<&Usual>,
) -> (Option<Estimate>, Option<Estimate>) {
    let targets = resolved.targets();
    let seen = |(entry, observed)| Some((entry, seen(entry, observed, targets)?));
    let trials = || at_load::evidence(journal).filter_map(seen);
    let seen: Vec<fit::Trial> = trials().map(|(_, seen)| seen).collect();
    let at_usual_speed = trials()
        .map(|(entry, _)| usual?.speed_in(entry))
        .collect::<Option<Vec<f64>>>()
        .and_then(|speeds| fit::at_usual_speed(&seen, &speeds, CONFIDENCE));
    let targets = f64::from(targets);
    let of_all = |found: fit::Estimate, slope: Option<f64>| {
        let rounded = |per_s: f64| (targets * per_s).round();
        let (low, high) = found.interval;
        Estimate {
            rate_per_s: rounded(found.per_s),
            interval: (rounded(low), rounded(high)),
            noise: quantity::rounded(found.noise),
            slope: slope.map(quantity::rounded),
        }
    };
    (
        fit::estimate(&seen, CONFIDENCE).map(|found| of_all(found, None)),
        at_usual_speed.map(|found| of_all(found, Some(found.slope))),
    )
}

/// Returns what a trial says of the capacity. The times of one that was slowed are upper bounds. What was offered
/// differs by chance from what was asked for, and the response times follow what was offered. A load of sessions is
/// known by what was asked for alone: what was offered are their requests.
fn seen(entry: &Entry, observed: &Observed, targets: u32) -> Option<fit::Trial> {
    let excess = |judged: &slo::Judged| {
        let limit = judged.slo.response_time()?;
        Some(judged.reached_ns.map(|ns| (ns as f64 / limit.0 as f64).ln()))
    };
    let excesses: Option<Vec<f64>> = entry.slo.iter().filter_map(excess).collect();
    // Without a request of an objective it did not fail.
    if slo::unmeasured(&[&entry.slo[..]]).is_some() {
        return None;
    }
    let known = excesses.filter(|_| entry.status == Status::Valid);
    let of_sessions = entry.asked_per_target_per_s.filter(|_| observed.sessions);
    let load = of_sessions.unwrap_or(observed.offered_per_s / f64::from(targets));
    Some(fit::Trial {
        load: Rate::per_second(load)?,
        passed: observed.slo_met?,
        // All objectives have to be met.
        excess: known.and_then(|excesses| excesses.into_iter().reduce(f64::max)),
    })
}

/// The limit at the maximum. If that trial still followed its load, it was not limited: then the
/// limit comes from the lowest load above it that has one.
fn limited_by(journal: &[Entry], maximum: &Maximum) -> Option<String> {
    let at = |entry: &Entry| entry.trial == maximum.trial;
    let limited = |(entry, observed): (&Entry, &Observed)| {
        let words = observed.limited_by.clone()?;
        let above = maximum.offered_per_s <= observed.offered_per_s;
        (at(entry) || above).then_some((!at(entry), observed.offered_per_s, words))
    };
    let first = at_load::evidence(journal)
        .filter_map(limited)
        .min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    first.map(|(_, _, words)| words)
}

/// The limit in the trials at the upper bound of the capacity.
fn limited_at(journal: &[Entry], load: Rate) -> Option<String> {
    at(journal, load).evidence().find_map(|(_, observed)| observed.limited_by.clone())
}

/// The trials at a load.
fn at(journal: &[Entry], load: Rate) -> AtLoad<'_> {
    at_load::at(journal, Purpose::Trial, Some(load))
}

/// The load with the highest median sustained rate, represented by its trial nearest to the median. A load at
/// which the service failed has none.
fn maximum(resolved: &Resolved, journal: &[Entry]) -> Option<Maximum> {
    let points = swept(resolved, journal);
    // Of equal loads the lowest: the rate was reached there, and the loads above brought no more.
    let best = points.iter().rev();
    let best = best
        .filter(|point| 0.0 < point.sustained_per_s)
        .max_by(|a, b| a.sustained_per_s.total_cmp(&b.sustained_per_s))?;
    let off = |observed: &Observed| (observed.sustained_per_s - best.sustained_per_s).abs();
    let load = at_point(resolved, journal, best)?;
    let trials: Vec<(&Entry, &Observed)> = match best.is_bound {
        true => load.attempts.iter().filter_map(|entry| Some((*entry, bounding(entry)?))).collect(),
        false => load.evidence().collect(),
    };
    let at_best: Vec<(&Entry, &Observed)> =
        trials.into_iter().filter(|(_, of)| of.throughput_per_s().is_some()).collect();
    let (entry, _) = at_best.iter().min_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
    // The median, as of what was sustained: then this is never more.
    let offered: Vec<f64> = at_best.iter().map(|(_, observed)| observed.offered_per_s).collect();
    Some(Maximum {
        rate_per_s: best.sustained_per_s,
        at_least: true,
        offered_per_s: measure::estimate::median(&offered)?,
        trial: entry.trial,
        sessions: Arrivals::of(journal) == Arrivals::Sessions,
    })
}

/// The trials of a point. A load that was given is the only one, and may have no rate.
fn at_point<'a>(resolved: &Resolved, journal: &'a [Entry], point: &Point) -> Option<AtLoad<'a>> {
    match resolved.spec.search {
        Some(_) => Some(at(journal, point.asked)),
        None => at_load::by_load(journal).into_iter().next(),
    }
}

/// The lowest load of a sweep that missed the SLO, of those that no load met.
fn lowest_missed(resolved: &Resolved, journal: &[Entry]) -> Option<f64> {
    let points = points(resolved, journal);
    let missed = points.iter().filter(|point| point.slo_met == Some(false));
    let lowest =
        missed.min_by(|a, b| a.asked.as_per_second().total_cmp(&b.asked.as_per_second()))?;
    at(journal, lowest.asked).rate_per_s()
}

/// The highest load whose trials met the SLO.
fn capacity(resolved: &Resolved, journal: &[Entry]) -> Option<Capacity> {
    let points = points(resolved, journal);
    let met = points.iter().filter(|point| point.slo_met == Some(true));
    let best = met.max_by(|a, b| a.asked.as_per_second().total_cmp(&b.asked.as_per_second()))?;
    let load = at_point(resolved, journal, best)?;
    let (_, observed) = load.representative()?;
    if resolved.spec.search.is_none() && observed.is_mostly_failing() {
        return None;
    }
    let asked_of = |point: &&Point| point.asked.as_per_second();
    let missed = || points.iter().filter(|point| point.slo_met == Some(false));
    let above = missed()
        .filter(|point| best.asked < point.asked)
        .min_by(|a, b| asked_of(a).total_cmp(&asked_of(b)));
    let below = missed()
        .filter(|point| point.asked < best.asked)
        .max_by(|a, b| asked_of(a).total_cmp(&asked_of(b)));
    let rate = |point: &Point| at(journal, point.asked).rate_per_s();
    capacity_at(resolved, &load, above.and_then(rate), below.and_then(rate))
}

/// The capacity between two bounds.
fn enclosed(resolved: &Resolved, bracket: &Bracket, journal: &[Entry]) -> Option<Capacity> {
    let missed = bracket.upper.and_then(|upper| at(journal, upper).rate_per_s());
    capacity_at(resolved, &at(journal, bracket.lower?), missed, None)
}

/// A capacity at this load, with the loads above and below it that missed the SLO.
fn capacity_at(
    resolved: &Resolved,
    load: &AtLoad<'_>,
    missed_at_per_s: Option<f64>,
    missed_below_per_s: Option<f64>,
) -> Option<Capacity> {
    let (entry, observed) = load.representative()?;
    Some(Capacity {
        rate_per_s: load.rate_per_s()?,
        at_least: true,
        completed_per_s: observed.completed_per_s,
        trial: entry.trial,
        slo: resolved.slo_in_words()?,
        missed_at_per_s,
        missed_below_per_s,
        in_doubt: missed_below_per_s.is_some(),
        sessions: observed.sessions,
    })
}
