//! Texts with placeholders, compiled once into segments.

use std::fmt;
use std::io::Write;

use measure::Random;
use wire::http1::{bad_in_target, bad_in_value};

use crate::data::Data;
use crate::error::Wrong;
use crate::jar::Jar;
use crate::zipf::{MOST_RANKS, Zipf};

#[cfg(test)]
mod tests;

/// A request's text as a sequence of segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq)]
enum Segment {
    Text(Vec<u8>),
    Seq,
    /// A whole number from `low` to `low + span`.
    Int {
        low: i64,
        span: u64,
    },
    Uniform {
        low: f64,
        width: f64,
        decimals: usize,
    },
    /// A rank, of which the first is `low`.
    Zipf {
        low: i64,
        distribution: Zipf,
    },
    Hex(usize),
    Uuid,
    TimeMs,
    Connection,
    Row(usize),
    /// A cell, with all characters encoded that are not allowed in a target.
    EncodedRow(usize),
    /// A value that the session has captured.
    Captured {
        variable: usize,
        form: Form,
    },
    /// The header field with the cookies of the session, if it has any.
    Cookies,
}

/// The form in which a captured value is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// Unchanged, in a body.
    Body,
    /// Unchanged, in a header field, which control characters would end.
    Field,
    /// With all characters encoded that are not allowed in a target.
    Target,
    /// With all characters encoded that have a meaning in a query or in the body of a form.
    Url,
    /// With the escapes of a text in JSON, without its quotes.
    Json,
}

/// The part of the request that a text is in, which determines the allowed characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    Target,
    Field,
    Body,
}

/// A function that returns the current time in milliseconds since 1970.
pub type Clock = fn() -> u64;

/// The names that placeholders may use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names<'a> {
    pub(crate) data: Option<&'a Data>,
    /// The values that sessions capture.
    pub(crate) captured: &'a [String],
}

/// The values that the session of a request has captured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Captured<'a> {
    /// The request belongs to no session.
    None,
    Values {
        values: &'a [Vec<u8>],
        jar: &'a Jar,
    },
    /// For a request that is only shown: the placeholders stay, also one for the cookies if the session
    /// may have some.
    Placeholders {
        names: &'a [String],
        has_cookies: bool,
    },
}

/// The values of the placeholders of one request.
#[derive(Debug)]
pub(crate) struct Filling<'a> {
    pub(crate) number: u64,
    pub(crate) connection: u64,
    pub(crate) random: Random,
    pub(crate) data: Option<&'a Data>,
    pub(crate) clock: Clock,
    pub(crate) captured: Captured<'a>,
    /// The position in the output at which the request begins.
    pub(crate) begin: usize,
}

/// The names of the placeholders, and their syntax.
const FORMS: [(&str, &str); 10] = [
    ("seq", "{{seq}}"),
    ("int", "{{int A B}}, whole numbers with A not above B"),
    ("uniform", "{{uniform A B}} or {{uniform A B DECIMALS}}, A not above B, decimals up to 17"),
    ("zipf", "{{zipf A B}} or {{zipf A B S}}, whole numbers with A not above B, S in (0, 20]"),
    ("hex", "{{hex N}}, N from 1 to 65536"),
    ("uuid", "{{uuid}}"),
    ("time_ms", "{{time_ms}}"),
    ("connection", "{{connection}}"),
    ("row.COLUMN", "{{row.COLUMN}}"),
    ("session.NAME", "{{session.NAME}}, {{session.NAME url}} or {{session.NAME json}}"),
];

const MOST_DECIMALS: usize = 17;
const USUAL_DECIMALS: usize = 6;
const MOST_HEX_DIGITS: usize = 1 << 16;
const LARGEST_EXPONENT: f64 = 20.0;

impl Template {
    pub(crate) fn text(&mut self, text: &[u8]) {
        match self.segments.last_mut() {
            Some(Segment::Text(last)) => last.extend_from_slice(text),
            _ if text.is_empty() => {}
            _ => self.segments.push(Segment::Text(text.to_vec())),
        }
    }

    pub(crate) fn compile(
        &mut self,
        text: &str,
        place: Part,
        names: Names<'_>,
    ) -> Result<(), Wrong> {
        let mut at = 0;
        while let Some(offset) = text[at..].find("{{") {
            let open = at + offset;
            self.literal(text, (at, open), place)?;
            let inside = &text[open + 2..];
            let wrong = |what| Wrong { at: open, what };
            let length = inside.find("}}").ok_or_else(|| {
                wrong(
                    "`{{` begins a placeholder, which must end with `}}`; a file named \
                       by `body_file` is sent unchanged"
                        .to_owned(),
                )
            })?;
            self.segments.push(Segment::parse(&inside[..length], place, names).map_err(wrong)?);
            at = open + 2 + length + 2;
        }
        self.literal(text, (at, text.len()), place)
    }

    fn literal(
        &mut self,
        whole: &str,
        (from, to): (usize, usize),
        place: Part,
    ) -> Result<(), Wrong> {
        let text = &whole[from..to];
        let (bad, remedy) = match place {
            Part::Target => {
                (bad_in_target(text), "write it percent-encoded, such as %20 for a space")
            }
            Part::Field => (bad_in_value(text), "leave it out"),
            Part::Body => (None, ""),
        };
        if let Some((at, c)) = bad {
            let what = format!("{c:?} is not allowed here; {remedy}");
            return Err(Wrong { at: from + at, what });
        }
        self.text(text.as_bytes());
        Ok(())
    }

    /// Returns the bytes if they are always the same, that is without placeholders.
    pub(crate) fn fixed(&self) -> Option<&[u8]> {
        match self.segments.as_slice() {
            [] => Some(&[]),
            [Segment::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends the header field with the cookies of the session.
    pub(crate) fn cookies(&mut self) {
        self.segments.push(Segment::Cookies);
    }

    pub(crate) fn append(&mut self, other: Template) {
        for segment in other.segments {
            match segment {
                Segment::Text(text) => self.text(&text),
                other => self.segments.push(other),
            }
        }
    }

    /// Returns the captured values that it uses, and how.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (usize, Form)> {
        self.segments.iter().filter_map(|segment| match *segment {
            Segment::Captured { variable, form } => Some((variable, form)),
            _ => None,
        })
    }

    pub(crate) fn write(&self, filling: &mut Filling<'_>, out: &mut Vec<u8>) {
        for segment in &self.segments {
            segment.write(filling, out);
        }
    }
}

impl Segment {
    fn parse(placeholder: &str, place: Part, names: Names<'_>) -> Result<Segment, String> {
        if let Some(column) = placeholder.trim().strip_prefix("row.") {
            return Segment::row(column, place, names.data);
        }
        if let Some(value) = placeholder.trim().strip_prefix("session.") {
            return Segment::captured(value, place, names.captured);
        }
        let mut words = placeholder.split_whitespace();
        let name = words.next().unwrap_or_default();
        let arguments: Vec<&str> = words.collect();
        Segment::of(name, &arguments).ok_or_else(|| {
            match FORMS.iter().find(|(known, _)| *known == name) {
                Some((_, form)) => format!("`{{{{{placeholder}}}}}` is not valid; write {form}"),
                None => {
                    let names: Vec<&str> = FORMS.iter().map(|(name, _)| *name).collect();
                    let names = names.join(", ");
                    format!("`{{{{{placeholder}}}}}` is not a placeholder; write one of {names}")
                }
            }
        })
    }

    fn of(name: &str, arguments: &[&str]) -> Option<Segment> {
        Some(match (name, arguments) {
            ("seq", []) => Segment::Seq,
            ("int", [low, high]) => {
                let (low, span) = range(low, high)?;
                Segment::Int { low, span }
            }
            ("uniform", [low, high, decimals @ ..]) => {
                let decimals = match decimals {
                    [] => USUAL_DECIMALS,
                    [decimals] => decimals.parse().ok()?,
                    _ => return None,
                };
                let (low, high): (f64, f64) = (low.parse().ok()?, high.parse().ok()?);
                let width = high - low;
                let fits = 0.0 <= width && width.is_finite() && decimals <= MOST_DECIMALS;
                fits.then_some(Segment::Uniform { low, width, decimals })?
            }
            ("zipf", [low, high, exponent @ ..]) => {
                let s: f64 = match exponent {
                    [] => 1.0,
                    [s] => s.parse().ok()?,
                    _ => return None,
                };
                let (low, span) = range(low, high)?;
                let fits = 0.0 < s && s <= LARGEST_EXPONENT && span < MOST_RANKS;
                fits.then(|| Segment::Zipf { low, distribution: Zipf::new(span + 1, s) })?
            }
            ("hex", [digits]) => {
                let digits = digits.parse().ok()?;
                (1..=MOST_HEX_DIGITS).contains(&digits).then_some(Segment::Hex(digits))?
            }
            ("uuid", []) => Segment::Uuid,
            ("time_ms", []) => Segment::TimeMs,
            ("connection", []) => Segment::Connection,
            _ => return None,
        })
    }

    fn row(name: &str, place: Part, data: Option<&Data>) -> Result<Segment, String> {
        let data = data.ok_or_else(|| {
            format!("`{{{{row.{name}}}}}` needs a table; name its file with --data")
        })?;
        let column = data.columns().iter().position(|known| known == name).ok_or_else(|| {
            let names = data.columns().join(", ");
            format!("the data has no column `{name}`; write one of {names}")
        })?;
        if place == Part::Field
            && let Some(cell) = data.find(column, |text| bad_in_value(text).is_some())
        {
            return Err(format!(
                "`{name}` has a line break or control character at {cell}, which is not allowed in \
                 a header; remove it there",
            ));
        }
        Ok(match place {
            Part::Target => Segment::EncodedRow(column),
            Part::Field | Part::Body => Segment::Row(column),
        })
    }

    fn captured(text: &str, place: Part, captured: &[String]) -> Result<Segment, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let form = match (words.next(), place) {
            (None, Part::Target) => Form::Target,
            (None, Part::Field) => Form::Field,
            (None, Part::Body) => Form::Body,
            (Some("url"), _) => Form::Url,
            (Some("json"), _) => Form::Json,
            (Some(word), _) => {
                return Err(format!(
                    "`{word}` is not a form of a captured value; write {{{{session.{name}}}}}, or with \
                     `url` or `json` behind the name"
                ));
            }
        };
        match captured.iter().position(|known| known == name) {
            Some(variable) if words.next().is_none() => Ok(Segment::Captured { variable, form }),
            Some(_) => Err(format!("`{{{{session.{text}}}}}` has a word too many; leave it out")),
            None if captured.is_empty() => Err(format!(
                "no line captures `{name}`; write for example \
                 \"capture\":{{\"{name}\":\"json:/{name}\"}} in the line of an earlier step"
            )),
            None => Err(format!("no line captures `{name}`; write one of {}", captured.join(", "))),
        }
    }

    fn write(&self, filling: &mut Filling<'_>, out: &mut Vec<u8>) {
        let random = &mut filling.random;
        match *self {
            Segment::Text(ref text) => out.extend_from_slice(text),
            Segment::Seq => print(out, filling.number),
            Segment::Int { low, span } => {
                let more = match span.checked_add(1) {
                    Some(count) => random.below(count),
                    None => random.next_u64(),
                };
                print(out, low.wrapping_add_unsigned(more));
            }
            Segment::Uniform { low, width, decimals } => {
                let value = low + random.unit() * width;
                print(out, format_args!("{value:.decimals$}"));
            }
            Segment::Zipf { low, distribution } => {
                print(out, low.wrapping_add_unsigned(distribution.draw(random) - 1));
            }
            Segment::Hex(digits) => hex(out, random, digits),
            Segment::Uuid => uuid(out, random),
            Segment::TimeMs => print(out, (filling.clock)()),
            Segment::Connection => print(out, filling.connection),
            Segment::Row(column) => out.extend_from_slice(filling.cell(column).as_bytes()),
            Segment::EncodedRow(column) => encode(filling.cell(column).as_bytes(), out),
            Segment::Captured { variable, form } => filling.write_captured(variable, form, out),
            Segment::Cookies => filling.write_cookies(out),
        }
    }
}

impl<'a> Filling<'a> {
    fn cell(&self, column: usize) -> &'a str {
        let data = self.data.expect("a template with a row was compiled with its data");
        data.cell(data.row_of(self.number), column)
    }

    fn write_captured(&self, variable: usize, form: Form, out: &mut Vec<u8>) {
        let value = match self.captured {
            Captured::None => unreachable!("only a session's step uses what a session captures"),
            Captured::Values { values, .. } => &values[variable],
            Captured::Placeholders { names, .. } => {
                let form = match form {
                    Form::Body | Form::Field | Form::Target => "",
                    Form::Url => " url",
                    Form::Json => " json",
                };
                return print(out, format_args!("{{{{session.{}{form}}}}}", names[variable]));
            }
        };
        match form {
            Form::Body | Form::Field => out.extend_from_slice(value),
            Form::Target => encode(value, out),
            Form::Url => encode_all(value, out),
            Form::Json => escape(value, out),
        }
    }

    fn write_cookies(&self, out: &mut Vec<u8>) {
        match self.captured {
            Captured::Values { jar, .. } => {
                let target = target_of(&out[self.begin..]);
                // The target is in the same buffer, which the field is appended to.
                let (from, to) = (self.begin + target.start, self.begin + target.end);
                jar.write_for(from..to, (self.clock)(), out);
            }
            Captured::Placeholders { has_cookies: true, .. } => {
                out.extend_from_slice(b"Cookie: {{cookies}}\r\n");
            }
            Captured::None | Captured::Placeholders { .. } => {}
        }
    }
}

/// Returns the place of the target in the head of a request.
pub(crate) fn target_of(head: &[u8]) -> std::ops::Range<usize> {
    let begin = memchr::memchr(b' ', head).map_or(head.len(), |at| at + 1);
    let length = memchr::memchr(b' ', &head[begin..]).unwrap_or(head.len() - begin);
    begin..begin + length
}

/// Parses a range of whole numbers; returns the lowest and the distance to the highest.
fn range(low: &str, high: &str) -> Option<(i64, u64)> {
    let (low, high): (i64, i64) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high).then(|| (low, high.abs_diff(low)))
}

fn print(out: &mut Vec<u8>, value: impl fmt::Display) {
    write!(out, "{value}").expect("memory takes everything");
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn hex(out: &mut Vec<u8>, random: &mut Random, digits: usize) {
    for begin in (0..digits).step_by(16) {
        let bits = random.next_u64();
        let positions = 0..(digits - begin).min(16);
        out.extend(positions.map(|position| HEX[(bits >> (4 * position) & 15) as usize]));
    }
}

/// Writes a UUID as in RFC 9562: 122 random bits, version 4, variant 10.
fn uuid(out: &mut Vec<u8>, random: &mut Random) {
    let bits = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    let bits = bits & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    for position in 0..32 {
        if matches!(position, 8 | 12 | 16 | 20) {
            out.push(b'-');
        }
        out.push(HEX[(bits >> (124 - 4 * position) & 15) as usize]);
    }
}

/// Percent-encodes the characters that RFC 3986 does not allow in a path or query; percent-encoded
/// text stays unchanged.
fn encode(text: &[u8], out: &mut Vec<u8>) {
    encode_except(b"-._~:/?[]@!$&'()*+,;=%", text, out);
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
fn encode_all(text: &[u8], out: &mut Vec<u8>) {
    encode_except(b"-._~", text, out);
}

fn encode_except(kept: &[u8], text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            out.push(byte);
        } else {
            let digit = |bits: u8| HEX[usize::from(bits & 15)].to_ascii_uppercase();
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte)]);
        }
    }
}

/// Escapes the characters that a text in JSON cannot have.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 => print(out, format_args!("\\u{byte:04x}")),
            _ => out.push(byte),
        }
    }
}
