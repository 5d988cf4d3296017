//! The events that our applications write beside their statistics, such as the readiness of the
//! replicas behind a balancer: a line of JSON for each change of a state, which lasts until the next
//! line about the same thing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};

use lab::backend::Happened;
use measure::Instant;
use results::regular;
use serde::Deserialize;

#[cfg(test)]
mod tests;

/// The most that is read of a file: ten thousand lines and more.
const MOST_BYTES: u64 = 2 << 20;

#[derive(Deserialize)]
struct Line {
    /// On CLOCK_MONOTONIC.
    at_ns: u64,
    /// `replica 127.0.0.1:8081`
    of: String,
    /// Absent in the usual state.
    state: Option<String>,
}

/// Returns the file of the events beside that of the statistics.
pub(super) fn beside(statistics: &Path) -> PathBuf {
    let mut name = OsString::from(statistics);
    name.push(".events");
    PathBuf::from(name)
}

/// Returns the unusual states that a component wrote down. `names` are those of the replicas by their
/// address. An application that writes none has no file.
pub(super) fn written(statistics: &Path, names: &BTreeMap<String, String>) -> Vec<Happened> {
    let mut text = String::new();
    // No file, or one that is not a text, is one without events.
    let _ = regular::open(&beside(statistics), OpenOptions::new().read(true))
        .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    states(&text, names)
}

/// Returns the unusual states; one that did not end lasts for ever. A line that is not complete yet is
/// left out.
fn states(text: &str, names: &BTreeMap<String, String>) -> Vec<Happened> {
    let mut open: BTreeMap<String, (Instant, String)> = BTreeMap::new();
    let mut states = Vec::new();
    let mut close = |of: &str, from: Instant, state: String, to: Instant| {
        let address = of.rsplit(' ').next().unwrap_or(of);
        let name = names.get(address).map_or(of, String::as_str);
        states.push(Happened { from, to, what: format!("{name} {state}") });
    };
    for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        let Line { at_ns, of, state } = line;
        if let Some((from, before)) = open.remove(&of) {
            close(&of, from, before, Instant(at_ns));
        }
        if let Some(state) = state {
            open.insert(of, (Instant(at_ns), state));
        }
    }
    for (of, (from, state)) in open {
        close(&of, from, state, Instant(u64::MAX));
    }
    states
}
