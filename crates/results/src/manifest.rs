//! The identity of a results directory: `manifest.json`, written first and closed last.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::slo::Slo;

/// The version of the whole layout. A reader refuses a newer one, so that it never misreads it.
///
/// Version 2 (2026-11): entries of the journal keep the verdicts on each objective, the wait before
/// an attempt, the sustained rate, and the requested rate both in total and of each target (in
/// version 1 `asked_per_s` was that of each target); the manifest keeps the question and the
/// objectives.
///
/// Version 3 (2026-11): unfinished requests are counted beside the failures of a trial, and not among
/// them.
pub const VERSION: u32 = 3;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Manifest {
    /// `benchwright.results`.
    pub schema: String,
    pub version: u32,
    pub tool: String,
    pub experiment: String,
    /// The question in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The objectives of the spec, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<Slo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// `--set path=value`, as given.
    pub set: Vec<String>,
    pub backend: String,
    pub seed: u64,
    /// The key of the configuration: see `journal::Entry::key`.
    pub key: String,
    /// The spec's own folder, against which its relative paths are read.
    pub spec_folder: String,
    /// Seconds since 1970. Absent on the simulated backend, which has no date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_unix_s: Option<u64>,
    pub state: State,
    /// The last trial before each time that the run went on although it had ended without an answer: the
    /// allowances for trials that gave no answer count from there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_after: Vec<u32>,
    /// Digests of the programs that were measured and that measured, by name.
    pub binaries: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The run has begun and not ended: it is running, or was killed.
    Open,
    Finished,
    Interrupted,
}
