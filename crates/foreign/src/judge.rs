//! The judgement of figures: what they support and what not, whatever tool measured them. What is special to
//! one tool is in its module.

use measure::balance::KEEPS_UP;
use measure::estimate::{Support, beyond, needed, support};
use measure::quantity::{counted, grouped};
use measure::{Nanos, Quantile};
use results::Foreign;
use results::failing::Tally;
use results::foreign::{Checks, Code, Distribution, Facts, Limit, Loop, Quantiles, SCHEMA};
use results::printed::{Percentile, Since};

use crate::Found;
use crate::k6::not_sent;

/// The percentiles of which it is said what they rest on.
const LEVELS: [Quantile; 7] = [
    Quantile::P50,
    Quantile::P90,
    Quantile::P95,
    Quantile::P99,
    Quantile::P999,
    Quantile::P9999,
    Quantile::P99999,
];

/// Times in steps above this share of the p50 are too coarse to show differences of a few percent.
const COARSE: f64 = 0.05;

pub(crate) fn judged(file: &str, format: &str, found: Found) -> Foreign {
    let Found { tool, mut facts, limits: own, judges_itself } = found;
    // A length that rounds to nothing has no rate.
    facts.goodput_per_s = facts.goodput_per_s.or_else(|| goodput(&facts));
    for figure in [
        &mut facts.measured_s,
        &mut facts.completed_per_s,
        &mut facts.goodput_per_s,
        &mut facts.asked_per_s,
    ] {
        *figure = figure.filter(|number| number.is_finite());
    }
    let general = general(&facts, &tool, judges_itself);
    let mut limits: Vec<Limit> = own.into_iter().chain(general).collect();
    // Nothing says which of the figures are the true ones, or the generator says that none is.
    let is_void =
        limits.iter().any(|limit| matches!(limit.code, Code::Contradiction | Code::NotValid));
    let supports = if is_void { Vec::new() } else { supports(&facts) };
    // What makes the figures void comes first, and what is special last; the order of equals stays.
    limits.sort_by_key(|limit| place(limit.code));
    Foreign {
        schema: SCHEMA.to_owned(),
        file: file.to_owned(),
        format: format.to_owned(),
        tool,
        facts,
        supports,
        limits,
    }
}

/// Returns true if only the module of the format could know it, so that a merge keeps it.
pub(crate) fn is_of_format(limit: &Limit) -> bool {
    matches!(
        limit.code,
        Code::NotValid | Code::Incomplete | Code::Contradiction | Code::LeftOut | Code::OfTool
    )
}

/// Returns true if nothing says how well the generator of this file worked.
pub(crate) fn is_unjudged(foreign: &Foreign) -> bool {
    foreign.limits.iter().any(|limit| limit.code == Code::GeneratorUnknown)
}

fn place(code: Code) -> u8 {
    match code {
        // Failures come before noise.
        Code::Failing => 0,
        Code::NotValid | Code::Incomplete | Code::Contradiction => 1,
        Code::ClosedLoop | Code::FromSending | Code::LoopUnknown | Code::SinceUnknown => 2,
        Code::NotSent | Code::Behind => 3,
        Code::LeftOut | Code::FailuresAmongTimes | Code::LowerBounds => 4,
        Code::OnlyQuantiles | Code::FewRequests | Code::CountUnknown | Code::CoarseTimes => 5,
        Code::RateUnknown | Code::GeneratorUnknown => 6,
        Code::OfTool => 7,
    }
}

fn supports(facts: &Facts) -> Vec<String> {
    const MERGE: &str = "a merge with the other parts of the same load";
    let mut supports = Vec::new();
    if facts.is_mostly_failing() {
        // The rate and the times of failures support nothing about the service.
        let is_whole = matches!(facts.times, Some(Distribution::Histogram(_)));
        return is_whole.then(|| MERGE.to_owned()).into_iter().collect();
    }
    if let Some(rate) = facts.completed_per_s {
        supports.push(format!("the completed rate, {}/s", grouped(rate)));
    }
    let what = match (facts.since, facts.pacing) {
        (Some(Since::Intended), Some(Loop::Open)) => "response times, from the intended start",
        (Some(Since::Intended), _) => "response times while the system keeps up",
        (Some(Since::Sent), _) => "service times, from sending",
        (None, _) => "times of unknown meaning",
    };
    match &facts.times {
        Some(Distribution::Histogram(times)) => {
            let is_supported =
                |level: &&Quantile| support(times.count, **level) != Support::Unsupported;
            let highest = LEVELS.iter().rev().find(is_supported);
            let bounds = if has_unfinished(facts) { ", as lower bounds" } else { "" };
            let reach = highest.map_or("no percentile: too few requests".to_owned(), |level| {
                format!("percentiles up to {}, shares beyond any limit{bounds}", level.name())
            });
            supports.push(format!("{what}: {reach}"));
            supports.push(MERGE.to_owned());
        }
        Some(Distribution::Quantiles(quantiles)) => {
            let is_supported = |level: &Quantile| {
                quantiles.count.is_none_or(|count| support(count, *level) != Support::Unsupported)
            };
            let listed = LEVELS.into_iter().filter(|level| facts.quantile_ns(*level).is_some());
            let names: Vec<String> = listed.filter(is_supported).map(Quantile::name).collect();
            if !names.is_empty() {
                supports.push(format!("{what}: {} as printed", names.join(", ")));
            }
        }
        None => {}
    }
    if !supports.is_empty() {
        let text = "a comparison with trials of the same tool and settings, several of each side";
        supports.push(text.to_owned());
    }
    supports
}

fn general(facts: &Facts, tool: &str, judges_itself: bool) -> Vec<Limit> {
    let mut limits = Vec::new();
    limits.extend(failing(facts));
    limits.extend(contradictions(facts, judges_itself));
    limits.extend(disorder("", facts.times.as_ref(), facts.step_ns));
    limits.extend(facts.labels.iter().find_map(|(label, of)| {
        disorder(&format!("`{label}`: "), of.times.as_ref(), facts.step_ns)
    }));
    let mut add = |code, text: String| limits.push(Limit { code, text });
    if facts.times.is_some() {
        if let Some((code, text)) = meaning(facts) {
            add(code, text.to_owned());
        }
        if facts.since.is_none() {
            let text = "nothing in the file says from when a time counts: from sending, or from the intended \
                        start; say it by --since if you know";
            add(Code::SinceUnknown, text.to_owned());
        }
    }
    if let (Some(asked), Some(completed)) = (facts.asked_per_s, facts.completed_per_s)
        && completed < KEEPS_UP * asked
    {
        let (completed, asked) = (grouped(completed), grouped(asked));
        add(
            Code::Behind,
            format!(
                "{completed}/s of {asked}/s completed: the system did not keep up, or {tool} did not; times are \
                 those of an overload"
            ),
        );
    }
    for Limit { code, text } in failures(facts) {
        add(code, text);
    }
    if facts.completed_per_s.is_none() {
        add(Code::RateUnknown, "the file does not say how long the load took: no rate".to_owned());
    }
    if !judges_itself {
        let text = format!(
            "nothing says whether {tool} was late, lost requests or was disturbed: it may have measured itself"
        );
        add(Code::GeneratorUnknown, text);
    }
    limits.extend(facts.not_sent.map(|count| not_sent(&counted(count))));
    limits.extend(of_times(facts));
    limits
}

/// Returns what the loop does to the times.
fn meaning(facts: &Facts) -> Option<(Code, &'static str)> {
    match (facts.pacing, facts.since) {
        (Some(Loop::Closed), _) => Some((
            Code::ClosedLoop,
            "a closed loop sends less while answers are slow: no percentiles of response time under overload \
             (coordinated omission), and no capacity; measure at a rate: `benchwright load --rate`",
        )),
        (Some(Loop::Open), Some(Since::Sent)) => Some((
            Code::FromSending,
            "an open loop whose times count from sending: the wait before it is missing, so its percentiles are \
             lower bounds of response times, far too low under overload",
        )),
        (Some(Loop::Open), _) => None,
        (None, _) => Some((
            Code::LoopUnknown,
            "nothing in the file says whether a clock or earlier answers started the requests: until --loop says \
             it, no percentiles of response time under overload follow",
        )),
    }
}

/// Returns the rate of the requests that did not fail; `None` if checks did, since nothing says of which requests.
fn goodput(facts: &Facts) -> Option<f64> {
    let tally = facts.tally().filter(|_| facts.checks.is_none_or(|checks| checks.failed == 0))?;
    let succeeded = tally.requests.saturating_sub(tally.failed).saturating_sub(tally.unfinished);
    Some(succeeded as f64 / facts.measured_s?)
}

fn has_unfinished(facts: &Facts) -> bool {
    facts.unfinished.is_some_and(|count| 0 < count)
}

/// Returns what so many failures say of all figures.
fn failing(facts: &Facts) -> Vec<Limit> {
    const FEW_SUCCEEDED: &str =
        "fewer than half succeeded, so these are no figures of a working service";
    let why_of_requests = match (facts.are_requests_mostly_failing(), facts.failures_met) {
        (false, _) => None,
        (true, Some(_)) => Some(
            "more than the load declared as its objective, so these are no figures of a working service",
        ),
        (true, None) => Some(FEW_SUCCEEDED),
    };
    let checks = facts.checks.map(Checks::tally);
    let why_of_checks = checks.filter(|tally| tally.is_mostly_failing()).map(|_| FEW_SUCCEEDED);
    let of = |what: &str, tally: Option<Tally>, why: Option<&str>| {
        let tally = tally.filter(|tally| tally.is_failing() || why.is_some())?;
        let (failed, all) = (counted(tally.failed), counted(tally.requests));
        let percent = 100.0 * tally.failed_share();
        let why = why.unwrap_or("these are the figures of a failing service");
        let text = format!("{failed} of {all} {what} failed ({percent:.2} %): {why}");
        Some(Limit { code: Code::Failing, text })
    };
    let limits =
        [of("requests", facts.tally(), why_of_requests), of("checks", checks, why_of_checks)];
    limits.into_iter().flatten().collect()
}

/// Returns the counts that cannot all be true.
fn contradictions(facts: &Facts, is_ours: bool) -> Vec<Limit> {
    let Some(requests) = facts.requests else { return Vec::new() };
    let by_status = facts.statuses.values().copied().fold(0, u64::saturating_add);
    let counts = [
        // Ours also has statuses of answers on the way to another address.
        (Some(by_status).filter(|_| !is_ours), "answers by status"),
        (facts.failed, "failures"),
        (facts.unanswered, "requests without an answer"),
        (facts.count(), "times"),
    ];
    let more = counts.into_iter().filter_map(|(count, what)| Some((count?, what)));
    let more = more.filter(|(count, _)| requests < *count);
    more.map(|(count, what)| contradiction(requests, what, count)).collect()
}

/// The share by which tools round percentiles, Locust those above 100 ms.
const ROUNDED: f64 = 0.1;

/// Returns the times that cannot all be true: the least one, the percentiles and the greatest one rise.
fn disorder(of: &str, times: Option<&Distribution>, step_ns: Option<u64>) -> Option<Limit> {
    let Some(Distribution::Quantiles(quantiles)) = times else { return None };
    let Quantiles { min_ns, max_ns, percentiles, .. } = quantiles;
    let named = |one: &Percentile| {
        let level = Quantile::new(one.level).map_or("percentile".to_owned(), Quantile::name);
        (level, one.time_ns)
    };
    let least = min_ns.map(|ns| ("least time".to_owned(), ns));
    let greatest = max_ns.map(|ns| ("greatest time".to_owned(), ns));
    let rising = least.into_iter().chain(percentiles.iter().map(named)).chain(greatest);
    let mut highest: Option<(String, u64)> = None;
    for (name, ns) in rising {
        let bound = ns as f64 * (1.0 + ROUNDED) + step_ns.unwrap_or(0) as f64;
        match highest {
            Some((above, high)) if bound < high as f64 => {
                let text = format!(
                    "{of}its times contradict each other: the {above} is {}, and the {name} {}; the file was \
                     changed, or its tool computes wrongly",
                    Nanos(high),
                    Nanos(ns)
                );
                return Some(Limit { code: Code::Contradiction, text });
            }
            Some((_, high)) if ns < high => {}
            _ => highest = Some((name, ns)),
        }
    }
    None
}

pub(crate) fn contradiction(requests: u64, what: &str, count: u64) -> Limit {
    let text = format!(
        "its counts contradict each other: {} requests, and {} {what}; the file was changed, or its tool counts wrongly",
        counted(requests),
        counted(count)
    );
    Limit { code: Code::Contradiction, text }
}

/// Returns what failed and unfinished requests do to the times.
fn failures(facts: &Facts) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut add = |code, text: String| limits.push(Limit { code, text });
    let of = facts.requests.map_or(String::new(), |all| format!(" of {}", counted(all)));
    let unfinished = facts.unfinished.unwrap_or(0);
    if 0 < unfinished {
        add(
            Code::LowerBounds,
            format!(
                "{}{of} requests had no response when the load ended: the times that they had waited are among the \
                 others, so percentiles are lower bounds",
                counted(unfinished)
            ),
        );
    }
    let without_time = facts.requests.zip(facts.count());
    let without_time = without_time.map_or(0, |(all, timed)| all.saturating_sub(timed));
    // A list has a time for each request, however it ended.
    let is_printed = matches!(facts.times, Some(Distribution::Quantiles(_)));
    let (what, timeless) = match facts.unanswered {
        Some(unanswered) => ("had no answer", unanswered),
        None => ("failed", facts.failed.filter(|_| is_printed).unwrap_or(0)),
    };
    let left_out = timeless.min(without_time);
    if 0 < left_out {
        add(
            Code::LeftOut,
            format!(
                "{}{of} requests {what}, and have no time here: they are missing in every percentile",
                counted(left_out)
            ),
        );
    }
    let among = facts.failed.unwrap_or(0).saturating_sub(left_out);
    if 0 < among && facts.times.is_some() {
        let failed = if left_out == 0 { "failed" } else { "failed with an answer" };
        add(
            Code::FailuresAmongTimes,
            format!(
                "{}{of} requests {failed}, and their times are among the others: quick refusals and long waits \
                 both move percentiles",
                counted(among)
            ),
        );
    }
    limits
}

/// Returns what the number of requests and the precision of the times do not support.
fn of_times(facts: &Facts) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut add = |code, text: String| limits.push(Limit { code, text });
    let Some(times) = &facts.times else { return limits };
    if matches!(times, Distribution::Quantiles(_)) {
        let text = "only percentiles, no distribution: no other percentile, no share beyond a limit, and no merge \
                    with another file";
        add(Code::OnlyQuantiles, text.to_owned());
    }
    match facts.count() {
        None => {
            let text = "the number of requests is unknown, and with it what a percentile rests on";
            add(Code::CountUnknown, text.to_owned());
        }
        Some(count) => {
            let is_weak = |level: &Quantile| {
                facts.quantile_ns(*level).is_some()
                    && support(count, *level) == Support::Unsupported
            };
            // Those above rest on even fewer.
            if let Some(level) =
                LEVELS.into_iter().find(is_weak).filter(|level| level.level() < 0.9999)
            {
                add(
                    Code::FewRequests,
                    format!(
                        "{} of {} requests rests on {} beyond it: at least 10 are needed ({} requests)",
                        level.name(),
                        counted(count),
                        beyond(count, level),
                        counted(needed(level))
                    ),
                );
            }
        }
    }
    let p50 = facts.quantile_ns(Quantile::P50).filter(|ns| 0 < *ns);
    if let Some(step) = facts.step_ns {
        let share = p50.map_or(1.0, |p50| step as f64 / p50 as f64);
        if COARSE < share {
            let of = p50.map_or("0".to_owned(), |p50| Nanos(p50).to_string());
            add(
                Code::CoarseTimes,
                format!(
                    "the times are in steps of {}, and the p50 is {of}: smaller differences cannot be seen",
                    Nanos(step).in_words()
                ),
            );
        }
    }
    limits
}
