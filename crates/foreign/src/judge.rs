//! The judgement of figures: what they support and what not, whatever tool measured them. What is special to
//! one tool is in its module.

use measure::balance::KEEPS_UP;
use measure::estimate::{Support, beyond, needed, support};
use measure::quantity::{counted, grouped};
use measure::{Nanos, Quantile};
use results::Foreign;
use results::foreign::{Code, Distribution, Facts, Limit, Loop, SCHEMA};
use results::printed::Since;

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
    for figure in [&mut facts.measured_s, &mut facts.completed_per_s, &mut facts.asked_per_s] {
        *figure = figure.filter(|number| number.is_finite());
    }
    let supports = supports(&facts);
    let general = general(&facts, &tool, judges_itself);
    let mut limits: Vec<Limit> = own.into_iter().chain(general).collect();
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
    matches!(limit.code, Code::NotValid | Code::Incomplete | Code::LeftOut | Code::OfTool)
}

/// Returns true if nothing says how well the generator of this file worked.
pub(crate) fn is_unjudged(foreign: &Foreign) -> bool {
    foreign.limits.iter().any(|limit| limit.code == Code::GeneratorUnknown)
}

fn place(code: Code) -> u8 {
    match code {
        Code::NotValid | Code::Incomplete => 0,
        Code::ClosedLoop | Code::FromSending | Code::LoopUnknown | Code::SinceUnknown => 1,
        Code::NotSent | Code::Behind => 2,
        Code::LeftOut | Code::FailuresAmongTimes => 3,
        Code::OnlyQuantiles | Code::FewRequests | Code::CountUnknown | Code::CoarseTimes => 4,
        Code::RateUnknown | Code::GeneratorUnknown => 5,
        Code::OfTool => 6,
    }
}

fn supports(facts: &Facts) -> Vec<String> {
    let mut supports = Vec::new();
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
            let reach = highest.map_or("no percentile: too few requests".to_owned(), |level| {
                format!("percentiles up to {}, shares beyond any limit", level.name())
            });
            supports.push(format!("{what}: {reach}"));
            supports.push("a merge with the other parts of the same load".to_owned());
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
    if let Some((code, text)) = failures(facts) {
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

/// Returns what failed requests do to the times.
fn failures(facts: &Facts) -> Option<(Code, String)> {
    let failed = facts.failed.filter(|failed| 0 < *failed)?;
    let of = facts.requests.map_or(String::new(), |all| format!(" of {}", counted(all)));
    let unanswered = facts.unanswered.unwrap_or(0);
    let timed = facts.count();
    let are_left_out = facts.requests.zip(timed).is_some_and(|(all, timed)| timed < all);
    if 0 < unanswered && are_left_out {
        let text = format!(
            "{}{of} requests had no answer, and have no time here: they are missing in every percentile",
            counted(unanswered)
        );
        return Some((Code::LeftOut, text));
    }
    facts.times.as_ref()?;
    let text = format!(
        "{}{of} requests failed, and their times are among the others: quick refusals and long waits both move \
         percentiles",
        counted(failed)
    );
    Some((Code::FailuresAmongTimes, text))
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
            let of = p50.map_or("0".to_owned(), |p50| Nanos(p50).in_words());
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
