//! The unusual states of others that a process notices, as a file, so that whoever measures can see
//! them on the time axis: a line of JSON for each change,
//! `{"at_ns":…,"of":"replica 127.0.0.1:8081","state":"not ready: …"}`. `state` lasts until the next
//! line of the same replica; null is the normal one. `at_ns` is of CLOCK_MONOTONIC.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Context;

use super::lock::lock;
use super::statistics;

/// The most lines of a process; the rest is only counted in the metrics.
const MOST_LINES: u32 = 10_000;

/// The file; nothing is written without one.
pub struct Events(Mutex<Option<Open>>);

struct Open {
    file: File,
    lines: u32,
}

impl Events {
    /// Opens the file beside that of the statistics.
    pub fn beside(statistics: Option<&Path>) -> anyhow::Result<Self> {
        let Some(statistics) = statistics else { return Ok(Events(Mutex::new(None))) };
        let mut name = statistics.as_os_str().to_owned();
        name.push(".events");
        let path = PathBuf::from(name);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("writing the events {}", path.display()))?;
        Ok(Events(Mutex::new(Some(Open { file, lines: 0 }))))
    }

    /// Notes the state of a replica from now on; `None` is the normal one.
    pub fn note(&self, address: &str, state: Option<&str>) {
        let mut open = lock(&self.0);
        let Some(open) = open.as_mut().filter(|open| open.lines < MOST_LINES) else { return };
        open.lines += 1;
        let line = serde_json::json!({
            "at_ns": statistics::now(),
            "of": format!("replica {address}"),
            "state": state,
        });
        // A full disk must not end the process.
        let _ = open.file.write_all(format!("{line}\n").as_bytes());
    }
}
