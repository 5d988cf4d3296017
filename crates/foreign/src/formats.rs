//! The list of all formats, and the reading of a file in one of them.

use std::io::{BufRead, Cursor, Read};

use results::Foreign;

use crate::format::{Asked, Format, Found, Question};
use crate::head::{self, Head};
use crate::{
    fortio, gatling, ghz, hdr, hey, jmeter, judge, k6, latencies, locust, oha, ours, vegeta, wrk,
};

/// All formats, in the order in which they are tried: the later ones are less particular.
pub const FORMATS: [&Format; 21] = [
    &ours::LOAD,
    &k6::LINES,
    &k6::SUMMARY,
    &vegeta::JSON,
    &vegeta::REPORT,
    &oha::JSON,
    &oha::CSV,
    &fortio::JSON,
    &ghz::JSON,
    &wrk::WRK2,
    &wrk::WRK,
    &hey::TEXT,
    &hey::CSV,
    &locust::HISTORY,
    &locust::STATS,
    &jmeter::JTL,
    &gatling::LOG,
    &hdr::LOG,
    &hdr::PERCENTILES,
    &vegeta::CSV,
    &latencies::CSV,
];

/// Returns the format of this name; the error names all.
pub fn format(name: &str) -> Result<&'static str, String> {
    let known = FORMATS.iter().find(|format| format.name == name);
    known.map(|format| format.name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        format!("`{name}` is not a format; write one of {}", names.join(", "))
    })
}

/// Returns the formats with what writes them, a line for each.
pub fn list() -> String {
    let width = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or_default();
    FORMATS.iter().map(|format| format!("  {:<width$}  {}\n", format.name, format.what)).collect()
}

/// Reads a file. Its name is only repeated; the error states what is wrong and the remedy, without the name.
pub fn read(file: &str, mut input: &mut dyn BufRead, asked: &Asked) -> Result<Foreign, String> {
    let mut beginning = Vec::new();
    let length = head::LENGTH as u64;
    Read::take(&mut input, length)
        .read_to_end(&mut beginning)
        .map_err(|error| error.to_string())?;
    let head = Head::of(&beginning);
    if let Some(why) = head.refused() {
        return Err(why);
    }
    let format = match asked.format {
        Some(name) => FORMATS.into_iter().find(|format| format.name == name),
        // A user who says what a row is means a table.
        None if asked.rows_are_requests || asked.column.is_some() => Some(&latencies::CSV),
        None => FORMATS.into_iter().find(|format| (format.is)(&head)),
    };
    let format = format.ok_or_else(|| head.for_people().map_or_else(unknown, str::to_owned))?;
    check(format, asked)?;
    let begin = head.begin;
    let mut whole = Cursor::new(&beginning[begin..]).chain(input);
    let found = (format.read)(&mut whole, asked)?;
    let found = answered(found, format, asked)?;
    Ok(judge::judged(file, format.name, found))
}

fn unknown() -> String {
    format!(
        "its format is not recognised; known are\n{}name it with --format if it is one of them; of another \
         tool, take a CSV file with a column of times: --rows requests --column NAME --unit ms. A table of \
         trials is analysed with --by COLUMN --metrics A,B",
        list()
    )
}

/// Refuses an option that would change nothing.
fn check(format: &Format, asked: &Asked) -> Result<(), String> {
    let given = [
        (Question::Unit, asked.unit.is_some(), "--unit"),
        (Question::Column, asked.column.is_some(), "--column"),
        (Question::Rows, asked.rows_are_requests, "--rows"),
        (Question::Tag, asked.tag.is_some(), "--tag"),
    ];
    let vain =
        given.iter().find(|(question, is_given, _)| *is_given && !format.asks.contains(question));
    match vain {
        None => Ok(()),
        Some((_, _, option)) => Err(format!(
            "a file of the format {} says this itself: leave out {option}, or name another format by \
             --format",
            format.name
        )),
    }
}

/// Adds what the user says, unless the file says otherwise.
fn answered(mut found: Found, format: &Format, asked: &Asked) -> Result<Found, String> {
    let facts = &mut found.facts;
    let name = format.name;
    if let Some(since) = asked.since {
        if facts.since.is_some_and(|known| known != since) {
            return Err(format!(
                "the times of {name} count from another moment: leave out --since"
            ));
        }
        facts.since = Some(since);
    }
    if let Some(pacing) = asked.pacing {
        if facts.pacing.is_some_and(|known| known != pacing) {
            return Err(format!(
                "this file of the format {name} says another loop: leave out --loop"
            ));
        }
        facts.pacing = Some(pacing);
    }
    Ok(found)
}
