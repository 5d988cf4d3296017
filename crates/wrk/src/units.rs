//! Amounts as the originals print them: two decimals, a suitable unit, and columns.

use measure::Nanos;

use crate::extended::Extended;

#[cfg(test)]
mod tests;

/// A unit and those above it, each `step` times the one before.
struct Units {
    step: u64,
    names: &'static [&'static str],
}

const SHORT: Units = Units { step: 1000, names: &["us", "ms", "s"] };
const LONG: Units = Units { step: 60, names: &["s", "m", "h"] };
const COUNTS: Units = Units { step: 1000, names: &["", "k", "M", "G", "T", "P"] };
const BYTES: Units = Units { step: 1024, names: &["", "K", "M", "G", "T", "P"] };

/// Formats microseconds: `849.99us`, `0.85ms`, `1.00s`.
pub fn time(us: impl Into<Extended>) -> String {
    let (us, million) = (us.into(), Extended::from(1_000_000));
    if us < million { SHORT.write(us, 2) } else { LONG.write(us / million, 2) }
}

/// Formats a count: `12.35k`.
pub fn count(x: impl Into<Extended>) -> String {
    COUNTS.write(x.into(), 2)
}

/// Formats bytes: `0.85K`; the texts add the `B`.
pub fn bytes(x: impl Into<Extended>) -> String {
    BYTES.write(x.into(), 2)
}

/// Formats the planned length of a run: `50s`, `2m`; never hours.
pub fn run_length(length: Nanos) -> String {
    LONG.write(Extended::from(length.0) / Extended::from(1_000_000_000), 0)
}

/// Right-aligns an amount so that numbers, not units, are below each other: two columns at the
/// right are for the unit, and what is too long is cut there.
pub fn aligned(text: &str, width: usize) -> String {
    let letters = text.chars().rev().take(2).filter(char::is_ascii_alphabetic).count();
    let blanks = 2 - letters;
    let width = width.saturating_sub(blanks);
    let kept: String = text.chars().take(width).collect();
    format!("{kept:>width$}{:blanks$}", "")
}

impl Units {
    /// Switches to the next unit at 85 hundredths of it. The last unit is never used.
    fn write(&self, x: Extended, decimals: u32) -> String {
        let enough = Extended::from(self.step as f64 * 0.85);
        let (mut x, mut unit) = (x, 0);
        while unit + 2 < self.names.len() && enough <= x {
            x = x / Extended::from(self.step);
            unit += 1;
        }
        format!("{}{}", x.fixed(decimals), self.names[unit])
    }
}
