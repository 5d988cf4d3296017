//! The end of a search whose service fails at any load: no further trial would say anything else.

use measure::Rate;
use results::journal::{Entry, Observed, Purpose, Status};
use results::sessions::Arrivals;
use results::{AtLoad, at_load, failing, slo};

use crate::spec::{Resolved, Start, Strategy};

/// The remedy for a service that fails, with which the reason of such an end ends.
pub(crate) const CORRECT: &str = "correct the workload or the service, and run it again";
/// The reason of an end without any success.
pub(crate) const NO_SUCCESS: &str =
    "no request succeeded; correct the workload or the service, and run it again";

/// The trials that show that a service fails, and the disturbed ones that show that it fails most requests if no load
/// lies far below another.
const MOST_FAILING: usize = 2;
const MOST_DISTURBED_FAILING: usize = 3;
/// A load is far below another if it is this part of it: an overloaded service that fails requests would fail less of
/// them there.
const FAR_APART: f64 = 4.0;
/// The part of a share that remains where it is alike.
const ALIKE: f64 = 0.9;
/// The standard errors of a share that chance may explain.
const BY_CHANCE: f64 = 2.0;

/// A trial with its figures.
type Seen<'a> = (&'a Entry, &'a Observed);

/// Returns why a service fails whatever its load, if its trials show that.
pub(super) fn at_any_load(resolved: &Resolved, journal: &[Entry]) -> Option<String> {
    match is_hopeless(resolved, journal) {
        true => Some(NO_SUCCESS.to_owned()),
        false => in_most(resolved, journal).or_else(|| in_some(resolved, journal)),
    }
}

/// Returns the lowest load of a range, if it is to be tried before all others: each trial so far misses the SLO by
/// failures that no lower load is likely to change, and this one shows that.
pub(super) fn lowest_to_try(resolved: &Resolved, journal: &[Entry]) -> Option<Rate> {
    let lowest = lowest_of_range(resolved)?;
    let is_known = at_load::at(journal, Purpose::Trial, Some(lowest)).evidence().next().is_some();
    (!is_known && all_miss(resolved, journal)).then_some(lowest)
}

/// Returns the lowest load of a search for a capacity in a range.
fn lowest_of_range(resolved: &Resolved) -> Option<Rate> {
    let search = resolved.spec.search.as_ref().filter(|_| tries_lower(resolved))?;
    match search.start {
        Start::At(from) => search.to.and(Some(from)),
        Start::Probe(_) => None,
    }
}

/// Returns true if a search tries lower loads: one for a capacity, from both sides.
fn tries_lower(resolved: &Resolved) -> bool {
    let search = resolved.spec.search.as_ref();
    search.is_some_and(|it| matches!(it.strategy, Strategy::Bracket(_)))
}

/// Returns true if the service answered every request of every trial wrongly, as with a wrong path. No calmer
/// machine would change that, and no higher load: only a search for a capacity tries lower ones, which a service that
/// refuses requests may accept.
fn is_hopeless(resolved: &Resolved, journal: &[Entry]) -> bool {
    let tries_lower = tries_lower(resolved);
    let is_hopeless = |observed: &Observed| {
        observed.is_all_wrong() && (!tries_lower || failing::are_of_any_load(&observed.failing))
    };
    let mut observed = journal.iter().filter_map(|entry| entry.observed.as_ref()).peekable();
    observed.peek().is_some() && observed.all(is_hopeless) && !is_allowed(resolved, 1.0)
}

/// Returns true if an objective allows this share of the requests to fail: then it asks for such a load.
fn is_allowed(resolved: &Resolved, failed_share: f64) -> bool {
    let allows =
        |slo: &slo::Slo| matches!(slo, slo::Slo::Failures { max } if failed_share <= max.0);
    resolved.slos().iter().any(allows)
}

/// Returns why a service fails at any load: most requests of every trial failed in a way that a lower load hardly
/// changes, and not less of them at a load far below the highest. What fails so in one load after another, or in one
/// disturbed trial after another, has no capacity to look for.
fn in_most(resolved: &Resolved, journal: &[Entry]) -> Option<String> {
    let observed = journal.iter().filter_map(|entry| Some((entry, entry.observed.as_ref()?)));
    let all: Vec<Seen<'_>> = observed.collect();
    let fails =
        |of: &Observed| of.mostly_fails_at_any_load() && !is_allowed(resolved, of.failed_share());
    let trials: Vec<Seen<'_>> =
        all.iter().copied().filter(|(entry, _)| entry.purpose == Purpose::Trial).collect();
    let disturbed = trials.iter().filter(|(entry, _)| entry.status == Status::Invalid).count();
    let is_shown = do_not_follow_load(&trials, &all) || MOST_DISTURBED_FAILING <= disturbed;
    if !is_shown || !all.iter().all(|&(_, of)| fails(of)) {
        return None;
    }
    let at_lowest = at_lowest_in_words(&trials)?;
    Some(format!(
        "most requests failed in every trial; {at_lowest}; no lower load and no calmer machine changes that: {CORRECT}"
    ))
}

/// Returns why a search for a capacity finds none although most requests succeed: the same part of them fails at a load
/// far below the highest, and that is more than the SLO allows.
fn in_some(resolved: &Resolved, journal: &[Entry]) -> Option<String> {
    let trials: Vec<Seen<'_>> = at_load::evidence(journal).collect();
    let is_shown = do_not_follow_load(&trials, &trials) && all_miss(resolved, journal);
    if !tries_lower(resolved) || !is_shown {
        return None;
    }
    let at_lowest = at_lowest_in_words(&trials)?;
    let most = trials.iter().map(|(_, of)| of.failed_share()).fold(0.0, f64::max);
    let percent = (100.0 * most - 1e-9).ceil();
    let allow = match percent < 100.0 {
        true => format!(
            "if so many may fail, state failures<={percent}% and no percentile above p{}; otherwise ",
            100.0 - percent
        ),
        false => String::new(),
    };
    Some(format!("the failures do not depend on the load: {at_lowest}; {allow}{CORRECT}"))
}

/// Returns true if the trials at each load miss the SLO by failures that no lower load is likely to change.
fn all_miss(resolved: &Resolved, journal: &[Entry]) -> bool {
    let slos = resolved.slos();
    let loads = at_load::by_load(journal);
    let misses = |load: &AtLoad<'_>| {
        let equal: Vec<&Observed> = load.evidence().map(|(_, observed)| observed).collect();
        Observed::miss_at_any_load(&equal, &slos)
    };
    let mut known = loads.iter().filter(|load| load.evidence().next().is_some()).peekable();
    known.peek().is_some() && known.all(misses)
}

/// Returns true if the same part of the requests failed at the lowest load of these trials, and at the highest of all,
/// which is far above it.
fn do_not_follow_load(trials: &[Seen<'_>], all: &[Seen<'_>]) -> bool {
    let (Some((_, low)), Some((_, high))) = (lowest(trials), highest(all)) else { return false };
    let is_far_below = FAR_APART * low.offered_per_s <= high.offered_per_s;
    MOST_FAILING <= trials.len() && is_far_below && are_alike(low, high)
}

/// Returns true if neither the failures are fewer at the lower load, nor the successes more: an overloaded service
/// succeeds as often per second at both.
fn are_alike(low: &Observed, high: &Observed) -> bool {
    let (of_low, of_high) = (low.share_at_any_load(), high.share_at_any_load());
    let chance = BY_CHANCE * (of_low * (1.0 - of_low) / low.requests.max(1) as f64).sqrt();
    ALIKE * of_high <= of_low + chance && ALIKE * (1.0 - of_low) <= 1.0 - of_high + chance
}

fn lowest<'a>(seen: &[Seen<'a>]) -> Option<Seen<'a>> {
    seen.iter().copied().min_by(|a, b| a.1.offered_per_s.total_cmp(&b.1.offered_per_s))
}

fn highest<'a>(seen: &[Seen<'a>]) -> Option<Seen<'a>> {
    seen.iter().copied().max_by(|a, b| a.1.offered_per_s.total_cmp(&b.1.offered_per_s))
}

/// Returns the failures at the lowest load: `at the lowest load, 70.0/s, 500 for 900 of 1,000 requests to /`.
fn at_lowest_in_words(trials: &[Seen<'_>]) -> Option<String> {
    let (entry, observed) = lowest(trials)?;
    let arrivals = Arrivals::of(trials.iter().map(|(entry, _)| *entry));
    let load = match entry.asked_per_s {
        Some(asked) => arrivals.load_in_words(asked),
        None => arrivals.requests_in_words(observed.offered_per_s),
    };
    Some(format!("at the lowest load, {load}, {}", observed.failures_in_words()?))
}
