//! Loads that somebody else's generator makes: the figures in what it prints, and the document of
//! the load, which contains these figures and nothing else. Text in, figures out.
//!
//! No other generator measures how late it is, and few keep a histogram. What they do not print is
//! absent in the document, and the gates that would need it are listed as unknown.

use foreign::printed::Figures;
use foreign::{fortio, hey, wrk};
use lab::backend::Drive;
use lab::spec::Parse;
use lab::spec::generator::ForeignLoad;
use measure::balance::KEEPS_UP;
use measure::quantity::counted;
use measure::{Instant, Nanos};
use results::load::{Clock, Counts, GateName, Pacing, Part, Rates, Target, Unknown, Validity};
use results::{Load, little};

mod expressions;

#[cfg(test)]
mod tests;

/// Returns the document of a load from what its generator printed, and from the times at which the
/// runner started it and noticed its end; the error states why the output cannot be read.
pub(super) fn document(
    drive: &Drive,
    made: &ForeignLoad,
    output: &str,
    (begin, started, ended): (Instant, Instant, Instant),
) -> Result<Load, String> {
    let tool = made.parse.tool(&made.command);
    let figures = match &made.parse {
        Parse::Wrk => wrk::closed(output, &made.command),
        Parse::Wrk2 => wrk::open(output),
        Parse::Fortio => fortio::read(output, made.rate.is_some()),
        Parse::Hey => hey::read(output),
        Parse::Regex(expressions) => expressions::read(output, expressions),
    }?;
    let total = total(&figures, made, figures.length.unwrap_or(drive.measure))?;
    let url = drive.targets.first().cloned().unwrap_or_default();
    let mut findings = figures.findings;
    let measured_s = figures.length.unwrap_or(drive.measure).as_secs_f64();
    findings.extend(missing(&total, measured_s));
    let mut warnings = figures.warnings;
    warnings.extend(behind(&total, &tool));
    let arrivals = || format!("{tool}'s own");
    let mut load = Load {
        foreign: Some(tool.clone()),
        arguments: made.command.clone(),
        seed: drive.seed,
        pacing: match made.rate {
            Some(_) => Pacing::Open { arrivals: arrivals() },
            None => Pacing::Closed { think_ns: 0 },
        },
        clock: Some(Clock {
            boot: None,
            start_ns: begin.0,
            measurement_start_ns: started.0,
            measurement_end_ns: ended.0,
            end_ns: ended.0,
        }),
        measured_s,
        targets: vec![Target { url, path: None, part: total.clone() }],
        total,
        validity: Validity {
            valid: true,
            reasons: Vec::new(),
            gates: Vec::new(),
            unknown: unknown(&tool, made.rate.is_none()),
        },
        findings,
        warnings,
        ..Load::empty(&tool)
    };
    load.warnings.extend(little::warning(&load));
    Ok(load)
}

/// Describes the answers that are missing in the printed times.
fn missing(total: &Part, measured_s: f64) -> Option<String> {
    let printed = total.printed.as_ref().filter(|printed| 0 < printed.missing)?;
    let answers = if printed.missing == 1 { "answer" } else { "answers" };
    let each = little::mean_of_missing(total, measured_s)
        .map(|mean| format!(": about {mean} each, by Little's law"));
    Some(format!(
        "{} {answers} took longer than {} and are missing in these percentiles{}",
        counted(printed.missing),
        Nanos(printed.timeout_ns?).in_words(),
        each.unwrap_or_default()
    ))
}

/// Returns the gates that nobody can judge: only our generator measures what they need.
fn unknown(tool: &str, is_closed: bool) -> Vec<Unknown> {
    let mut gates = vec![
        (GateName::Late, format!("{tool} does not measure how late it sends requests")),
        (GateName::Lost, format!("{tool} does not count requests that it could not send")),
        (
            GateName::Disturbed,
            format!(
                "{tool} does not measure pauses of its threads; only the doctor's check of steal counts"
            ),
        ),
    ];
    if is_closed {
        let why =
            format!("{tool} does not measure how busy it is: it may be the bottleneck itself");
        gates.push((GateName::Busy, why));
    }
    gates.into_iter().map(|(name, why)| Unknown { name, why }).collect()
}

fn total(figures: &Figures, made: &ForeignLoad, length: Nanos) -> Result<Part, String> {
    let Figures { answered, refused, unanswered, statuses, per_s, connections, times, .. } =
        figures;
    let seconds = length.as_secs_f64();
    if length == Nanos::ZERO {
        return Err("it measured for no time".to_owned());
    }
    let intended = answered + unanswered.values().sum::<u64>();
    let ok = answered.saturating_sub(*refused);
    let mut outcomes = unanswered.clone();
    outcomes.extend([("ok".to_owned(), ok), ("status".to_owned(), *refused)]);
    outcomes.retain(|_, count| 0 < *count);
    let completed = per_s.unwrap_or(*answered as f64 / seconds);
    let offered = made.rate.unwrap_or(intended as f64 / seconds);
    let over = made.limit.map_or(0, |limit| match times {
        Some(times) => times.over(limit).1,
        None => *answered,
    });
    Ok(Part {
        counts: Counts {
            intended,
            sent: intended,
            completed: *answered,
            completed_inside: *answered,
            ok,
            failed: refused + unanswered.values().sum::<u64>(),
            ..Counts::default()
        },
        rates_per_s: Rates {
            asked: made.rate,
            offered,
            completed,
            sustained: Some(completed.min(offered)),
            succeeded: Some(completed * ok as f64 / (*answered).max(1) as f64),
            goodput: ok.saturating_sub(over) as f64 / seconds,
        },
        // In an open loop some connections wait for an answer, and after an error one does not.
        in_progress: connections
            .filter(|_| made.rate.is_none() && intended == *answered)
            .map(|number| number as f64),
        outcomes,
        statuses: statuses.clone(),
        printed: times.clone(),
        ..Part::default()
    })
}

/// Describes a load that did not reach its rate. If the generator's lateness is unknown, nobody
/// knows whose fault it is.
fn behind(total: &Part, tool: &str) -> Option<String> {
    let Rates { asked, completed, .. } = total.rates_per_s;
    let asked = asked.filter(|asked| completed < KEEPS_UP * asked)?;
    Some(format!(
        "{completed:.1}/s of {asked:.1}/s completed: the system did not keep up, or {tool} did not; \
         which one is unknown"
    ))
}
