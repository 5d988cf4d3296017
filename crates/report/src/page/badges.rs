//! The trust in a run at a glance: each badge is a symbol and words, its colour only repeats them.

use std::collections::BTreeMap;
use std::fmt::Write;

use results::answer::{failing_in_words, trials_in_words, validity_in_words};
use results::journal::Observed;
use results::load::{GateName, Load};

use crate::run::{Run, Trial};
use crate::text::{count, escape, integer, time};

/// The most trials that a badge names.
const MOST_LISTED: usize = 6;

pub(super) struct Badge {
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Good,
    /// Something to look at, which was found and counted.
    Notice,
    Bad,
}

impl Kind {
    fn symbol(self) -> &'static str {
        match self {
            Kind::Good => "✓",
            Kind::Notice => "!",
            Kind::Bad => "✗",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Kind::Good => "good",
            Kind::Notice => "",
            Kind::Bad => "bad",
        }
    }
}

pub(super) fn write(badges: &[Badge], out: &mut String) -> std::fmt::Result {
    out.push_str("<ul class=\"badges\">");
    for Badge { kind, text } in badges {
        write!(out, "<li class=\"{}\">{} {}</li>", kind.class(), kind.symbol(), escape(text))?;
    }
    out.push_str("</ul>\n");
    Ok(())
}

/// The failures of a failing service, the validity of the trials, the gates that decided about it, and other
/// failures.
pub(super) fn of(run: &Run) -> Vec<Badge> {
    let trials = || run.trials.iter().filter(|trial| !trial.probe());
    if trials().next().is_none() {
        return Vec::new();
    }
    // A probe in which the service failed is one of its failing trials, as in the answer.
    let failing = failing(run.trials.iter());
    let is_whole = |trial: &Trial| {
        trial.valid() && trial.entry.disturbed.is_empty() && !trial.entry.is_valid_but_slow()
    };
    let kind = match () {
        () if failing.is_none() && trials().all(is_whole) => Kind::Good,
        _ if !trials().any(Trial::answers) => Kind::Bad,
        _ => Kind::Notice,
    };
    let text = validity_in_words(run.trials.iter().map(|trial| &trial.entry));
    let others = if failing.is_some() { None } else { failures(trials()) };
    let mut badges: Vec<Badge> = failing.into_iter().collect();
    badges.push(Badge { kind, text });
    badges.extend(gates(trials()));
    badges.extend(unknown(trials()));
    badges.extend(others);
    badges.extend(delivered(run));
    badges
}

/// The failures of the trial in which the service failed most, whatever the validity of the trial; `None` if it
/// failed in none.
fn failing<'a>(trials: impl Iterator<Item = &'a Trial> + Clone) -> Option<Badge> {
    let words = failing_in_words(trials.clone().map(|trial| &trial.entry))?;
    let mut observed = trials.filter_map(|trial| trial.entry.observed.as_ref());
    let kind = if observed.all(Observed::is_failing) { Kind::Bad } else { Kind::Notice };
    Some(Badge { kind, text: format!("failing: {words}") })
}

/// A badge for each gate of validity, in the order of the documents.
fn gates<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<Badge> {
    let mut names: Vec<GateName> = Vec::new();
    let mut judged: BTreeMap<GateName, (usize, Vec<u32>)> = BTreeMap::new();
    let (mut lateness, mut hiccup, mut steal) = (None, None, None);
    for trial in trials {
        for gate in trial.load.iter().flat_map(|load: &Load| &load.validity.gates) {
            if !judged.contains_key(&gate.name) {
                names.push(gate.name);
            }
            let (all, failed) = judged.entry(gate.name).or_default();
            *all += 1;
            // The generator's gate sees only its own part of the machine.
            let is_disturbed =
                gate.name == GateName::Disturbed && !trial.entry.disturbed.is_empty();
            failed.extend((!gate.passed || is_disturbed).then_some(trial.entry.trial));
        }
        if let Some(observed) = trial.entry.observed.as_ref().filter(|_| trial.valid()) {
            lateness = lateness.max(observed.lateness_p99_ns);
            hiccup = hiccup.max(observed.hiccup_p99_ns);
            let share = trial.load.as_ref().and_then(|load| load.generator.steal_share);
            steal = [steal, share].into_iter().flatten().reduce(f64::max);
        }
    }
    let most = |name: GateName| match name {
        GateName::Late => lateness.map(|ns| format!("lateness p99 at most {}", time(ns))),
        GateName::Disturbed => {
            let hiccup = hiccup.map(|ns| format!("hiccups p99 at most {}", time(ns)));
            let steal = steal.map(|share| format!("steal at most {:.1} %", 100.0 * share));
            let parts: Vec<String> = hiccup.into_iter().chain(steal).collect();
            (!parts.is_empty()).then(|| parts.join(", "))
        }
        GateName::Lost | GateName::Busy => None,
    };
    let badge = |name: GateName| {
        let (all, failed) = &judged[&name];
        let mut text = match failed.len() {
            0 => format!("not {name}: {}", count(*all, "trial")),
            n => format!("{name}: {n} of {} ({})", count(*all, "trial"), listed(failed)),
        };
        text += &most(name).map_or(String::new(), |most| format!("; in valid ones {most}"));
        Badge { kind: if failed.is_empty() { Kind::Good } else { Kind::Notice }, text }
    };
    names.into_iter().map(badge).collect()
}

/// A badge for the trials of other generators, whose gates nobody can judge.
fn unknown<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<Badge> {
    let mut numbers = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    let mut gates: Vec<String> = Vec::new();
    for (trial, load) in trials.filter_map(|trial| Some((trial, trial.load.as_ref()?))) {
        let names = load.validity.unknown.iter().map(|gate| gate.name.to_string());
        let new: Vec<String> = names.filter(|name| !gates.contains(name)).collect();
        gates.extend(new);
        if !load.validity.unknown.is_empty() {
            numbers.push(trial.entry.trial);
        }
        tools.extend(load.foreign.as_deref().filter(|tool| !tools.contains(tool)));
    }
    (!numbers.is_empty()).then(|| {
        let (tools, gates) = (tools.join(", "), gates.join(", "));
        let text = format!("unknown with {tools}: {gates} ({})", listed(&numbers));
        Badge { kind: Kind::Notice, text }
    })
}

/// The failed requests of the trials that are evidence about the system.
fn failures<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<Badge> {
    let answering = trials.filter(|trial| trial.answers());
    let observed = answering.filter_map(|t| Some((t.entry.trial, t.entry.observed.as_ref()?)));
    let counts: Vec<(u32, u64, u64)> =
        observed.map(|(trial, o)| (trial, o.failures, o.requests)).collect();
    counts.first()?;
    let sum = |of: fn(&(u32, u64, u64)) -> u64| counts.iter().map(of).sum::<u64>();
    let (failures, requests) = (sum(|counts| counts.1), sum(|counts| counts.2));
    let failing: Vec<u32> = counts.iter().filter(|(_, n, _)| 0 < *n).map(|(t, ..)| *t).collect();
    let of = format!("of {}", count(requests as usize, "request"));
    Some(match failures {
        0 => Badge { kind: Kind::Good, text: format!("no failures {of}") },
        n => Badge {
            kind: Kind::Notice,
            text: format!("{} {of} failed ({})", integer(n), listed(&failing)),
        },
    })
}

/// The fate of the events in the trials that are evidence about the system.
fn delivered(run: &Run) -> Option<Badge> {
    let answering = run.trials.iter().filter(|trial| !trial.probe() && trial.answers());
    let (mut events, mut lost, mut twice, mut overtaken) = (0, 0, 0, 0);
    for (trial, delivery) in answering.filter_map(|trial| Some((trial, trial.delivery()?))) {
        events += trial.entry.observed.as_ref().map_or(0, |observed| observed.requests);
        lost += delivery.lost;
        twice += delivery.duplicated;
        overtaken += delivery.reordered;
    }
    let number = |count: u64| if count == 0 { "none".to_owned() } else { integer(count) };
    let kind = if lost + twice == 0 { Kind::Good } else { Kind::Notice };
    let (lost, twice, overtaken) = (number(lost), number(twice), number(overtaken));
    let events = count(events as usize, "event");
    let text = format!(
        "of {events} {lost} lost, {twice} delivered twice, {overtaken} overtaken by a later one"
    );
    run.of_delivery.then_some(Badge { kind, text })
}

fn listed(trials: &[u32]) -> String {
    trials_in_words(trials, MOST_LISTED)
}
