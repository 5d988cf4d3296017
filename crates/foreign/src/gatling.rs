//! Gatling's simulation.log, as text: that of the versions before 3.13.
//!
//! Versions place the fields of a request differently. In all of them a begin and an end in milliseconds
//! stand before `OK` or `KO`; before 2.2 the ends of sending and of waiting stand between these two.

use std::io::BufRead;

use measure::Nanos;
use results::foreign::Facts;
use results::lines::Lines;
use results::printed::Since;

use crate::samples::{Ended, Samples, cut_off, of_tool};
use crate::{Format, Found, Unit, time};

pub(crate) const LOG: Format = Format {
    name: "gatling",
    what: "Gatling's simulation.log, up to 3.12",
    asks: &[],
    is: |head| is_first(&fields(head.first_line())),
    read: |input, _| read(input),
};

fn read(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut lines = Lines::of(input);
    let (mut samples, mut limits) = (Samples::default(), Vec::new());
    let mut version = None;
    while let Some(line) = lines.next_text()? {
        let fields = fields(&line);
        match kind(&fields) {
            "RUN" if version.is_none() => version = fields.last().map(|&last| last.to_owned()),
            "REQUEST" | "ACTION" => match request(&fields) {
                Some(request) => add(&mut samples, &request),
                None if !lines.is_ended => {
                    limits.push(cut_off(lines.number));
                    break;
                }
                None => {
                    return Err(format!(
                        "line {} has no begin, end and result of a request",
                        lines.number
                    ));
                }
            },
            _ => {}
        }
    }
    limits.push(of_tool(
        "Gatling injects users by a clock (an open loop) or keeps a number of them (a closed one); the file does \
         not say which, and inside a user's scenario each request waits for the one before it",
    ));
    let facts = samples.facts()?;
    let facts = Facts {
        since: Some(Since::Sent),
        step_ns: Some(Nanos::from_millis(1).0),
        // A request without an answer is a failed one, like any other.
        unanswered: None,
        ..facts
    };
    let is_version =
        |text: &String| text.starts_with(|c: char| c.is_ascii_digit()) && text.len() < 20;
    let tool = match version.filter(is_version) {
        // All versions 2 write this.
        Some(version) if version == "2.0" => "Gatling 2".to_owned(),
        Some(version) => format!("Gatling {version}"),
        None => "Gatling".to_owned(),
    };
    Ok(Found { tool, facts, limits, ..Found::default() })
}

struct Request<'a> {
    name: &'a str,
    begin_ms: u64,
    length: Nanos,
    is_ok: bool,
}

fn fields(line: &str) -> Vec<&str> {
    line.split('\t').map(str::trim).collect()
}

fn is_first(fields: &[&str]) -> bool {
    match *fields {
        ["RUN" | "ASSERTION", _, ..] => true,
        [_, _, "RUN", start, ..] => start.parse::<u64>().is_ok(),
        _ => false,
    }
}

/// Returns the word for the kind of a line. In 2.0 and 2.1 two other fields stand before it.
fn kind<'a>(fields: &[&'a str]) -> &'a str {
    match *fields {
        [first @ ("RUN" | "REQUEST" | "ACTION" | "USER" | "GROUP" | "ERROR"), ..] => first,
        [_, _, third @ ("RUN" | "REQUEST"), ..] => third,
        _ => "",
    }
}

/// The least place of the result in a line with four moments.
const BEFORE_2_2: usize = 8;

fn request<'a>(fields: &[&'a str]) -> Option<Request<'a>> {
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    let is_result = |place: &usize| {
        let has_moments = (1..=2).all(|back| number(*place - back).is_some());
        matches!(fields[*place], "OK" | "KO") && has_moments
    };
    // What follows, such as a message, may be such a word, too.
    let result = (3..fields.len()).find(is_result)?;
    let has_four = BEFORE_2_2 <= result && (3..=4).all(|back| number(result - back).is_some());
    let begin = result - if has_four { 4 } else { 2 };
    let (begin_ms, end_ms) = (number(begin)?, number(result - 1)?);
    let length = time(end_ms.checked_sub(begin_ms)? as f64, Unit::Milliseconds)?;
    Some(Request { name: fields[begin - 1], begin_ms, length, is_ok: fields[result] == "OK" })
}

fn add(samples: &mut Samples, request: &Request<'_>) {
    let ended = if request.is_ok { Ended::Well } else { Ended::Badly };
    samples.add_labelled(request.name, request.length, ended);
    let begin = request.begin_ms as f64 / 1e3;
    samples.at(begin);
    samples.at(begin + request.length.as_secs_f64());
}
