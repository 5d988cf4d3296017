//! Dates of the Gregorian calendar in universal time, from seconds since 1970 and back (Hinnant's algorithms), and
//! points in time as texts have them.

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

/// Returns the seconds since 1970 of `2026-11-24T10:12:00.123456789+01:00`; a zone is required.
pub fn seconds(text: &str) -> Option<f64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let is_at =
        |at: usize, wanted: &[u8]| text.as_bytes().get(at).is_some_and(|c| wanted.contains(c));
    let has_form = [(4, "-"), (7, "-"), (10, "Tt "), (13, ":"), (16, ":")];
    if !text.is_ascii() || !has_form.iter().all(|(at, wanted)| is_at(*at, wanted.as_bytes())) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) && 1900 < year;
    let is_time =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    let rest = &text[19..];
    let digits = rest
        .strip_prefix('.')
        .map_or(0, |rest| 1 + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let (fraction, zone) = rest.split_at(digits);
    let fraction: f64 = if digits < 2 { 0.0 } else { format!("0{fraction}").parse().ok()? };
    let offset = offset(zone)?;
    let days = days(year, month, day);
    let whole = days * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    (is_date && is_time).then_some(whole as f64 + fraction)
}

/// Returns the seconds since 1970 of `10/Oct/2000:13:55:36 -0700`, as the logs of web servers have it.
pub fn of_log(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (date, zone) = text.split_once(' ')?;
    let parts: Vec<&str> = date.split(['/', ':']).collect();
    let [day, month, year, hour, minute, second] = parts[..] else { return None };
    let number = |text: &str, most: i64| {
        text.parse::<i64>().ok().filter(|number| (0..=most).contains(number))
    };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let (day, year) = (number(day, 31)?, number(year, 9_999)?);
    let (hour, minute, second) = (number(hour, 23)?, number(minute, 59)?, number(second, 60)?);
    let (sign, zone) = match (zone.strip_prefix('+'), zone.strip_prefix('-')) {
        (Some(zone), _) => (1, zone),
        (_, Some(zone)) => (-1, zone),
        _ => return None,
    };
    let zone: i64 = zone.parse().ok().filter(|zone| (0..2_400).contains(zone))?;
    let offset = sign * (zone / 100 * 3_600 + zone % 100 * 60);
    let days = days(year, month as i64 + 1, day);
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second - offset)
}

/// Returns the seconds of `Z` or `+01:00`.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first()? {
        b'Z' | b'z' if zone.len() == 1 => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * i64::from(hours * 3_600 + minutes * 60))
}
