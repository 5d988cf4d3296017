//! Rates and sizes, parsed and printed with their units.

use std::fmt;
use std::str::FromStr;

use crate::number::{ParseError, split_unit, three_digits};
use crate::time::Nanos;

#[cfg(test)]
mod tests;

/// The most events per second of a load, one per nanosecond: beyond it intended times could not differ.
pub(crate) const FASTEST: f64 = 1e9;

/// A rate in events per second. Positive and finite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Creates a rate; `None` unless it is positive and finite, since a load needs at least some
    /// requests.
    pub fn per_second(rate: f64) -> Option<Rate> {
        (rate.is_finite() && 0.0 < rate).then_some(Rate(rate))
    }

    /// Creates the rate that a search tries: a whole number per second if that is finer than a percent.
    /// It is limited to what a rate can be, so that a search that nothing ends stays finite.
    pub fn rounded(rate: f64) -> Rate {
        let rate = if 100.0 <= rate { rate.round() } else { (rate * 1e3).round() / 1e3 };
        Rate(rate.clamp(1e-3, f64::MAX))
    }

    pub fn as_per_second(self) -> f64 {
        self.0
    }

    /// Returns the mean gap between two events, in nanoseconds; not rounded.
    pub fn gap_ns(self) -> f64 {
        1e9 / self.0
    }

    /// Returns the number of events in `length` at this rate.
    pub fn count_in(self, length: Nanos) -> f64 {
        self.0 * length.as_secs_f64()
    }
}

/// Parses `500/s`, `5k/s`, `1.5M/s`, `30/m`, `100/h`.
impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Rate, ParseError> {
        let wrong = || {
            let bare = text.trim().parse::<f64>().is_ok_and(|x| 0.0 < x);
            let example = if bare { format!("{}/s", text.trim()) } else { "5k/s".to_owned() };
            ParseError::new(text, "rate", &example)
        };
        let (amount, per) = text.split_once('/').ok_or_else(wrong)?;
        let seconds = match per.trim() {
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let amount = parse_count(amount).ok_or_else(wrong)?;
        if FASTEST < amount / seconds {
            return Err(ParseError::new(text, "rate of at most 1G/s, one each nanosecond", "5k/s"));
        }
        Rate::per_second(amount / seconds)
            .ok_or_else(|| ParseError::new(text, "rate above zero", "5k/s"))
    }
}

/// Prints the rate with thousands separators and at least three significant digits: `3,712/s`,
/// `45.6/s`, `0.50/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", grouped(self.0)))
    }
}

/// Formats a number for display: `12,388,581`, `99.5`, `0.25`.
pub fn grouped(x: f64) -> String {
    if x.abs() < 99.95 {
        return match x {
            0.0 => "0".to_owned(),
            _ => three_digits(x),
        };
    }
    let digits = format!("{:.0}", x.abs());
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if 0 < i && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if x < 0.0 { format!("-{text}") } else { text }
}

/// Rounds to four decimals, which are enough for shares and for requests.
pub fn rounded(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

/// Formats a whole number for display: `12,388,581`, `7`.
pub fn counted(n: u64) -> String {
    if n < 100 { n.to_string() } else { grouped(n as f64) }
}

/// Formats a number of requests: `1 request`, `12,388 requests`.
pub fn requests(n: u64) -> String {
    format!("{} {}", counted(n), if n == 1 { "request" } else { "requests" })
}

/// Lists names, of more than `most` of them the first ones and the number of the others: `a, b and 3 more`.
pub fn first_of(names: &[String], most: usize) -> String {
    match names.len() <= most {
        true => names.join(", "),
        false => {
            let (first, others) = names.split_at(most - 1);
            format!("{} and {} more", first.join(", "), counted(others.len() as u64))
        }
    }
}

/// Formats the probability of a test for a table: `0.0093`, `< 0.0001`.
pub fn probability(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

/// Formats the probability of a test for a sentence: `p = 0.0093`, `p < 0.0001`.
pub fn p_in_words(p: f64) -> String {
    let equals = if p < 0.0001 { "" } else { "= " };
    format!("p {equals}{}", probability(p))
}

/// A part of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// Parses `5%` or `0.05`.
impl FromStr for Share {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Share, ParseError> {
        let wrong = || ParseError::new(text, "share from 0 to 1", "5% or 0.05");
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100.0),
            None => (text.trim(), 1.0),
        };
        let share = number.parse::<f64>().map_err(|_| wrong())? / scale;
        (0.0..=1.0).contains(&share).then_some(Share(share)).ok_or_else(wrong)
    }
}

/// Prints the share in percent, to six digits: `0.1 %`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.percent())
    }
}

impl Share {
    /// Returns the share in percent without binary rounding errors: `0.1`, not `0.1000…01`.
    pub fn percent(self) -> f64 {
        (self.0 * 1e8).round() / 1e6
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bytes(pub u64);

/// Parses `512B`, `64KiB`, `10MB`; the unit is required.
impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        let wrong = || ParseError::new(text, "size", "64KiB or 10MB");
        let (number, unit) = split_unit(text).ok_or_else(wrong)?;
        let scale = match unit {
            "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        Ok(Bytes((number * scale).round() as u64))
    }
}

/// Prints three significant digits in decimal units: `999 B`, `8.10 MB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let x = self.0 as f64;
        let text = match self.0 {
            0..1_000 => format!("{} B", self.0),
            1_000..1_000_000 => format!("{} kB", three_digits(x / 1e3)),
            1_000_000..1_000_000_000 => format!("{} MB", three_digits(x / 1e6)),
            _ => format!("{} GB", three_digits(x / 1e9)),
        };
        f.pad(&text)
    }
}

/// Reads a whole number of things: `1000`, `100k`, `1M`.
pub fn whole_count(text: &str) -> Option<u64> {
    let factors = [("k", 1_000), ("K", 1_000), ("M", 1_000_000)];
    let split = factors.iter().find_map(|&(unit, by)| Some((text.strip_suffix(unit)?, by)));
    let (digits, factor) = split.unwrap_or((text, 1));
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Parses a count with an optional `k`, `M` or `G` (powers of 1000).
fn parse_count(text: &str) -> Option<f64> {
    let (number, unit) = split_unit(text)?;
    let scale = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(number * scale)
}

/// The most digits behind the point of a figure beside its bound.
const MOST_DIGITS: usize = 6;

/// Returns a share and its bound in per cent, with at least so many digits behind the point, and with as many as it
/// takes until the two differ: a figure that exceeds its bound must not look like it.
pub fn percents(share: f64, bound: f64, digits: usize) -> (String, String) {
    let written = |share: f64, digits: usize| format!("{:.digits$} %", 100.0 * share);
    let both = |digits| (written(share, digits), written(bound, digits));
    let differs = |(share, bound): &(String, String)| share != bound;
    (digits..MOST_DIGITS).map(both).find(differs).unwrap_or_else(|| both(digits))
}

/// Returns a length of time and its bound in the same way: in nanoseconds if they look the same otherwise.
pub fn lengths(length: Nanos, bound: Nanos) -> (String, String) {
    let both = (length.to_string(), bound.to_string());
    match both.0 == both.1 && length != bound {
        true => (format!("{} ns", counted(length.0)), format!("{} ns", counted(bound.0))),
        false => both,
    }
}
