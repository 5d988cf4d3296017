//! Dates and the nights between them. No clock and no time zone: a night is a number.

use std::ops::Range;

/// A night, numbered by the days from 1970-01-01 to the date on which it begins.
pub type Night = i32;

/// The longest stay: each night is a document, and one request must not fill the store.
pub const LONGEST_STAY: usize = 366;

/// Returns the nights of a stay; empty if it ends on or before the day on which it begins.
///
/// Returns `None` if either date is not in the calendar or not written `YYYY-MM-DD`.
pub fn nights(in_date: &str, out_date: &str) -> Option<Range<Night>> {
    Some(day(in_date)?..day(out_date)?)
}

/// Returns true if a text has the form `YYYY-MM-DD`, even if the day does not exist.
fn has_shape_of_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn day(text: &str) -> Option<Night> {
    if !has_shape_of_date(text) {
        return None;
    }
    let number = |range: Range<usize>| text[range].parse::<i32>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let exists = (1..=12).contains(&month) && (1..=length_of(month, year)).contains(&day);
    exists.then(|| days_since_1970(year, month, day))
}

fn length_of(month: i32, year: i32) -> i32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts in years that begin in March, so that the leap day is the last day of its year.
fn days_since_1970(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests;
