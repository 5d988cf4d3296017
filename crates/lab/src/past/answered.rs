//! The answer of a run that was read. Its journal says what was measured, and with the plan what follows from that:
//! `answer.json` is only a copy for others, and says alone why a run ended before its journal decided.

use results::answer::unlike::Unlike;
use results::answer::{Search, Verdict};
use results::manifest::{Manifest, VERSION};
use results::{Answer, Entry, journal};

use super::provenance;
use crate::answer;
use crate::course::Ending;
use crate::plan::{CORRECT, Plan, Turns};

#[cfg(test)]
mod tests;

/// The version that draws the same conclusions as this one: its own.
const OWN: &str = concat!("benchwright ", env!("CARGO_PKG_VERSION"));

pub(super) struct Answered {
    pub answer: Answer,
    /// The trials in which the kept answer and the journal differ.
    pub unlike: Unlike,
    /// How the two differ, in words.
    pub departures: Vec<String>,
}

/// Returns the answer of a journal. `kept` is the one that was written when the run ended; if it says otherwise, there
/// is no trustworthy answer.
pub(super) fn of(
    plan: &Plan,
    manifest: &Manifest,
    journal: &[Entry],
    kept: Option<&Answer>,
) -> Answered {
    let resumed_after = provenance::resumed_after(manifest);
    let mut turns = Turns::resumed(plan, journal.to_vec(), resumed_after);
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
    let is_own = manifest.version == VERSION && manifest.tool == OWN;
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
            true => "answer.json has other figures than follow from journal.jsonl".to_owned(),
            false => format!(
                "answer.json says \"{}\", and from journal.jsonl follows \"{}\"",
                said(kept),
                said(&answer)
            ),
        });
    }
    Ok(Answer { resume: kept.resume.clone(), report: kept.report.clone(), ..answer })
}

/// Returns what an answer concludes, as it is written: a number that no file can hold is the same in both. Words are
/// left out, as they are not compared.
fn conclusions(answer: &Answer) -> serde_json::Value {
    let without_words =
        |search: &Search| Search { stopped_by: String::new(), limited_by: None, ..search.clone() };
    let searches: Vec<Search> = answer.searches.iter().map(without_words).collect();
    let Answer { verdict, maximum_throughput, capacity, levels, .. } = answer;
    serde_json::json!([verdict, maximum_throughput, capacity, levels, searches])
}
