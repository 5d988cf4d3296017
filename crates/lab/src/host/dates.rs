//! Dates, and folder names with a date.

use std::path::PathBuf;

use super::unix_seconds;

#[cfg(test)]
mod tests;

/// Returns `results/<name>-2026-11-21-0942`, in universal time; with a number added if it exists.
pub(crate) fn default_folder(name: &str) -> PathBuf {
    let base = format!("results/{name}-{}", date(unix_seconds()));
    let numbered = (2..).map(|n| format!("{base}-{n}"));
    std::iter::once(base.clone())
        .chain(numbered)
        .map(PathBuf::from)
        .find(|path| !path.exists())
        .expect("some number is free")
}

/// Returns a date and time of day for people, in universal time: `2026-11-21 09:42`
pub fn dated(unix_seconds: u64) -> String {
    let date = date(unix_seconds);
    match date.rsplit_once('-') {
        Some((day, time)) if time.len() == 4 => format!("{day} {}:{}", &time[..2], &time[2..]),
        _ => date,
    }
}

/// Formats a civil date and time of day (Hinnant's algorithm, proleptic Gregorian).
fn date(unix_seconds: u64) -> String {
    let days = (unix_seconds / 86_400) as i64 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let minutes = unix_seconds % 86_400 / 60;
    format!("{year}-{month:02}-{day:02}-{:02}{:02}", minutes / 60, minutes % 60)
}
