//! An experiment that ran, read from its directory.

use std::collections::BTreeSet;
use std::path::Path;

use results::answer::Search;
use results::journal;
use results::manifest::Manifest;
use results::{Answer, Directory, Doctor, Entry, Environment};

use crate::Error;
use crate::answer;
use crate::course::Ending;
use crate::plan::{Plan, Turns};
use crate::spec::Resolved;

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
}

impl Past {
    /// Reads a run, whether or not it has ended.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged, or if the spec is of another version of the tool.
    pub fn read(path: &Path) -> Result<Past, Error> {
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
                Error::Question(anyhow::anyhow!("{}: answer.json: {why}", path.display()))
            })?;
        }
        Ok(Past {
            name: path.display().to_string(),
            directory: directory.clone(),
            environment: directory.environment().map_err(question)?,
            doctor: directory.doctor().map_err(question)?,
            kept,
            manifest,
            resolved,
            plan,
            journal,
        })
    }

    /// Returns the answer: as it was kept, and otherwise that of the trials so far. What several trials or
    /// searches say together always follows from them, since earlier versions of the tool concluded otherwise.
    /// Nor does it count a trial of which a file cannot be read any more: then there is none, until
    /// `resume` has repeated the trial.
    pub fn answer(&self) -> Answer {
        let anew = |ending| {
            let resumed_after = provenance::resumed_after(&self.manifest);
            let turns = Turns::resumed(&self.plan, self.journal.clone(), resumed_after);
            answer::of(&self.plan, &turns, &ending)
        };
        match &self.kept {
            Some(kept) if kept.counts_unread(&self.journal) => {
                anew(Ending::NoAnswer(self.unread().join("; ")))
            }
            Some(kept) => {
                let mut answer = answer::concluded_again(&self.plan, &self.journal, kept.clone());
                // The words of today for what cannot be read any more.
                for (kept, entry) in answer.trials.iter_mut().zip(&self.journal) {
                    if kept.trial == entry.trial && !entry.unread.is_empty() {
                        *kept = entry.clone();
                    }
                }
                answer
            }
            None => anew(Ending::Open),
        }
    }

    /// Returns true if there is an answer: the run is not running, and was not killed.
    pub fn has_ended(&self) -> bool {
        self.kept.is_some()
    }

    /// Returns the files that cannot be read any more, in words, by trial.
    pub fn unread(&self) -> Vec<String> {
        journal::unread(&self.journal)
    }

    /// Returns true if the answer, or what is known so far, lacks a trial of which a file cannot be read.
    pub fn lacks_evidence(&self) -> bool {
        match &self.kept {
            Some(kept) => kept.counts_unread(&self.journal),
            None => self.journal.iter().any(|entry| !entry.unread.is_empty()),
        }
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
