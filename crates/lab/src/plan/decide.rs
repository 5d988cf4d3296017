//! The next step of one strand, from its trials alone: a pure function, so that a run is resumed by
//! reading the journal.

use measure::quantity::grouped;
use measure::search::{Bracket, Judged, Step};
use measure::{Nanos, Random, Rate};
use results::answer::{failing_in_words, trials_in_words};
use results::at_load::{self, AtLoad, Conclusion, Judgement};
use results::journal::{Entry, Observed, Purpose, Status, Why};
use results::sessions::Arrivals;

use super::failing::{self, NO_SUCCESS};
use crate::course::{Attempt, Ending};
use crate::limits::connections;
use crate::search::{self, Next, Point};
use crate::spec::{Offered, Resolved, ResultKind, Search, Start, Stop, Strategy};
use crate::trial;

#[cfg(test)]
mod tests;

/// The most repetitions of an aborted trial.
const MOST_REPEATS_OF_ABORTED: u32 = 2;

/// The most times that the generator may limit a trial: if its own work filled its time twice, it will
/// do so again.
const MOST_GENERATOR_BOUND: usize = 2;

/// The most trials that only a longer wait for their responses could give an answer.
const MOST_NOT_AWAITED: usize = 2;

/// The most trials that could not open all of their connections: no calmer machine opens them.
const MOST_UNCONNECTED: usize = 2;

/// The most probes if none of them is valid. A disturbance only slows a probe down, so the fastest
/// is the best estimate.
const MOST_PROBES: usize = 3;

/// The most trials that a reason lists.
const MOST_LISTED: usize = 3;

/// The longest wait for a calm machine before the first repetition of a trial. It grows with each, up
/// to the longest of all: most disturbances are short, and a trial that is begun too early judges
/// itself, in less time than a long wait takes.
const FIRST_WAIT: Nanos = Nanos::from_secs(20);
const LONGEST_WAIT: Nanos = Nanos::from_secs(60);

#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Run(Attempt),
    End(Ending),
}

/// The budget that all strands together have used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spent {
    /// The number of strands among which the budget is shared.
    strands: u64,
    /// The time of the trials that count: as planned, and with what opening their connections took.
    time: Nanos,
    /// The time lost to disturbances: invalid trials, and waiting for a calm machine.
    lost: Nanos,
    /// The last trial before the run went on although it had ended without an answer: what was lost until
    /// then is not counted.
    resumed_after: u32,
}

impl Spent {
    /// Nothing is spent yet of the budget of so many strands.
    pub(super) fn of(strands: u64, resumed_after: u32) -> Spent {
        Spent { strands, time: Nanos::ZERO, lost: Nanos::ZERO, resumed_after }
    }

    /// Returns true if a trial that gave no answer is counted.
    fn counts(&self, entry: &Entry) -> bool {
        self.resumed_after < entry.trial
    }

    pub(super) fn add(&mut self, resolved: &Resolved, entry: &Entry) {
        let length = trial::length(resolved, entry);
        let waited = entry.waited.as_ref().map_or(0, |waited| waited.waited_ns);
        let lost = if self.counts(entry) { Nanos(waited) } else { Nanos::ZERO };
        self.lost += lost;
        match entry.status {
            Status::Invalid if self.counts(entry) => self.lost += length,
            Status::Invalid => {}
            Status::Valid | Status::Bounded | Status::Aborted => self.time += length,
        }
    }
}

/// Returns the next step of one strand from its own trials. `base` is the rate that its load is a
/// share of, if it is a share.
pub(super) fn next(
    resolved: &Resolved,
    journal: &[Entry],
    base: Option<Rate>,
    spent: &Spent,
) -> Decision {
    let spec = &resolved.spec;
    if let Some(why) = failing::at_any_load(resolved, journal) {
        return Decision::End(Ending::Failing(why));
    }
    if let Some(why) = unmeasured(resolved, journal) {
        return no_answer(why);
    }
    let allowed =
        |allowance, purpose, load| attempt(resolved, journal, spent, allowance, purpose, load);
    let attempt = |purpose, load| Decision::of(allowed(Allowance::Whole, purpose, load));
    let Some(search) = &spec.search else {
        let asked = match spec.load.rate() {
            None => None,
            Some(Offered::Rate(rate)) => Some(*rate),
            Some(Offered::Share { share, .. }) => {
                let base = base.expect("a share is asked for once its base is known");
                Some(Rate::rounded(base.as_per_second() * share.0))
            }
        };
        let points = points(resolved, journal);
        return match points.is_empty() {
            true => attempt(Purpose::Trial, asked),
            false => Decision::End(Ending::Answered("the load was measured".to_owned())),
        };
    };
    let probed = match search.start {
        Start::At(_) => None,
        Start::Probe(_) => match probe(resolved, journal, spent) {
            Ok(probed) => Some(probed),
            Err(decision) => return decision,
        },
    };
    match &search.strategy {
        Strategy::Sweep(sweep) => {
            let allowed = |allowance, load| allowed(allowance, Purpose::Trial, Some(load));
            sweep_on(resolved, journal, &allowed, |points| {
                search::next(search, sweep, probed, points, Arrivals::of(journal))
            })
        }
        Strategy::Bracket(bracket) => {
            let (seen, undecided) = verdicts(journal);
            let search = search::bisection(search, bracket, probed);
            let lowest = failing::lowest_to_try(resolved, journal);
            let next = measure::search::next(&search, &seen);
            let (load, why) = match (undecided, lowest, next) {
                (Some(load), ..) => (load, Why::Extend),
                (None, Some(lowest), _) => (lowest, Why::Edge),
                (None, None, Step::Try { load, why }) => (load, Why::from(why)),
                (None, None, Step::Found(bracket)) => {
                    return Decision::End(ended(resolved, journal, &bracket));
                }
            };
            let bracket = measure::search::bracket(&search, &seen);
            if out_of_reach(journal).iter().any(|(beyond, _)| *beyond == load) {
                return Decision::End(ended(resolved, journal, &bracket));
            }
            let (why, bracket) = (Some(why), Some(bracket));
            match allowed(Allowance::Whole, Purpose::Trial, Some(load)) {
                Ok(attempt) => Decision::Run(Attempt { why, bracket, ..attempt }),
                Err(refusal) => {
                    let missing = unconfirmed_in_words(resolved, journal, &search, &seen);
                    no_answer(missing.unwrap_or_default() + &refusal.why)
                }
            }
        }
    }
}

/// Returns the next step of a sweep. A load whose trials are all disturbed does not end one that looks
/// for the maximum: it leaves a bound, and what is left of the time when the sweep has its shape
/// is for the bounds that keep the maximum from being exact.
fn sweep_on(
    resolved: &Resolved,
    journal: &[Entry],
    allowed: &dyn Fn(Allowance, Rate) -> Result<Attempt, Refusal>,
    next: impl FnOnce(&[Point]) -> Next,
) -> Decision {
    let allowance = if bounds_suffice(resolved) { Allowance::Own } else { Allowance::Whole };
    for load in at_load::by_load(journal) {
        let Some(asked) = rate_of(&load) else { continue };
        if is_complete(resolved, &load) {
            continue;
        }
        match allowed(allowance, asked) {
            Err(Refusal { disturbed: true, .. }) if bound(resolved, asked, &load).is_some() => {}
            decided => return Decision::of(decided),
        }
    }
    let points = swept(resolved, journal);
    match next(&points) {
        Next::Load(asked) => Decision::of(allowed(Allowance::Whole, asked)),
        Next::Stopped(rule) => {
            if let Some(why) = limit_of_connections(resolved, journal) {
                return no_answer(format!("{rule}, but {why}"));
            }
            let above = bounds_above(resolved, &points);
            let again = above.iter().find_map(|load| allowed(Allowance::Whole, *load).ok());
            again.map_or_else(
                || Decision::End(Ending::Answered(rule + &bounds_in_words(&points, &above))),
                Decision::Run,
            )
        }
        Next::Ended { answered: true, why } => Decision::End(Ending::Answered(why)),
        Next::Ended { answered: false, why } => no_answer(why),
    }
}

/// Returns true if a bound of what the system sustains is an answer: to a question for the maximum, which
/// no rule on the SLO ends.
fn bounds_suffice(resolved: &Resolved) -> bool {
    let search = resolved.spec.search.as_ref();
    search.is_some_and(|search| {
        let stop = search.sweep().map_or(&[][..], |sweep| &sweep.stop);
        search.result == ResultKind::MaximumThroughput
            && !stop.is_empty()
            && stop.iter().all(|rule| matches!(rule, Stop::NoNewMax { .. }))
    })
}

/// Returns the loads whose bounds leave open whether the system sustains more than the best of all.
pub(crate) fn bounds_above(resolved: &Resolved, points: &[Point]) -> Vec<Rate> {
    let best = search::best(points);
    let offered = |point: &Point| point.asked.as_per_second() * f64::from(resolved.targets());
    let above = points.iter().filter(|point| point.is_bound && best < offered(point));
    above.map(|point| point.asked).collect()
}

fn bounds_in_words(points: &[Point], above: &[Rate]) -> String {
    match (above.len(), points.len()) {
        (0, _) => String::new(),
        (bounds, all) => format!(
            "; at {bounds} of {all} loads every trial was disturbed, so it is only known that the system \
             sustains at least this"
        ),
    }
}

/// Returns why a load has no verdict however often it is tried: no request of an objective was measured there. It is
/// not known if the load meets the SLO, so no search can go on from it.
fn unmeasured(resolved: &Resolved, journal: &[Entry]) -> Option<String> {
    let loads = at_load::by_load(journal).into_iter();
    let mut complete = loads.filter(|load| is_complete(resolved, load));
    let (load, slo, trials) = complete.find_map(|load| {
        let (slo, trials) = load.unmeasured()?;
        Some((load, slo, trials))
    })?;
    let of = slo.label().map(|label| format!(" of `{label}`")).unwrap_or_default();
    let load = Arrivals::of(journal).load_in_words(load.rate_per_s()?);
    let trials = trials_in_words(&trials, MOST_LISTED);
    Some(format!(
        "no request{of} was measured at {load} ({trials}), so {slo} is neither met nor missed there; measure longer \
         (phases.measure.time), or send more of these requests"
    ))
}

/// Returns the ending of a search that found these bounds of the capacity.
fn ended(resolved: &Resolved, journal: &[Entry], bracket: &Bracket) -> Ending {
    let each = if 1 < resolved.targets() { " per instance" } else { "" };
    let arrivals = Arrivals::of(journal);
    let written = |load: Rate| arrivals.load_in_words(load.as_per_second());
    let beyond = out_of_reach(journal).into_iter().find(|(load, _)| bracket.upper == Some(*load));
    if let Some((load, tried)) = beyond {
        let met = bracket.lower.map(written);
        let met = met.map(|lower| format!("the SLO was met up to {lower}{each}, and "));
        let reasons = tried.last().map(|entry| entry.reasons.join("\n  ")).unwrap_or_default();
        let met = met.unwrap_or_default();
        return Ending::NoAnswer(format!(
            "{met}the generator cannot offer {}{each}: {reasons}",
            written(load)
        ));
    }
    match (bracket.lower, bracket.upper) {
        (Some(lower), Some(upper)) => {
            if let Some(why) = limit_of_connections(resolved, journal) {
                let upper = written(upper);
                return Ending::NoAnswer(format!("the SLO was missed at {upper}{each}, but {why}"));
            }
            let apart = upper.as_per_second() / lower.as_per_second() - 1.0;
            let apart = (1e3 * apart).round() / 10.0;
            Ending::Answered(format!(
                "the capacity lies between {} and {}{each}, {apart} % apart",
                written(lower),
                written(upper)
            ))
        }
        (None, Some(upper)) => {
            let search = resolved.spec.search.as_ref().expect("a search found it");
            Ending::Answered(search::missed_everywhere(search, &written(upper), each))
        }
        (Some(lower), None) => Ending::NoAnswer(search::met_everywhere(&written(lower), each)),
        (None, None) => unreachable!("a search ends after a trial"),
    }
}

/// Returns the bounds of the capacity that are near enough, and what is missing of an answer: only to try them again:
/// `the capacity lies between 887/s and 900/s, …: `. `None` if more than that is missing.
fn unconfirmed_in_words(
    resolved: &Resolved,
    journal: &[Entry],
    search: &measure::search::Search,
    seen: &[Judged],
) -> Option<String> {
    let (of_lower, of_upper) = measure::search::unconfirmed(search, seen)?;
    let bracket = measure::search::bracket(search, seen);
    let (lower, upper) = (bracket.lower?, bracket.upper?);
    let is_out_of_reach = out_of_reach(journal).iter().any(|(beyond, _)| *beyond == upper);
    if is_out_of_reach || limit_of_connections(resolved, journal).is_some() {
        return None;
    }
    let each = if 1 < resolved.targets() { " per instance" } else { "" };
    let written = |load: Rate| Arrivals::of(journal).load_in_words(load.as_per_second());
    let trials = |count: u64, load: Rate| match count {
        0 => None,
        1 => Some(format!("1 confirming trial at {}", written(load))),
        n => Some(format!("{n} confirming trials at {}", written(load))),
    };
    let missing = [trials(of_lower, lower), trials(of_upper, upper)];
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the capacity lies between {} and {}{each}, within the precision asked; what is missing is {}: ",
            written(lower),
            written(upper),
            missing.join(" and ")
        )
    })
}

/// Returns what shows that the connections were the limit at the load that ended a search, or that is the upper bound
/// so far, and not the system.
pub(crate) fn limit_of_connections(resolved: &Resolved, journal: &[Entry]) -> Option<String> {
    let load = match bracket(resolved, journal) {
        Some(bracket) => bracket.upper?,
        None => swept(resolved, journal).last()?.asked,
    };
    let at_limit = at_load::at(journal, Purpose::Trial, Some(load));
    let evidence = at_load::evidence(journal).filter(|(entry, _)| asked(entry).is_some());
    connections::limit(at_limit.evidence().map(|(_, of)| of), evidence.map(|(_, of)| of))
}

/// Returns the verdicts on the loads in their order, and the load that needs another trial for one. A load that is
/// out of the generator's reach leads to lower ones, as one that misses the SLO does.
fn verdicts(journal: &[Entry]) -> (Vec<Judged>, Option<Rate>) {
    let (mut verdicts, mut open) = (Vec::new(), None);
    for Judgement { trials, conclusion } in at_load::judgements(journal) {
        let Some(load) = trials.first().and_then(|entry| asked(entry)) else { continue };
        let last = trials.last().map(|entry| entry.trial);
        match conclusion {
            Conclusion::Open => open = Some(load),
            decided => verdicts.push((last, Judged { load, passed: decided == Conclusion::Met })),
        }
    }
    for (load, tried) in out_of_reach(journal) {
        let missed = Judged { load, passed: false };
        verdicts.extend(tried.iter().map(|entry| (Some(entry.trial), missed)));
    }
    verdicts.sort_by_key(|(trial, _)| *trial);
    (verdicts.into_iter().map(|(_, judged)| judged).collect(), open)
}

/// Returns the loads at which the generator's own work was the limit as often as it may be, with these trials: what
/// the system would do there is not known.
fn out_of_reach(journal: &[Entry]) -> Vec<(Rate, Vec<&Entry>)> {
    let loads = at_load::by_load(journal).into_iter().filter_map(|load| {
        let attempts = load.attempts.iter().copied();
        let tried: Vec<&Entry> = attempts.filter(|entry| is_generator_bound(entry)).collect();
        (MOST_GENERATOR_BOUND <= tried.len()).then_some((rate_of(&load)?, tried))
    });
    loads.collect()
}

/// Returns true if the generator's own work limited a trial, which is not valid for that.
fn is_generator_bound(entry: &Entry) -> bool {
    entry.status == Status::Invalid
        && entry.observed.as_ref().is_some_and(|observed| observed.generator_bound)
}

/// Returns the bounds of the capacity that a strand found so far; `None` if it does not look for them.
pub fn bracket(resolved: &Resolved, journal: &[Entry]) -> Option<Bracket> {
    let search = resolved.spec.search.as_ref()?;
    let Strategy::Bracket(bracket) = &search.strategy else { return None };
    let probed = match search.start {
        Start::At(_) => None,
        Start::Probe(_) => Some(fastest_probe(resolved, journal)?),
    };
    let (seen, _) = verdicts(journal);
    Some(measure::search::bracket(&search::bisection(search, bracket, probed), &seen))
}

/// Returns the rate of each target that a strand found: its capacity, or without an SLO its maximum
/// throughput.
pub(super) fn found(resolved: &Resolved, journal: &[Entry]) -> Option<Rate> {
    let points = swept(resolved, journal);
    if resolved.spec.slo.is_empty() {
        // What was sustained are requests, and a share of it is asked for in sessions.
        let in_sessions = at_load::evidence(journal).filter_map(|(_, of)| of.sessions_per_s);
        let best = in_sessions.reduce(f64::max).unwrap_or_else(|| search::best(&points));
        return Rate::per_second(best / f64::from(resolved.targets()));
    }
    if let Some(bracket) = bracket(resolved, journal) {
        return bracket.lower;
    }
    let met = points.iter().filter(|point| point.slo_met == Some(true));
    met.map(|point| point.asked).max_by(|a, b| a.as_per_second().total_cmp(&b.as_per_second()))
}

/// Returns the loads whose repetitions are complete, in the order in which they were tried.
pub fn points(resolved: &Resolved, journal: &[Entry]) -> Vec<Point> {
    let loads = at_load::by_load(journal);
    loads.iter().filter_map(|load| point(resolved, load)).collect()
}

/// Returns the same, and the bounds of the loads at which every trial was disturbed, if they suffice.
pub fn swept(resolved: &Resolved, journal: &[Entry]) -> Vec<Point> {
    let loads = at_load::by_load(journal);
    let bound = |load: &AtLoad<'_>| bound(resolved, rate_of(load)?, load);
    loads.iter().filter_map(|load| point(resolved, load).or_else(|| bound(load))).collect()
}

fn point(resolved: &Resolved, load: &AtLoad<'_>) -> Option<Point> {
    is_complete(resolved, load).then_some(())?;
    Some(Point {
        // A closed loop has no rate; its only point is never compared.
        asked: rate_of(load).unwrap_or_else(|| Rate::per_second(1.0).expect("one is positive")),
        sustained_per_s: load.sustained_per_s()?,
        slo_met: match load.conclusion() {
            Some(Conclusion::Met) => Some(true),
            Some(Conclusion::Missed) => Some(false),
            Some(Conclusion::Open) | None => None,
        },
        is_bound: false,
    })
}

/// Returns the most that the system sustained at a load in spite of the disturbances, if that is a bound of
/// use. A disturbance keeps a system from completing requests; it never completes one.
fn bound(resolved: &Resolved, asked: Rate, load: &AtLoad<'_>) -> Option<Point> {
    if !bounds_suffice(resolved) {
        return None;
    }
    let bounding = load.attempts.iter().filter_map(|entry| bounding(entry));
    let sustained_per_s = bounding.map(|of| of.sustained_per_s).max_by(f64::total_cmp)?;
    Some(Point { asked, sustained_per_s, slo_met: None, is_bound: true })
}

/// Returns what a trial says of the rate that the system sustains at least, if that is all it says.
pub(crate) fn bounding(entry: &Entry) -> Option<&Observed> {
    let is_disturbed = entry.purpose == Purpose::Trial && entry.status == Status::Invalid;
    entry.observed.as_ref().filter(|observed| is_disturbed && !observed.is_failing())
}

/// Returns true if a load needs no further trial.
fn is_complete(resolved: &Resolved, load: &AtLoad<'_>) -> bool {
    let repeat = &resolved.spec.repeat;
    let values = |metric: results::Metric| load.evidence().map(|(_, of)| metric.of(of)).collect();
    repeat.is_complete(load.evidence().count(), values)
}

fn rate_of(load: &AtLoad<'_>) -> Option<Rate> {
    asked(load.attempts.first()?)
}

fn asked(entry: &Entry) -> Option<Rate> {
    entry.configuration().load().and_then(Rate::per_second)
}

/// Returns what the closed loop completed on each target, or the step that is needed to know it.
fn probe(resolved: &Resolved, journal: &[Entry], spent: &Spent) -> Result<Rate, Decision> {
    let probes = || journal.iter().filter(|entry| entry.purpose == Purpose::Probe);
    let measured = probes().filter(|entry| entry.observed.is_some()).count();
    let is_known = probes().any(|entry| entry.status.answers());
    if !is_known && measured < MOST_PROBES {
        match attempt(resolved, journal, spent, Allowance::Whole, Purpose::Probe, None) {
            // The probes that were measured are used, although none is valid.
            Err(_) if 0 < measured => {}
            next => return Err(Decision::of(next)),
        }
    }
    fastest_probe(resolved, journal).ok_or_else(|| match failing_in_words(probes()) {
        Some(_) if is_known => Decision::End(Ending::Failing(NO_SUCCESS.to_owned())),
        Some(words) => no_answer(format!("the probe failed: {words}")),
        None => no_answer("the probe completed nothing".to_owned()),
    })
}

/// Returns what the fastest probe completed on each target, without failures: a refusal is fast.
fn fastest_probe(resolved: &Resolved, journal: &[Entry]) -> Option<Rate> {
    let probes = journal.iter().filter(|entry| entry.purpose == Purpose::Probe);
    // What the search asks for: of a load of sessions, each request is only a part.
    let completed = probes.filter_map(|entry| {
        let observed = entry.observed.as_ref()?;
        observed.sessions_per_s.or(observed.succeeded_per_s)
    });
    Rate::per_second(completed.fold(0.0, f64::max) / f64::from(resolved.targets()))
}

fn trials(journal: &[Entry]) -> impl Iterator<Item = &Entry> {
    journal.iter().filter(|entry| entry.purpose == Purpose::Trial)
}

/// The time that may be lost to disturbances.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Allowance {
    /// The budget's own for them: the rest is kept for the loads that follow.
    Own,
    /// That, and the part of `budget.time` that the trials do not need.
    Whole,
}

/// The reason why no attempt at a load is left.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Refusal {
    why: String,
    /// True if disturbances used up what is allowed for them.
    disturbed: bool,
}

impl Decision {
    fn of(attempt: Result<Attempt, Refusal>) -> Decision {
        attempt.map_or_else(|refusal| no_answer(refusal.why), Decision::Run)
    }
}

/// Returns the next attempt at this load, unless the budget is used up.
fn attempt(
    resolved: &Resolved,
    journal: &[Entry],
    spent: &Spent,
    allowance: Allowance,
    purpose: Purpose,
    load: Option<Rate>,
) -> Result<Attempt, Refusal> {
    let refused = |why: String| Err(Refusal { why, disturbed: false });
    let disturbed = |why: String| Err(Refusal { why, disturbed: true });
    let used_up = |allowed: String, by: &str, parts: &str| {
        refused(match (has_rules(resolved), deaths(journal)) {
            (true, None) => format!("no stop rule fired in the {allowed} allowed{parts}"),
            (true, Some((died, last))) => format!(
                "no stop rule fired in the {allowed} allowed{parts}; the system died in {died} of them, the last time: \
                 {last}"
            ),
            (false, None) => format!("the {allowed} of {by} were not enough{parts}"),
            // More trials are no remedy for deaths.
            (false, Some((died, last))) => format!(
                "the system died in {died} of the trials, and the {allowed} of {by} were not enough{parts}; the last \
                 time: {last}"
            ),
        })
    };
    let budget = &resolved.spec.budget;
    let here = at_load::at(journal, purpose, load).attempts;
    let repetition = here.iter().filter(|entry| entry.status.answers()).count() as u32 + 1;
    let failed: Vec<&Entry> =
        here.into_iter().filter(|entry| entry.repetition == repetition).collect();
    let count = |status| {
        let counted = failed.iter().filter(|entry| spent.counts(entry));
        counted.filter(|entry| entry.status == status).count() as u32
    };
    let (aborted, invalid) = (count(Status::Aborted), count(Status::Invalid));
    let last_reason = || {
        let reasons = failed.last().map(|entry| entry.reasons.join("\n  "));
        reasons.unwrap_or_default()
    };
    if MOST_REPEATS_OF_ABORTED < aborted {
        return refused(format!("a trial was aborted {aborted} times: {}", last_reason()));
    }
    if MOST_GENERATOR_BOUND <= failed.iter().filter(|entry| is_generator_bound(entry)).count() {
        // The rate of an open loop is a bound of what the system sustains, as that of a disturbed one is.
        return Err(Refusal { why: last_reason(), disturbed: load.is_some() });
    }
    let is_unconnected =
        |entry: &&Entry| entry.observed.as_ref().is_some_and(|observed| observed.lacks_connections);
    if MOST_UNCONNECTED <= failed.iter().copied().filter(is_unconnected).count() {
        return refused(last_reason());
    }
    let is_cut_off =
        |entry: &&Entry| entry.observed.as_ref().is_some_and(Observed::needs_longer_drain);
    if MOST_NOT_AWAITED <= failed.iter().copied().filter(is_cut_off).count() {
        let is_silent =
            |entry: &Entry| entry.observed.as_ref().is_some_and(Observed::has_no_response);
        return refused(match failed.iter().copied().all(is_silent) {
            true => silent_in_words(&failed),
            false => last_reason(),
        });
    }
    if budget.invalid_attempts < invalid {
        let times = match invalid {
            1 => ", and budget.invalid_attempts allows no other".to_owned(),
            _ => format!(" {invalid} times"),
        };
        return disturbed(format!("a trial was not valid{times}: {}", last_reason()));
    }
    let counted = |entry: &&Entry| entry.status != Status::Invalid;
    let counted = trials(journal).filter(counted).count();
    // A load that left a bound has no trial that counts, and counts as one itself.
    let trials = match failed.is_empty() {
        true => counted.max(at_load::by_load(journal).len()) as u32,
        false => counted as u32,
    };
    if purpose == Purpose::Trial && budget.trials.0 <= trials {
        return used_up(format!("{trials} trials"), "budget.trials", "");
    }
    // Connections that were slow to open will be again.
    let opening = journal.last().map_or(Nanos::ZERO, trial::opening);
    let next = trial::planned_length(resolved, purpose) + opening;
    // A probe is for the trial that follows.
    let follows = match purpose {
        Purpose::Probe => trial::planned_length(resolved, Purpose::Trial),
        Purpose::Trial => Nanos::ZERO,
    };
    let needed = spent.time + next + follows;
    if let Some(time) = budget.time.filter(|time| trials == 0 && **time < needed) {
        return refused(format!(
            "budget.time is {}, which is too short for one trial; allow at least {}",
            time.written(),
            needed.written()
        ));
    }
    if let Some(time) = budget.time.filter(|time| **time < spent.time + next) {
        let parts = format!(
            " (trials that count took {}, and the next one needs {next}; each counts as planned, with its whole drain)",
            spent.time
        );
        return used_up((*time).to_string(), "budget.time", &parts);
    }
    let repeats_invalid = failed.last().is_some_and(|entry| entry.status == Status::Invalid);
    let disturbance = trial::disturbance_allowed(resolved, spent.strands);
    let since = if 0 < spent.resumed_after { " since the run went on" } else { "" };
    let disturbances = format!("disturbances took {}{since}", spent.lost);
    // The part of `budget.time` that the trials did not need yet is there for disturbances, too: the
    // run ends within the sum of both in any case.
    let (allowed, used, of, parts) = match budget.time {
        Some(time) => (
            *time + disturbance,
            spent.time + spent.lost,
            "budget.time and budget.disturbance allow",
            format!("trials that count took {}, {disturbances}", spent.time),
        ),
        None => (disturbance, spent.lost, "budget.disturbance allows", disturbances),
    };
    let left = match allowance {
        Allowance::Own if repeats_invalid => disturbance.saturating_sub(spent.lost),
        Allowance::Own | Allowance::Whole => allowed.saturating_sub(used),
    };
    if left < next && (repeats_invalid || budget.time.is_some()) {
        let allowed = allowed.in_words();
        let mut invalid = journal.iter().rev().filter(|entry| entry.status == Status::Invalid);
        let last = invalid.next().map_or(String::new(), |entry| entry.reasons.join("\n  "));
        return disturbed(format!(
            "disturbances used up the rest of the {allowed} that {of} ({parts}, and the next trial needs {next}; \
             each counts as planned, with its whole drain): {last}"
        ));
    }
    let longest = (FIRST_WAIT * u64::from(invalid.max(1))).min(LONGEST_WAIT);
    let last = failed.last();
    let is_of_the_machine = |entry: &&&Entry| {
        !is_cut_off(entry) && !is_unconnected(entry) && !is_generator_bound(entry)
    };
    let may_calm_down = repeats_invalid && last.as_ref().is_some_and(is_of_the_machine);
    let await_calm = may_calm_down.then(|| left.saturating_sub(next).min(longest));
    let attempt = failed.len() as u32 + 1;
    Ok(Attempt { purpose, asked: load, repetition, attempt, await_calm, why: None, bracket: None })
}

/// Returns how often the system died in trials, and the last reason; `None` if it never did.
fn deaths(journal: &[Entry]) -> Option<(usize, String)> {
    let aborted = || trials(journal).filter(|entry| entry.status == Status::Aborted);
    let last = aborted().last()?;
    Some((aborted().count(), last.reasons.join("\n  ")))
}

/// Returns true if a stop rule ends the search.
fn has_rules(resolved: &Resolved) -> bool {
    let sweep = resolved.spec.search.as_ref().and_then(Search::sweep);
    sweep.is_some_and(|sweep| !sweep.stop.is_empty())
}

fn no_answer(why: String) -> Decision {
    Decision::End(Ending::NoAnswer(why))
}

/// Returns a trial's own seed, from the seed of the run, the load, the repetition and the attempt.
pub fn seed_of(seed: u64, asked: Option<Rate>, repetition: u32, attempt: u32) -> u64 {
    let load = asked.map_or(0, |rate| rate.as_per_second().to_bits());
    let counted = u64::from(repetition) << 32 | u64::from(attempt);
    let of_load = Random::part(seed, load).next_u64();
    // 53 bits: a JSON number that every reader keeps exactly.
    Random::part(of_load, counted).next_u64() >> 11
}

/// Returns what trials without a response to a measured request say: a service that completes others, those of the
/// warm-up, has more of them than it can work off.
fn silent_in_words(trials: &[&Entry]) -> String {
    let observed = trials.iter().filter_map(|entry| entry.observed.as_ref());
    match observed.max_by(|a, b| a.completed_per_s.total_cmp(&b.completed_per_s)) {
        Some(most) if 0.0 < most.completed_per_s => format!(
            "the load is far above what the service completes: {}/s of {}/s, so that no request that was measured had a \
             response when the load ended. Ask for less: lower the range, or the load",
            grouped(most.completed_per_s),
            grouped(most.offered_per_s)
        ),
        _ => "no request had a response when the load ended. Wait longer for them (phases.drain), and look if the \
              service answers at all"
            .to_owned(),
    }
}
