//! Dates of the Gregorian calendar in universal time, from seconds since 1970 and back (Hinnant's algorithms).

use std::fmt;

#[cfg(test)]
mod tests;

/// A moment to the second; as text to the minute: `2026-11-21 09:42`
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Civil {
    pub year: i64,
    /// From 1, as the day.
    pub month: i64,
    pub day: i64,
    pub hour: u64,
    pub minute: u64,
    pub second: u64,
}

impl Civil {
    pub fn of(unix_s: u64) -> Civil {
        let days = (unix_s / 86_400) as i64 + 719_468;
        let era = days / 146_097;
        let of_era = days % 146_097;
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // The year begins in March, so that the leap day is its last.
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        Civil {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted + 2) / 5 + 1,
            hour: unix_s % 86_400 / 3_600,
            minute: unix_s % 3_600 / 60,
            second: unix_s % 60,
        }
    }
}

impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, .. } = self;
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }
}

/// Returns the days from 1970-01-01 to a date.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}
