//! The text of hey.

use std::collections::BTreeMap;

use measure::Nanos;
use results::printed::{Percentile, Printed, Since};

use super::{Figures, ascending, closed_loop, no_times, percentile};

pub(super) fn read(text: &str) -> Result<Figures, String> {
    let length = seconds(text, "Total:").ok_or("it printed no `Total: … secs`")?;
    let statuses: BTreeMap<String, u64> = counts(text, "Status code distribution:").collect();
    let errors: u64 =
        counts(text, "Error distribution:").filter_map(|(n, _)| n.parse::<u64>().ok()).sum();
    let answered: u64 = statuses.values().sum();
    if answered + errors == 0 {
        return Err("it printed no answer and no error".to_owned());
    }
    let is_refused = |status: &str| status.parse::<u32>().is_ok_and(|status| 400 <= status);
    let refused = statuses.iter().filter(|(status, _)| is_refused(status)).map(|(_, n)| n).sum();
    let times = Printed {
        mean_ns: seconds(text, "Average:").map(|time| time.0),
        max_ns: seconds(text, "Slowest:").map(|time| time.0),
        percentiles: percentiles(text),
        ..no_times(Since::Sent, answered)
    };
    Ok(Figures {
        answered,
        refused,
        // It gives the reasons in words of its own, which are not our outcomes.
        unanswered: BTreeMap::from([("error".to_owned(), errors)]),
        statuses,
        length: Some(length),
        per_s: None,
        connections: None,
        times: Some(times),
        findings: Vec::new(),
        warnings: vec![closed_loop("hey")],
    })
}

/// Returns the time of a line such as `Slowest: 0.1857 secs`.
fn seconds(text: &str, label: &str) -> Option<Nanos> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(label))?;
    let number: f64 = line.trim().strip_suffix("secs")?.trim().parse().ok()?;
    number.is_finite().then(|| Nanos::from_secs_f64(number))
}

/// Returns the lines of a table with their heads: `[200] 6442 responses`; of errors, the head is
/// the count.
fn counts<'a>(text: &'a str, title: &'a str) -> impl Iterator<Item = (String, u64)> + 'a {
    let lines = text.lines().skip_while(move |line| line.trim() != title).skip(1);
    lines.map_while(|line| {
        let (head, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
        let first = rest.split_ascii_whitespace().next().unwrap_or_default();
        Some((head.to_owned(), first.parse().unwrap_or(0)))
    })
}

/// Returns the lines `99% in 0.1077 secs`; some versions print the sign twice.
fn percentiles(text: &str) -> Vec<Percentile> {
    let line_of = |line: &str| {
        let (percent, time) = line.trim().split_once(" in ")?;
        let percent: f64 = percent.trim_end_matches('%').parse().ok()?;
        let seconds: f64 = time.strip_suffix("secs")?.trim().parse().ok()?;
        seconds.is_finite().then_some(())?;
        Some(percentile(percent, Nanos::from_secs_f64(seconds)))
    };
    ascending(text.lines().filter_map(line_of).collect())
}
