//! An experiment that ran, read from its directory.

use std::collections::BTreeSet;
use std::path::Path;

use results::answer::Search;
use results::answer::unlike::Unlike;
use results::journal;
use results::manifest::Manifest;
use results::{Answer, Directory, Doctor, Entry, Environment};

use crate::Error;
use crate::plan::Plan;
use crate::spec::Resolved;

mod answered;
mod compared;
mod environment;
pub mod listed;
pub(crate) mod provenance;

/// Everything that a directory says of a run, besides the files of its trials.
pub struct Past {
    /// The directory, as it was named.
    pub name: String,
    pub directory: Directory,
    pub manifest: Manifest,
    pub resolved: Resolved,
    pub environment: Environment,
    /// The checks of the machines before the run, if there were any.
    pub doctor: Option<Doctor>,
    pub(crate) plan: Plan,
    pub journal: Vec<Entry>,
    /// The answer that was kept; `None` of a run that has not ended.
    kept: Option<Answer>,
    /// The answer that follows from the journal.
    answer: Answer,
    /// The trials in which the two differ, and how, in words.
    unlike: Unlike,
    departures: Vec<String>,
}

impl Past {
    /// Reads a run, whether or not it has ended.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged, or if the spec is of another version of the tool.
    pub fn read(path: &Path) -> Result<Past, Error> {
        let question = |error: results::directory::Error| Error::Question(error.into());
        let past = Past::without_machines(path)?;
        let environment = past.directory.environment().map_err(question)?;
        let doctor = past.directory.doctor().map_err(question)?;
        Ok(Past { environment, doctor, ..past })
    }

    /// Reads a run without the descriptions of its machines, from which nothing is concluded.
    ///
    /// # Errors
    ///
    /// As [`Past::read`].
    pub fn without_machines(path: &Path) -> Result<Past, Error> {
        let question = |error: results::directory::Error| Error::Question(error.into());
        let directory = Directory::open(path).map_err(question)?;
        let manifest = directory.manifest().map_err(question)?;
        let resolved = provenance::resolved_of(&directory, &manifest, &[])?;
        let plan = Plan::of(&resolved).map_err(|error| Error::Question(error.into()))?;
        let journal = directory.journal().map_err(question)?;
        plan.check(&journal).map_err(Error::Question)?;
        let kept = directory.answer().map_err(question)?;
        if let Some(kept) = &kept {
            check(kept, &plan).map_err(|why| {
                Error::Question(anyhow::anyhow!(
                    "{}: answer.json: {why}",
                    results::regular::shown(path)
                ))
            })?;
        }
        let departs = provenance::departs(&resolved, &manifest, &journal);
        let answered = answered::of(&plan, &manifest, &journal, kept.as_ref(), departs);
        let answered::Answered { answer, unlike, departures } = answered;
        Ok(Past {
            name: path.display().to_string(),
            directory,
            environment: Environment::default(),
            doctor: None,
            kept,
            manifest,
            resolved,
            plan,
            journal,
            answer,
            unlike,
            departures,
        })
    }

    /// Returns the answer that follows from the journal, or what is known so far. If the one that was kept says
    /// otherwise, or counts a trial of which a file cannot be read any more, there is none, until `resume` has
    /// repeated what is missing.
    pub fn answer(&self) -> Answer {
        self.answer.clone()
    }

    /// Returns the files that cannot be read any more, in words, by trial, and how answer and journal differ.
    pub fn unread(&self) -> Vec<String> {
        [journal::unread(&self.journal), self.departures.clone()].concat()
    }

    /// Returns true if the answer says something else than the journal.
    pub fn departs(&self) -> bool {
        !self.departures.is_empty()
    }

    /// Returns true if there is no trustworthy answer any more: it says something else than the journal, or it, or what
    /// is known so far, lacks a trial of which a file cannot be read.
    pub fn lacks_evidence(&self) -> bool {
        self.departs()
            || match &self.kept {
                Some(kept) => kept.counts_unread(&self.journal),
                None => self.journal.iter().any(|entry| !entry.unread.is_empty()),
            }
    }

    /// Returns true if this is so because of one trial.
    pub fn lacks_evidence_of(&self, trial: u32) -> bool {
        let is_unread = |entry: &Entry| entry.trial == trial && !entry.unread.is_empty();
        self.unlike.has(trial) || (self.lacks_evidence() && self.journal.iter().any(is_unread))
    }

    pub(crate) fn searches(&self) -> Vec<Search> {
        self.answer().searches
    }
}

/// Refuses an answer with other searches than those of the plan: what is concluded from several takes more time
/// than there are.
fn check(answer: &Answer, plan: &Plan) -> Result<(), String> {
    let strands: BTreeSet<u32> = answer.searches.iter().map(|search| search.strand).collect();
    let is_planned = |strand: &u32| (1..=plan.strands.len()).contains(&(*strand as usize));
    match strands.len() == answer.searches.len() && strands.iter().all(is_planned) {
        true => Ok(()),
        false => Err(format!(
            "it has {} searches, which are not the {} of the spec",
            answer.searches.len(),
            plan.strands.len()
        )),
    }
}
