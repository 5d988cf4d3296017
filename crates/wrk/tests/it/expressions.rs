//! Expressions that match wrk's output: each line by exactly one of them, column for column.

use std::collections::BTreeMap;

use regex::Regex;

/// The kinds of lines with their patterns. A group's name begins with the kind of its column.
const LINES: [(&str, &str); 12] = [
    ("run", r"Running \d+[sm] test @ [a-z]+://\S+"),
    ("threads", r"  \d+ threads and \d+ connections"),
    ("head", r"  Thread Stats   Avg      Stdev     Max   \+/- Stdev"),
    (
        "latency",
        r"    Latency   (?<time>.{8})(?<time_deviation>.{10})(?<time_max>.{9})(?<share>.{8})%",
    ),
    (
        "rates",
        r"    Req/Sec   (?<count>.{8})(?<count_deviation>.{10})(?<count_max>.{9})(?<share>.{8})%",
    ),
    ("distribution", r"  Latency Distribution"),
    ("percentile", r"     (?:50|75|90|99)%(?<time>.{10})"),
    ("total", r"  \d+ requests in \d+\.\d\d(?:us|ms|s|m), \d+\.\d\d[KMGT]?B read"),
    ("errors", r"  Socket errors: connect \d+, read \d+, write \d+, timeout \d+"),
    ("statuses", r"  Non-2xx or 3xx responses: \d+"),
    ("requests/s", r"Requests/sec: (?<rate>.{9,})"),
    ("bytes/s", r"Transfer/sec: (?<size>.{10})B"),
];

/// The contents of the columns: one blank follows a unit of one letter, and two follow no unit, so
/// that numbers end below each other.
const COLUMNS: [(&str, &str); 5] = [
    ("time", r" *\d+\.\d\d(?:us|ms|s |m )"),
    ("count", r" *\d+\.\d\d(?:[kMGT] |  )"),
    ("rate", r" *\d+\.\d\d"),
    ("size", r" *\d+\.\d\d[KMGT]?"),
    // wrk prints this for empty statistics; we never do.
    ("share", r" *(?:\d+\.\d\d|-nan)"),
];

/// The lines of each kind.
pub(crate) type Lines = BTreeMap<&'static str, Vec<String>>;

/// Reads all lines; an error names the first one that not exactly one expression matches.
pub(crate) fn read(text: &str) -> Result<Lines, String> {
    let expressions = LINES.map(|(kind, pattern)| (kind, whole(pattern)));
    let columns = COLUMNS.map(|(what, pattern)| (what, whole(pattern)));
    let mut lines = Lines::new();
    for line in text.lines() {
        let reads = |(_, expression): &&(&str, Regex)| reads(expression, &columns, line);
        let kinds: Vec<&str> = expressions.iter().filter(reads).map(|&(kind, _)| kind).collect();
        match kinds[..] {
            [kind] => lines.entry(kind).or_default().push(line.to_owned()),
            _ => return Err(format!("{line:?} is read by {kinds:?}")),
        }
    }
    Ok(lines)
}

/// The whole numbers of a line, in order.
pub(crate) fn numbers(line: &str) -> Vec<u64> {
    line.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn whole(pattern: &str) -> Regex {
    Regex::new(&format!("^(?:{pattern})$")).unwrap()
}

fn reads(expression: &Regex, columns: &[(&str, Regex)], line: &str) -> bool {
    let Some(captures) = expression.captures(line) else { return false };
    expression.capture_names().flatten().all(|name| {
        let column = columns.iter().find(|(what, _)| name.starts_with(what));
        column.is_some_and(|(_, column)| column.is_match(&captures[name]))
    })
}
