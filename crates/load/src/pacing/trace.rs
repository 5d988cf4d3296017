//! A list of intended times, used instead of a distribution and a rate.
//!
//! One request per line: the seconds since the load's start, then optionally a tab and a label.
//! Empty lines and lines that begin with `#` are ignored. No file is opened here.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::sync::Arc;

use ::measure::Nanos;

use crate::driver::Label;

#[cfg(test)]
mod tests;

/// A trace; takes 16 bytes per request. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace(Arc<Recorded>);

#[derive(Debug, Default, PartialEq)]
struct Recorded {
    lines: Vec<Line>,
    labels: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    time: Nanos,
    label: Label,
}

const _: () = assert!(size_of::<Line>() == 16, "the stated bound");

/// The maximum number of requests of a trace: 1 GiB, and up to twice that while it is read.
const MOST_LINES: usize = 1 << 26;
/// The maximum length of a line, with its end, so that labels take at most 64 MiB.
const LONGEST_LINE: usize = 1024;
/// The mark that some editors write at the beginning of a file in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The latest time, some 146 years: later ones could overflow.
const LONGEST: Nanos = Nanos(1 << 62);
/// The maximum number of different labels.
const MOST_LABELS: usize = Label::NONE.0 as usize;

impl Trace {
    /// Reads a trace, to be replayed `speed` times as fast as it was written. An error gives the
    /// line of `name` and the remedy.
    pub fn read(name: &str, reader: impl BufRead, speed: f64) -> Result<Trace, String> {
        Bounds { lines: MOST_LINES, labels: MOST_LABELS }.read(name, reader, speed)
    }

    /// Returns the labels that the indices in `Arrival::label` refer to.
    pub fn labels(&self) -> &[String] {
        &self.0.labels
    }

    /// Returns the time of its last request since the load's start.
    pub fn length(&self) -> Nanos {
        self.0.lines.last().expect("a trace holds a request").time
    }

    /// Returns the number of requests that are intended before a time.
    pub fn count_before(&self, time: Nanos) -> usize {
        self.0.lines.partition_point(|line| line.time < time)
    }

    /// Returns the largest number of requests intended within one second.
    pub fn highest_rate(&self) -> f64 {
        let lines = &self.0.lines;
        let mut first = 0;
        let within = lines.iter().enumerate().map(|(last, line)| {
            while lines[first].time + Nanos::SECOND <= line.time {
                first += 1;
            }
            last + 1 - first
        });
        within.max().expect("a trace holds a request") as f64
    }

    /// Returns the time and the label of request `number`.
    pub(super) fn get(&self, number: usize) -> Option<(Nanos, Label)> {
        self.0.lines.get(number).map(|line| (line.time, line.label))
    }
}

/// The size limits of a trace; tests use smaller ones.
#[derive(Clone, Copy)]
struct Bounds {
    lines: usize,
    labels: usize,
}

impl Bounds {
    fn read(self, name: &str, mut reader: impl BufRead, speed: f64) -> Result<Trace, String> {
        if !(speed.is_finite() && 0.0 < speed) {
            return Err(format!(
                "`{speed}` is not a valid speed; write for example 2, for twice as fast"
            ));
        }
        let mut recorded = Recorded::default();
        let mut known = HashMap::new();
        let mut text = Vec::with_capacity(LONGEST_LINE);
        let mut before = Nanos::ZERO;
        for number in 1.. {
            let wrong = |why: String| format!("{name}:{number}: {why}");
            text.clear();
            let longest = LONGEST_LINE as u64 + 1;
            let read = reader.by_ref().take(longest).read_until(b'\n', &mut text);
            if read.map_err(|error| wrong(error.to_string()))? == 0 {
                break;
            }
            let mark = if number == 1 { BYTE_ORDER_MARK } else { &[] };
            let text = text.strip_prefix(mark).unwrap_or(&text);
            let Some((time, label)) = line(text).map_err(wrong)? else { continue };
            if time < before {
                let why = "its time is before that of the line above; sort the file with `sort -n`";
                return Err(wrong(why.to_owned()));
            }
            if recorded.lines.len() == self.lines {
                return Err(wrong(format!(
                    "a trace holds at most {} requests; split it into several loads",
                    self.lines
                )));
            }
            before = time;
            let time = faster(time, speed);
            if LONGEST < time {
                let why = "its time is more than 146 years after the start; write times in seconds";
                return Err(wrong(why.to_owned()));
            }
            let label = match label {
                Some(label) => self.intern(label, &mut known, &mut recorded).map_err(wrong)?,
                None => Label::NONE,
            };
            recorded.lines.push(Line { time, label });
        }
        match recorded.lines.is_empty() {
            true => Err(format!(
                "{name}: it contains no request; write one time per line, in seconds \
                 since the start"
            )),
            false => Ok(Trace(Arc::new(recorded))),
        }
    }

    fn intern(
        self,
        label: &str,
        known: &mut HashMap<String, Label>,
        recorded: &mut Recorded,
    ) -> Result<Label, String> {
        if let Some(&label) = known.get(label) {
            return Ok(label);
        }
        if recorded.labels.len() == self.labels {
            let most = self.labels;
            return Err(format!(
                "there are more than {most} labels with `{label}`; label kinds of requests only"
            ));
        }
        let index = Label(recorded.labels.len() as u16);
        known.insert(label.to_owned(), index);
        recorded.labels.push(label.to_owned());
        Ok(index)
    }
}

fn faster(time: Nanos, speed: f64) -> Nanos {
    // Without the conversion, so that the time stays exact.
    if speed == 1.0 { time } else { Nanos((time.0 as f64 / speed).round() as u64) }
}

/// Parses a line; `None` if it is empty or a comment.
fn line(text: &[u8]) -> Result<Option<(Nanos, Option<&str>)>, String> {
    if LONGEST_LINE < text.len() {
        return Err(format!("it is longer than {LONGEST_LINE} bytes; shorten the label"));
    }
    let text = str::from_utf8(text).map_err(|_| "it is not UTF-8; convert the file".to_owned())?;
    let text = text.trim_end();
    if text.is_empty() || text.trim_start().starts_with('#') {
        return Ok(None);
    }
    let (time, label) = match text.split_once('\t') {
        Some((time, label)) => (time, Some(label)),
        None => (text, None),
    };
    let time = seconds(time.trim()).ok_or_else(|| {
        format!(
            "`{}` is not a valid time; write seconds since the start, for example 1.25, then a \
             tab before any label",
            time.escape_debug()
        )
    })?;
    match label {
        Some(label) if label.contains(char::is_control) => {
            Err(format!("`{}` is not a valid label; write one without tabs", label.escape_debug()))
        }
        label => Ok(Some((time, label))),
    }
}

/// Decimal seconds such as `1.25` or `1e-3`, exactly; digits beyond the nanosecond are cut off.
fn seconds(text: &str) -> Option<Nanos> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut digits = whole.bytes().chain(fraction.bytes());
    if (whole.is_empty() && fraction.is_empty()) || !digits.all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // The place of the point behind the last digit of a nanosecond, counted from the first digit.
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent) + 9;
    let mut places = 0..point.max(0);
    let digits = whole.bytes().chain(fraction.bytes());
    let mut nanos = 0u64;
    for (digit, _) in digits.zip(places.by_ref()) {
        nanos = nanos.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    match nanos {
        0 => Some(Nanos(0)),
        _ => places.try_fold(nanos, |nanos, _| nanos.checked_mul(10)).map(Nanos),
    }
}
