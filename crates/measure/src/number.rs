//! Numbers as texts: how one with a unit is read, the error if it cannot be, and the digits that are printed.

use std::fmt;

/// A text that could not be parsed, with the expected kind of value and an example.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParseError {
    text: String,
    wanted: String,
    example: String,
}

impl ParseError {
    pub fn new(text: &str, wanted: &str, example: &str) -> ParseError {
        ParseError { text: text.to_owned(), wanted: wanted.to_owned(), example: example.to_owned() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseError { text, wanted, example } = self;
        write!(f, "`{text}` is not a valid {wanted}; write for example {example}")
    }
}

impl std::error::Error for ParseError {}

/// Splits `1.5ms` or `1e-3s` into a non-negative number and its unit.
pub(crate) fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end + exponent_length(&text[end..]));
    let number: f64 = number.parse().ok()?;
    number.is_finite().then(|| (number, unit.trim()))
}

/// The length of an exponent such as `e-3` at the beginning of the text; no unit looks like one.
fn exponent_length(text: &str) -> usize {
    let Some(behind) = text.strip_prefix(['e', 'E']) else { return 0 };
    let digits = behind.strip_prefix(['+', '-']).unwrap_or(behind);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 { 0 } else { text.len() - digits.len() + count }
}

/// Formats a number with three significant digits: `1.23`, `45.6`, `123`.
pub(crate) fn three_digits(x: f64) -> String {
    match x {
        _ if x < 9.995 => format!("{x:.2}"),
        _ if x < 99.95 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}
