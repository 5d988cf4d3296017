//! Points in time as texts have them.

#[cfg(test)]
mod tests;

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

/// Returns the days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the leap day is its last.
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}
