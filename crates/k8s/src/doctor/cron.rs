//! The schedules of CronJobs: whether one is due in a time from now, in UTC.

use measure::Nanos;

use crate::lease;

/// The longest time that is looked at: a week and a day.
const LONGEST_MINUTES: u64 = 8 * 24 * 60;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The times at which a job is due. Each field is a set of numbers, as bits.
struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// True if one of the two fields of days is `*`: then both must fit, otherwise one.
    has_any_day: bool,
}

/// Returns true if a job is due within a time; `None` if its schedule is not understood.
pub(super) fn is_due(schedule: &str, now_unix_s: u64, within: Nanos) -> Option<bool> {
    let schedule = Schedule::read(schedule)?;
    let first = now_unix_s / 60;
    let minutes = (within.0 / Nanos::from_secs(60).0 + 1).min(LONGEST_MINUTES);
    Some((0..=minutes).any(|minute| schedule.fits(first.saturating_add(minute))))
}

impl Schedule {
    fn read(text: &str) -> Option<Schedule> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
        let of_week = field(weekdays, 0, 7, &DAYS)?;
        Some(Schedule {
            minutes: field(minutes, 0, 59, &[])?,
            hours: field(hours, 0, 23, &[])?,
            days: field(days, 1, 31, &[])?,
            months: field(months, 1, 12, &MONTHS)?,
            // Sunday is 0 and 7.
            weekdays: of_week | ((of_week >> 7) & 1),
            has_any_day: is_any(days) || is_any(weekdays),
        })
    }

    /// Returns true if the job is due in a minute since 1970.
    fn fits(&self, minute: u64) -> bool {
        let has = |set: u64, number: u64| number < 64 && (set >> number) & 1 == 1;
        if !has(self.minutes, minute % 60) || !has(self.hours, minute / 60 % 24) {
            return false;
        }
        let Some((month, day)) = date(minute.saturating_mul(60)) else { return false };
        // The first day of 1970 was a Thursday.
        let weekday = (minute / (24 * 60) + 4) % 7;
        let fits = (has(self.days, day), has(self.weekdays, weekday));
        let fits_day = if self.has_any_day { fits.0 && fits.1 } else { fits.0 || fits.1 };
        has(self.months, month) && fits_day
    }
}

/// Returns the month and the day of a time.
fn date(unix_s: u64) -> Option<(u64, u64)> {
    let text = lease::time_of(unix_s);
    let mut date = text.split('T').next()?.split('-').skip(1);
    Some((date.next()?.parse().ok()?, date.next()?.parse().ok()?))
}

fn is_any(field: &str) -> bool {
    field == "*" || field == "?"
}

/// Reads a field: `*`, `*/5`, `1-5`, `1,3,5-7/2`, `mon-fri`.
fn field(text: &str, low: u64, high: u64, names: &[&str]) -> Option<u64> {
    let number = |text: &str| {
        let lower = text.to_lowercase();
        let named = names.iter().position(|name| *name == lower).map(|at| at as u64 + low);
        named.or_else(|| text.parse().ok()).filter(|number| (low..=high).contains(number))
    };
    let mut set = 0u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                (range, Some(step.parse::<usize>().ok().filter(|step| 0 < *step)?))
            }
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if is_any(range) => (low, high),
            Some((from, to)) => (number(from)?, number(to)?),
            // `5/15` means from 5 on.
            None if step.is_some() => (number(range)?, high),
            None => (number(range)?, number(range)?),
        };
        if to < from {
            return None;
        }
        for number in (from..=to).step_by(step.unwrap_or(1)) {
            set |= 1 << number;
        }
    }
    Some(set)
}
