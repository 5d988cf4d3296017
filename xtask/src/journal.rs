//! The comparison of a run's journal before and after the runner was killed.

use std::fs;
use std::path::Path;

use serde_json::Value;

#[cfg(test)]
mod tests;

/// Returns the journal of a run, as far as it counts.
pub(crate) fn read(results: &Path) -> Vec<u8> {
    complete(&whole(results)).to_vec()
}

/// Returns the number of trials of a continued run, and what is wrong with them; before, its journal
/// had these lines.
pub(crate) fn continued(results: &Path, before: &[u8]) -> (usize, Vec<String>) {
    let after = whole(results);
    let mut faults = faults(before, &after);
    faults.extend(trials_without_files(&after, results));
    (count(&after), faults)
}

/// Returns what is wrong if a journal lacks what was in it at an earlier moment.
pub(crate) fn changed(earlier: &[u8], later: &[u8], moment: &str) -> Option<String> {
    (!later.starts_with(earlier)).then(|| format!("the journal does not begin as it was {moment}"))
}

/// Empty if there is none yet.
fn whole(results: &Path) -> Vec<u8> {
    fs::read(results.join("journal.jsonl")).unwrap_or_default()
}

/// Returns the journal without an incomplete last line, which a crash while writing leaves: that
/// line does not count.
fn complete(journal: &[u8]) -> &[u8] {
    let end = journal.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    &journal[..end]
}

/// Counts the trials in a journal.
pub(crate) fn count(journal: &[u8]) -> usize {
    journal.iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns the entries that were lost, changed or repeated.
fn faults(before: &[u8], after: &[u8]) -> Vec<String> {
    let mut faults = Vec::from_iter(changed(before, after, "before the run was continued"));
    if complete(after) != after {
        faults.push("the journal's last line is incomplete".to_owned());
    }
    let numbers = numbers(after);
    let expected: Vec<Option<u64>> = (1..).map(Some).take(numbers.len()).collect();
    if numbers != expected {
        faults.push(format!("the journal's trials are numbered {numbers:?}"));
    }
    faults
}

/// Returns the trials whose files are missing.
fn trials_without_files(journal: &[u8], results: &Path) -> Vec<String> {
    let numbers = numbers(journal).into_iter().flatten();
    let folder = |number: u64| results.join("trials").join(number.to_string());
    let without = numbers.filter(|&number| !folder(number).is_dir());
    without.map(|number| format!("the files of trial {number} are missing")).collect()
}

/// Returns the trials' numbers, in the order of the lines; `None` for a line without one.
fn numbers(journal: &[u8]) -> Vec<Option<u64>> {
    let text = String::from_utf8_lossy(journal);
    let number = |line| serde_json::from_str::<Value>(line).ok()?["trial"].as_u64();
    text.lines().map(number).collect()
}
