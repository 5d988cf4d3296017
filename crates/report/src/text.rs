//! Words and numbers for people, and the escaping through which all foreign text enters a page.

use std::fmt::{self, Display, Write};

use measure::quantity::grouped;
use measure::{Civil, Nanos};
use results::sessions::Arrivals;
use results::{Conclusion, Entry};

#[cfg(test)]
mod tests;

/// Foreign text, harmless inside an element and inside a quoted attribute.
pub(crate) struct Escaped<'a>(&'a str);

/// Escapes HTML markup. Control characters, and those that reverse the direction of the following
/// text, become a visible replacement: a log line must not rearrange the page.
pub(crate) fn escape(text: &str) -> Escaped<'_> {
    Escaped(text)
}

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => f.write_char('\u{fffd}')?,
                _ if c.is_control() => f.write_char('\u{fffd}')?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Marks what trials say about the SLO, in a table.
pub(crate) fn mark(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Met => "✓ met",
        Conclusion::Missed => "✗ missed",
        Conclusion::Open => "? undecided",
    }
}

/// Names what trials say about the SLO, in a legend.
pub(crate) fn name(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Met => "SLO met",
        Conclusion::Missed => "SLO missed",
        Conclusion::Open => "too few requests for a verdict",
    }
}

/// Returns the load of a trial with its unit: `3,712/s`, `20 sessions/s`.
pub(crate) fn load(entry: &Entry) -> String {
    let words = |asked| Arrivals::of([entry]).load_in_words(asked);
    entry.asked_per_s.map_or("closed loop".to_owned(), words)
}

/// Formats a rate: `3,712/s`.
pub(crate) fn rate(per_s: f64) -> String {
    format!("{}/s", grouped(per_s))
}

/// Formats a time: `45.6 ms`.
pub(crate) fn time(ns: u64) -> String {
    Nanos(ns).to_string()
}

/// Formats a share: `86 %`, `99.4 %`, `0.08 %`; near 0 % and 100 % with decimals. A dash if the whole is zero.
pub(crate) fn share(part: f64, whole: f64) -> String {
    match part / whole * 100.0 {
        percent if !percent.is_finite() => "–".to_owned(),
        percent if (0.0..0.005).contains(&percent) && 0.0 < percent => "< 0.01 %".to_owned(),
        percent if 0.0 < percent && percent < 0.995 => format!("{percent:.2} %"),
        percent if (90.0..99.95).contains(&percent) => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// Formats an integer: `16`, `12,388,581`.
pub(crate) fn integer(n: u64) -> String {
    if n < 100 { n.to_string() } else { grouped(n as f64) }
}

/// Formats a count: `1 trial`, `16 trials`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", integer(n as u64))
}

/// Joins items: `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A number on an axis: `0`, `0.5`, `2,500`.
pub(crate) fn tick_number(x: f64) -> String {
    match x {
        _ if 100.0 <= x.abs() => grouped(x),
        _ => decimal(x),
    }
}

/// A time on an axis, given in nanoseconds: `200 µs`, `1 s`.
pub(crate) fn tick_time(ns: f64) -> String {
    match ns {
        0.0 => "0".to_owned(),
        _ if ns < 999.5 => format!("{} ns", decimal(ns)),
        _ if ns < 999.5e3 => format!("{} µs", decimal(ns / 1e3)),
        _ if ns < 999.5e6 => format!("{} ms", decimal(ns / 1e6)),
        _ => format!("{} s", decimal(ns / 1e9)),
    }
}

/// At most three decimals, without trailing zeros.
fn decimal(x: f64) -> String {
    let text = format!("{x:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Seconds since 1970 as `2026-11-21 09:42 UTC`.
pub(crate) fn date(unix_s: u64) -> String {
    format!("{} UTC", Civil::of(unix_s))
}

/// Returns the text with its first letter as a capital.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
