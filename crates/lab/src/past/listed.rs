//! The runs whose results are in one folder: what each asked and found, without its trials.
//!
//! The folder may hold results of others. Nothing in one of them keeps the others from being listed.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use results::answer::{Answer, Verdict, validity_in_words};
use results::manifest::{Manifest, State};
use results::{Directory, shell};
use serde::Serialize;

use super::Past;
use crate::host::dated;

#[cfg(test)]
mod tests;

pub const SCHEMA: &str = "benchwright.list/1";

/// The entries of a folder that are looked at, and the runs that are read: the latest ones.
const MOST_ENTRIES: usize = 100_000;
const MOST_RUNS: usize = 500;
/// The longest answer that is read for a list, and the bytes of all of them together.
const MOST_OF_ANSWER: u64 = 64 << 20;
const MOST_OF_ALL: u64 = 512 << 20;
/// The bytes of the files by which the answers are checked, likewise together.
const MOST_OF_EVIDENCE: u64 = 2 << 30;

/// The runs of a folder, the latest first.
#[derive(Debug, Serialize)]
pub struct Listing {
    pub schema: &'static str,
    pub folder: String,
    pub runs: Vec<Run>,
    /// Folders that look like results, and cannot be read.
    pub skipped: Vec<Skipped>,
    /// The number of earlier runs that were not read.
    pub not_read: usize,
}

/// One run.
#[derive(Debug, Serialize)]
pub struct Run {
    pub directory: String,
    pub experiment: String,
    /// `2026-11-28 03:35`, in universal time; absent on virtual time.
    pub started: Option<String>,
    pub started_unix_s: Option<u64>,
    /// The question in words: the spec's, or else its SLO.
    pub question: Option<String>,
    /// Open if the run has not ended: it is running, or was killed.
    pub verdict: Verdict,
    /// The answer in a sentence; absent if the run has not ended.
    pub answer: Option<String>,
    /// The trials that are valid, in words; absent likewise.
    pub validity: Option<String>,
    /// The command with which it goes on, if it can.
    pub go_on: Option<String>,
    /// Why there is no trustworthy answer any more: files that cannot be read, and what the answer says against the
    /// journal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Skipped {
    pub directory: String,
    pub why: String,
    /// True if a run was here: nobody knows what it says.
    #[serde(skip)]
    pub is_damaged: bool,
}

impl Listing {
    /// Lists the runs in a folder, or the one in a results directory itself.
    pub fn of(folder: &Path) -> io::Result<Listing> {
        let mut found = Vec::new();
        let mut skipped = Vec::new();
        if has_manifest(folder) {
            found.push((None, folder.to_owned()));
        } else {
            for entry in fs::read_dir(folder)?.take(MOST_ENTRIES) {
                let entry = entry?;
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && has_manifest(&path) => {
                        found.push((changed(&path), path));
                    }
                    Ok(kind) if kind.is_symlink() && has_manifest(&path) => {
                        let why = "it is a link; list the folder that it leads to";
                        skipped.push(self::skipped(&path, why, false));
                    }
                    _ => {}
                }
            }
        }
        // Two of the same time are in the order of their names.
        found.sort_by(|(a, name), (b, other)| b.cmp(a).then_with(|| name.cmp(other)));
        let not_read = found.len().saturating_sub(MOST_RUNS);
        let mut runs = Vec::new();
        let mut left = Left { answers: MOST_OF_ALL, evidence: MOST_OF_EVIDENCE };
        for (_, path) in found.into_iter().take(MOST_RUNS) {
            match run(&path, &mut left) {
                Ok(run) => runs.push(run),
                // Other programs have a manifest.json, too.
                Err(why) => skipped.push(self::skipped(&path, &why, has(&path, "journal.jsonl"))),
            }
        }
        // Files that were copied have another order than their runs.
        runs.sort_by_key(|run| std::cmp::Reverse(run.started_unix_s));
        skipped.sort_by(|a, b| a.directory.cmp(&b.directory));
        Ok(Listing {
            schema: SCHEMA,
            folder: folder.display().to_string(),
            runs,
            skipped,
            not_read,
        })
    }
}

/// Returns true if results are here, or what looks like them.
fn has_manifest(path: &Path) -> bool {
    has(path, "manifest.json")
}

fn has(path: &Path, name: &str) -> bool {
    fs::symlink_metadata(path.join(name)).is_ok()
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path.join("manifest.json")).ok()?.modified().ok()
}

fn skipped(path: &Path, why: &str, is_damaged: bool) -> Skipped {
    Skipped { directory: path.display().to_string(), why: why.to_owned(), is_damaged }
}

/// The bytes that may still be read.
struct Left {
    answers: u64,
    evidence: u64,
}

/// Reads a run, and takes the bytes of its files off.
fn run(path: &Path, left: &mut Left) -> Result<Run, String> {
    let in_words = |error: results::directory::Error| error.problem().to_owned();
    let directory = Directory::open(path).map_err(in_words)?;
    let manifest = directory.manifest().map_err(in_words)?;
    let length = fs::symlink_metadata(directory.inside().join("answer.json"));
    let length = length.map_or(0, |file| file.len());
    if MOST_OF_ANSWER < length {
        return Err(format!("answer.json is longer than {} MiB", MOST_OF_ANSWER >> 20));
    }
    left.answers =
        left.answers.checked_sub(length).ok_or("the answers before it are too long together")?;
    let kept = directory.answer().map_err(in_words)?;
    let shown = path.display().to_string();
    let size = directory.size();
    let past = match left.evidence.checked_sub(size) {
        Some(rest) => {
            left.evidence = rest;
            Past::read(path).map_err(|error| error.to_string())
        }
        None => Err("its files and those of the runs before it are too long together".to_owned()),
    };
    Ok(match past {
        Ok(past) => {
            let unread = if past.lacks_evidence() { past.unread() } else { Vec::new() };
            Run { unread, ..of(shown, manifest, kept.map(|_| past.answer)) }
        }
        // What its answer says may be anything.
        Err(why) => Run {
            verdict: kept.as_ref().map_or(Verdict::Open, |_| Verdict::NoAnswer),
            answer: None,
            validity: None,
            unread: vec![format!("it cannot be checked: {why}")],
            ..of(shown, manifest, kept)
        },
    })
}

fn of(directory: String, manifest: Manifest, answer: Option<Answer>) -> Run {
    let Manifest { experiment, about, slo, started_unix_s, state, .. } = manifest;
    let slo = (!slo.is_empty()).then(|| results::slo::in_words(&slo));
    let resume = || shell::resume(&directory, &[]);
    let interrupted = |verdict: Verdict| (verdict == Verdict::Interrupted).then(resume);
    let (verdict, go_on) = match (&answer, state) {
        (Some(answer), _) => {
            (answer.verdict, answer.go_on(&directory).or_else(|| interrupted(answer.verdict)))
        }
        (None, State::Open | State::Finished) => (Verdict::Open, Some(resume())),
        (None, State::Interrupted) => (Verdict::Interrupted, Some(resume())),
    };
    Run {
        experiment,
        started: started_unix_s.map(dated),
        started_unix_s,
        question: about.or(slo),
        verdict,
        validity: answer.as_ref().map(|answer| validity_in_words(answer.trials.iter())),
        answer: answer.map(|answer| answer.summary),
        go_on,
        unread: Vec::new(),
        directory,
    }
}
