//! Numbers and times as the originals parse them, with some extensions: decimals, `us` and `ms`.

use measure::Nanos;

const COUNTS: [(&str, f64); 6] =
    [("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12), ("p", 1e15)];
const TIMES: [(&str, f64); 6] =
    [("", 1e9), ("s", 1e9), ("m", 60e9), ("h", 3600e9), ("ms", 1e6), ("us", 1e3)];

/// The largest count: up to here every whole number is exact.
const LARGEST_COUNT: f64 = 9e15;
/// A century, the longest time.
const LONGEST: f64 = 100.0 * 365.25 * 86400e9;

/// Parses a count: `100`, `1k`, `1.5M`.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let number = scaled(text, &COUNTS).filter(|&number| number <= LARGEST_COUNT);
    number
        .ok_or_else(|| format!("`{text}` is not a valid number; write for example 100, 1k or 1.5M"))
}

/// Parses a count that must be whole.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    let number = number(text)?;
    match number.fract() {
        0.0 => Ok(number as u64),
        _ => Err(format!("`{text}` is not a whole number")),
    }
}

/// Parses a time: `10`, `10s`, `2m`, `1h`, `500ms`; a bare number is seconds.
pub(super) fn time(text: &str) -> Result<Nanos, String> {
    let ns = scaled(text, &TIMES).filter(|&ns| ns <= LONGEST);
    ns.map(|ns| Nanos(ns.round() as u64)).ok_or_else(|| {
        format!("`{text}` is not a valid length of time; write for example 10s, 2m or 500ms")
    })
}

/// Parses a number from zero up and a unit in either case; blanks around the unit are allowed.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?.1;
    Some(number.parse::<f64>().ok()? * scale)
}
