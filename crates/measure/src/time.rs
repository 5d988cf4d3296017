//! Points in time and durations, as types that cannot be mixed.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::number::{ParseError, split_unit, three_digits};

#[cfg(test)]
mod tests;

/// A point on a monotonic clock, in nanoseconds since that clock's origin.
///
/// The origin is the machine's boot for real time and zero for virtual time; only differences have
/// a meaning.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Instant(pub u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Nanos(pub u64);

impl Instant {
    /// An instant later than any clock will show.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// Returns the time from `earlier` to `self`, or zero if `earlier` is the later one.
    #[inline]
    pub fn saturating_since(self, earlier: Instant) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Nanos {
    pub const ZERO: Nanos = Nanos(0);
    pub const SECOND: Nanos = Nanos(1_000_000_000);
    /// The kernel counts times for programs in hundredths of a second on every Linux.
    pub const TICK: Nanos = Nanos::from_millis(10);

    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }

    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }

    /// Converts seconds, rounded to the nearest nanosecond; negative durations become zero.
    pub fn from_secs_f64(s: f64) -> Nanos {
        assert!(!s.is_nan(), "a length of time is a number");
        Nanos((s * 1e9).round().max(0.0) as u64)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    #[inline]
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// Returns the exact duration in the largest unit that divides it: `100ms`, `5s`, `1500us`.
    /// Parsing the text gives the same duration.
    pub fn written(self) -> String {
        let (number, unit) = self.exact();
        format!("{number}{unit}")
    }

    /// Returns the exact duration for display: `100 ms`, `5 s`.
    pub fn in_words(self) -> String {
        let (number, unit) = self.exact();
        format!("{number} {unit}")
    }

    fn exact(self) -> (u64, &'static str) {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let (scale, unit) =
            units.into_iter().find(|(scale, _)| self.0.is_multiple_of(*scale)).unwrap_or((1, "ns"));
        (self.0 / scale, unit)
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(length: Nanos) -> std::time::Duration {
        std::time::Duration::from_nanos(length.0)
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, length: Nanos) -> Instant {
        Instant(self.0.saturating_add(length.0))
    }
}

impl Sub for Instant {
    type Output = Nanos;
    #[inline]
    fn sub(self, earlier: Instant) -> Nanos {
        assert!(earlier <= self, "time ran backwards: {earlier:?} > {self:?}");
        Nanos(self.0 - earlier.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    #[inline]
    fn mul(self, factor: u64) -> Nanos {
        Nanos(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Nanos {
    type Output = Nanos;
    #[inline]
    fn div(self, divisor: u64) -> Nanos {
        Nanos(self.0 / divisor)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(lengths: I) -> Nanos {
        lengths.fold(Nanos::ZERO, Add::add)
    }
}

/// The longest length that a person can mean: a century.
const LONGEST: Nanos = Nanos::from_secs(876_000 * 3600);

/// Parses `10ms`, `1.5s`, `250us`, `40ns`, `5m`, `2h`. The unit is required: a bare number is
/// easily misread as milliseconds.
impl FromStr for Nanos {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Nanos, ParseError> {
        let wrong = || ParseError::new(text, "length of time", "10ms, 1.5s or 2m");
        let (number, unit) = split_unit(text).ok_or_else(wrong)?;
        let scale = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            _ => return Err(wrong()),
        };
        let nanos = (number * scale).round();
        match nanos <= LONGEST.0 as f64 {
            true => Ok(Nanos(nanos as u64)),
            false => Err(ParseError::new(text, "length of time up to 876000h", "10ms, 1.5s or 2m")),
        }
    }
}

/// Prints three significant digits in a suitable unit: `0`, `950 ns`, `1.23 µs`, `45.6 ms`, `12.0
/// s`. From two minutes on, minutes and seconds: `2 min 30 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            0 => "0".to_owned(),
            1..1_000 => format!("{} ns", self.0),
            1_000..999_500 => format!("{} µs", three_digits(self.0 as f64 / 1e3)),
            999_500..999_500_000 => format!("{} ms", three_digits(self.0 as f64 / 1e6)),
            999_500_000..120_000_000_000 => format!("{} s", three_digits(self.0 as f64 / 1e9)),
            _ => {
                let seconds = (self.as_secs_f64()).round() as u64;
                match seconds {
                    0..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
                    _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
                }
            }
        };
        f.pad(&text)
    }
}
