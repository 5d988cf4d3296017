//! A join as text that fits on one screen.

use std::fmt::Write;

use measure::Nanos;
use measure::quantity::counted;
use results::joined::{ByClocks, Joined};
use results::journal::written;
use results::{Times, failing};

use crate::text::{Row, delivery, fates, table};

#[cfg(test)]
mod tests;

const FROM_INTENDED: &str = "from the intended start to the first arrival";

pub(super) fn of(joined: &Joined) -> String {
    let mut text = String::new();
    write(joined, &mut text).expect("writing to memory does not fail");
    text
}

fn write(joined: &Joined, text: &mut String) -> std::fmt::Result {
    let files = |count: usize, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {what}{plural}")
    };
    let (senders, receivers) = (joined.senders.len(), joined.receivers.len());
    let clock = match joined.clock_error_ns {
        Some(0) => "one clock".to_owned(),
        Some(error) => format!("clocks compared to ± {}", Nanos(error)),
        None => "clocks not compared".to_owned(),
    };
    writeln!(text, "{} · {} · {clock}", files(senders, "sender"), files(receivers, "receiver"))?;
    fates(&joined.events, text)?;
    if joined.outcomes.keys().any(|name| name != "accepted") {
        let outcomes = joined.outcomes.iter().filter(|(name, _)| *name != "accepted");
        let outcome = |(name, count): (&String, &u64)| {
            format!("{} {}", counted(*count), failing::outcome_in_words(name))
        };
        let outcomes: Vec<String> = outcomes.map(outcome).collect();
        writeln!(text, "refused: {}", outcomes.join(", "))?;
    }
    if 0 < joined.events.unknown {
        writeln!(text, "{} arrivals of other events", counted(joined.events.unknown))?;
    }
    let mut rows = Vec::new();
    let since_sent = "the same from sending on";
    let mut add = |name, times: &Option<Times>, note| {
        rows.extend(times.as_ref().map(|times| Row::of(name, times, note)));
    };
    let events = &joined.events;
    add("publish", &events.publish_time, "from the intended start to acceptance");
    add(" sent", &events.publish_time_since_sent, since_sent);
    rows.extend(delivery(events));
    let mut add = |name, times: &Option<Times>, note| {
        rows.extend(times.as_ref().map(|times| Row::of(name, times, note)));
    };
    add(" sent", &events.delivery_time_since_sent, since_sent);
    let mut add = |name, times: &Option<ByClocks>, note| {
        rows.extend(times.as_ref().map(|times| by_clocks(name, times, note)));
    };
    add("delivery", &joined.delivery_by_clocks, FROM_INTENDED);
    add(" sent", &joined.delivery_since_sent_by_clocks, since_sent);
    if !rows.is_empty() {
        table(&rows, &[], text)?;
    }
    writeln!(text)?;
    let refused = [
        ("delivery", &joined.delivery_by_clocks),
        ("delivery from sending on", &joined.delivery_since_sent_by_clocks),
    ];
    for (what, times) in refused {
        if let Some(why) = times.as_ref().and_then(|times| times.refused.as_ref()) {
            writeln!(text, "{what}: {why}")?;
        }
    }
    for finding in &joined.findings {
        writeln!(text, "found: {finding}")?;
    }
    for warning in &joined.warnings {
        writeln!(text, "warning: {warning}")?;
    }
    match joined.complete {
        true => writeln!(text, "all notes are complete"),
        false => writeln!(text, "notes are missing, so the counts are wrong"),
    }
}

fn by_clocks(name: &'static str, times: &ByClocks, note: &str) -> Row {
    let ByClocks { p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns, at_least_from_ns, .. } =
        *times;
    let figure = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| written(ns, at_least_from_ns));
    let figures = [p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns].map(figure);
    Row { name, figures, max: figure(max_ns), note: note.to_owned() }
}
