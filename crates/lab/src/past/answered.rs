//! The answer of a run that was read. Its journal says what was measured, and with the plan what follows from that:
//! `answer.json` is only a copy for others, and says alone why a run ended before its journal decided.

use results::answer::unlike::Unlike;
use results::answer::{Validity, Verdict};
use results::manifest::Manifest;
use results::{Answer, Entry, journal};

use super::provenance::{self, is_own};
use crate::answer;
use crate::course::Ending;
use crate::plan::{CORRECT, Plan, Turns};

#[cfg(test)]
mod tests;

pub(super) struct Answered {
    pub answer: Answer,
    /// The trials in which the kept answer and the journal differ.
    pub unlike: Unlike,
    /// How the two differ, in words.
    pub departures: Vec<String>,
}

/// Returns the answer of a journal. `kept` is the one that was written when the run ended; if it says otherwise, there
/// is no trustworthy answer. `departs` is why nothing follows from the plan, if it is not the one of these trials.
pub(super) fn of(
    plan: &Plan,
    manifest: &Manifest,
    journal: &[Entry],
    kept: Option<&Answer>,
    departs: Option<String>,
) -> Answered {
    let resumed_after = provenance::resumed_after(manifest);
    let mut turns = Turns::resumed(plan, journal.to_vec(), resumed_after);
    if let Some(why) = departs {
        let unlike = kept.map(|kept| kept.unlike(journal)).unwrap_or_default();
        let departures = [vec![why], unlike.in_words()].concat();
        let why = [journal::unread(journal), departures.clone()].concat().join("; ");
        let answer = answer::of(plan, &turns, &Ending::Open).without_conclusions(why, journal);
        return Answered { answer, unlike, departures };
    }
    let Some(kept) = kept else {
        let answer = answer::of(plan, &turns, &Ending::Open);
        return Answered { answer, unlike: Unlike::default(), departures: Vec::new() };
    };
    let unlike = kept.unlike(journal);
    let mut departures = unlike.in_words();
    if departures.is_empty() && !kept.counts_unread(journal) {
        match again(plan, manifest, &mut turns, kept) {
            Ok(answer) => return Answered { answer, unlike, departures },
            Err(why) => departures.push(why),
        }
    }
    let why = [journal::unread(journal), departures.clone()].concat().join("; ");
    Answered { answer: answer::of(plan, &turns, &Ending::NoAnswer(why)), unlike, departures }
}

/// Returns the answer again, or how the kept one differs from it. Earlier versions of the tool concluded otherwise:
/// of their results only the trials are compared.
fn again(
    plan: &Plan,
    manifest: &Manifest,
    turns: &mut Turns<'_>,
    kept: &Answer,
) -> Result<Answer, String> {
    let is_own = is_own(manifest);
    let goes_on = turns.next_turn().is_some();
    let ending = match kept.verdict {
        Verdict::Interrupted => Ending::Interrupted,
        Verdict::Open => Ending::Open,
        // Something outside of the journal ended it.
        Verdict::NoAnswer if goes_on => Ending::NoAnswer(kept.stopped_by.clone()),
        Verdict::Answered | Verdict::No if is_own && goes_on => {
            return Err("answer.json has an answer, and journal.jsonl lacks trials for it".into());
        }
        _ if is_own => turns.ending(),
        Verdict::NoAnswer => Ending::NoAnswer(kept.stopped_by.clone()),
        Verdict::No if kept.stopped_by.ends_with(CORRECT) => {
            Ending::Failing(kept.stopped_by.clone())
        }
        Verdict::Answered | Verdict::No => Ending::Answered(kept.stopped_by.clone()),
    };
    let answer = answer::of(plan, turns, &ending);
    if is_own && conclusions(kept) != conclusions(&answer) {
        let said = |answer: &Answer| answer.summary.lines().next().unwrap_or_default().to_owned();
        return Err(match said(kept) == said(&answer) {
            true => "answer.json says other things than follow from journal.jsonl".to_owned(),
            false => format!(
                "answer.json says \"{}\", and from journal.jsonl follows \"{}\"",
                said(kept),
                said(&answer)
            ),
        });
    }
    Ok(Answer { resume: kept.resume.clone(), report: kept.report.clone(), ..answer })
}

/// Returns what an answer concludes, as it is written: a number that no file can hold is the same in both. The trials
/// are compared one by one, with which their numbers are, and how it goes on and where its page is does not follow from
/// them.
fn conclusions(answer: &Answer) -> serde_json::Value {
    let validity = Validity::default();
    let answer =
        Answer { validity, trials: Vec::new(), resume: None, report: None, ..answer.clone() };
    serde_json::to_value(answer).expect("an answer is plain data")
}
