//! The files of other load generators: bytes in; out come the figures that they have, with what these
//! support. Each format is a module, and [`FORMATS`] lists all of them.
//!
//! Nothing here opens a file or believes one: no bytes make a reader fail otherwise than with an error, and
//! memory grows only up to a bound. Formats with a line for each request are read line by line. A figure that
//! a file does not have is absent, never zero.
#![forbid(unsafe_code)]

use std::io::{BufRead, Cursor, Read};

use measure::Nanos;
use results::Foreign;
use results::foreign::{Facts, Limit, Loop};
use results::printed::Since;

use head::Head;

pub mod printed;

pub mod fortio;
pub mod hey;
pub mod wrk;

mod civil;
mod gatling;
mod ghz;
mod hdr;
mod head;
mod jmeter;
mod json;
mod judge;
mod k6;
mod latencies;
mod lines;
mod locust;
mod merge;
mod oha;
mod ours;
mod samples;
mod table;
mod vegeta;

#[cfg(test)]
mod tests;

pub use merge::merged;

/// A document that is read as a whole is longer only by mistake.
const MOST_OF_DOCUMENT: u64 = 64 << 20;

/// One format of one tool.
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// The command that writes it, or its usual name.
    pub what: &'static str,
    /// The things that the user says, because the file does not.
    pub asks: &'static [Question],
    is: fn(&Head) -> bool,
    read: fn(&mut dyn BufRead, &Asked) -> Result<Found, String>,
}

/// All formats, in the order in which they are tried: the later ones are less particular.
pub const FORMATS: [&Format; 20] = [
    &ours::LOAD,
    &k6::LINES,
    &k6::SUMMARY,
    &vegeta::JSON,
    &vegeta::REPORT,
    &oha::JSON,
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

/// Something that the user says about a file, because the file itself does not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Question {
    Unit,
    Column,
    Rows,
    Tag,
}

/// The unit of times in a file that states none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Unit {
    pub(crate) fn ns(self) -> f64 {
        match self {
            Unit::Nanoseconds => 1.0,
            Unit::Microseconds => 1e3,
            Unit::Milliseconds => 1e6,
            Unit::Seconds => 1e9,
        }
    }
}

/// The answers of the user to what a file does not say.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Absent if the contents decide.
    pub format: Option<&'static str>,
    pub unit: Option<Unit>,
    /// The name of a column, or its number from 1.
    pub column: Option<String>,
    /// True if each row of a table is a request.
    pub rows_are_requests: bool,
    /// The tag of a log with several histograms.
    pub tag: Option<String>,
    pub since: Option<Since>,
    pub pacing: Option<Loop>,
}

/// The figures of a file, before they are judged.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) tool: String,
    pub(crate) facts: Facts,
    /// The limits that only the format's own module can know.
    pub(crate) limits: Vec<Limit>,
    /// True if the file says how well its generator worked.
    pub(crate) judges_itself: bool,
}

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
    let format = format.ok_or_else(unknown)?;
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

/// Reads a document that is small, or wrong.
pub(crate) fn document(input: &mut dyn BufRead) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let most = MOST_OF_DOCUMENT;
    input.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(format!("it is longer than {} MiB", most >> 20)),
    }
}

pub(crate) fn text(input: &mut dyn BufRead) -> Result<String, String> {
    Ok(String::from_utf8_lossy(&document(input)?).into_owned())
}

/// Returns a length of time; `None` if the number is not one.
pub(crate) fn time(number: f64, unit: Unit) -> Option<Nanos> {
    /// Ten years: a longer one is a point in time.
    const LONGEST: f64 = 3.2e17;
    let ns = number * unit.ns();
    (0.0..=LONGEST).contains(&ns).then(|| Nanos(ns.round() as u64))
}
