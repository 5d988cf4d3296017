//! The parts that a format has, and what all of them need.

use std::io::BufRead;

use measure::Nanos;
use results::foreign::{Facts, Limit, Loop};
use results::printed::Since;
use results::regular;

use crate::head::Head;

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
    pub(crate) is: fn(&Head) -> bool,
    pub(crate) read: fn(&mut dyn BufRead, &Asked) -> Result<Found, String>,
}

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

/// Reads a document that is small, or wrong.
pub(crate) fn document(input: &mut dyn BufRead) -> Result<Vec<u8>, String> {
    regular::read_bounded(input, MOST_OF_DOCUMENT).map_err(|error| error.to_string())
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
