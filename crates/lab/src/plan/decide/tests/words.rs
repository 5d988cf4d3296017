//! Whatever a journal holds, the search, its answer and the explanation say the same of each load.

use measure::Quantile;
use results::answer::Verdict;
use results::journal::Bounds;
use results::slo::{Judged, Slo};
use results::{Answer, at_load};

use super::*;
use crate::explanation;
use crate::plan::found::searched;

const REQUESTS: u64 = 1_000;

/// A search with two objectives.
fn read(search: &str) -> Resolved {
    queue(&format!(
        "slo: [{{metric: p99, max: 20ms}}, {{metric: p95, max: 10ms}}]
search: {search}
repeat: {{trials: 1}}
budget: {{trials: 60, invalid_attempts: 9, disturbance: 1h}}"
    ))
}

/// Returns an attempt whose numbers of requests over the limits are random: around what is allowed near
/// 500/s, fewer below it and more above.
fn tried(attempt: &Attempt, number: u32, random: &mut Random) -> Entry {
    let asked = attempt.asked.expect("the search has no probe").as_per_second();
    let objective = |quantile: f64, max: u64, random: &mut Random| {
        let slo = Slo::ResponseTime {
            quantile: Quantile::new(quantile).unwrap(),
            max: Nanos::from_millis(max),
        };
        let allowed = (1.0 - quantile) * REQUESTS as f64;
        let spread = 0.5 + random.unit();
        let over = (allowed * spread * (asked / 500.0).powi(3)).round() as u64;
        judged(slo, over.min(REQUESTS))
    };
    let slo = vec![objective(0.99, 20, random), objective(0.95, 10, random)];
    let status = match random.unit() {
        lost if lost < 0.1 => Status::Invalid,
        slowed if slowed < 0.2 => Status::Bounded,
        _ => Status::Valid,
    };
    let mut made = entry(attempt, status, asked);
    let observed = made.observed.as_mut().unwrap();
    observed.slo_met = Some(slo.iter().all(|judged| judged.met));
    Entry {
        trial: number,
        why: attempt.why,
        bounds: attempt.bracket.map(|_| Bounds { lower: None, upper: None }),
        slo,
        ..made
    }
}

/// Judges as the load would be.
fn judged(slo: Slo, over: u64) -> Judged {
    let alone = Judged {
        slo,
        over,
        over_at_least: over,
        of: REQUESTS,
        reached_ns: None,
        verdict: slo::Verdict::Undecided,
        met: false,
        text: String::new(),
    };
    let sum = slo::sums(&[std::slice::from_ref(&alone)]).remove(0);
    Judged { verdict: sum.verdict, met: sum.met, text: format!("{slo}: {over} over"), ..alone }
}

/// Runs a search to its end, or until it is interrupted.
fn ran(resolved: &Resolved, seed: u64) -> (Vec<Entry>, Ending) {
    let mut random = Random::new(seed);
    let stop = 1 + (random.unit() * 40.0) as usize;
    let mut journal = Vec::new();
    loop {
        match decide(resolved, &journal) {
            Decision::End(ending) => return (journal, ending),
            Decision::Run(_) if journal.len() == stop => return (journal, Ending::Interrupted),
            Decision::Run(attempt) => {
                journal.push(tried(&attempt, journal.len() as u32 + 1, &mut random));
            }
        }
    }
}

/// `(1, 2)` of `1 of 2 trials met it`.
fn counted(text: &str) -> (usize, usize) {
    let (before, after) = text.split_once(" of ").unwrap();
    let met = before.rsplit(' ').next().unwrap().parse().unwrap();
    (met, after.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn a_search_its_answer_and_the_explanation_never_disagree() {
    let specs = [
        "{range: [200/s, 1200/s], precision: 5%}",
        "{range: [200/s, 1200/s], strategy: bisect}",
        "{range: [200/s, 1200/s], strategy: mlr}",
        "{start: 400/s, strategy: adaptive}",
        "{range: [200/s, 1200/s], step: 100/s, result: capacity}",
        "{start: 200/s, step: 20%, stop: [{rule: slo_violated, times: 2}]}",
    ];
    let (mut capacities, mut together) = (0, 0);
    for (spec, seed) in specs.iter().flat_map(|spec| (0..150).map(move |seed| (spec, seed))) {
        let resolved = read(spec);
        let (journal, ending) = ran(&resolved, seed);
        let place = format!("{spec}, seed {seed}, {ending:?}");
        let search = searched(&resolved, &journal, &ending);
        let loads = at_load::by_load(&journal);
        together +=
            loads.iter().flat_map(|at| at.judgements()).filter(|of| 1 < of.trials.len()).count();
        let words = explanation::of_run(&answer(&journal, search.clone()));
        let said = words.iter().find(|one| one.about == "capacity").map(|one| &one.text);
        assert_eq!(said.is_some(), search.capacity.is_some(), "{place}");
        if let Ending::Answered(why) = &ending {
            let is_found = search.capacity.is_some();
            assert_eq!(search.verdict == Verdict::Answered, is_found, "{place}: {why}");
            assert!(is_found || !why.contains("lies between"), "{place}: {why}");
        }
        let Some(capacity) = &search.capacity else { continue };
        capacities += 1;
        let (_, judgements) = said.unwrap().split_once(": ").unwrap();
        let (above, below) = match judgements.split_once("; at ") {
            Some((below, above)) => (Some(above), below),
            None => (None, judgements),
        };
        let met = loads.iter().find(|at| at.is_of(capacity.rate_per_s)).unwrap();
        assert_eq!(met.conclusion(), Some(Conclusion::Met), "{place}");
        assert!(met.attempts.iter().any(|entry| entry.trial == capacity.trial), "{place}");
        let of_trial = at_load::conclusions(&journal)[&capacity.trial];
        assert_eq!(of_trial, Conclusion::Met, "{place}: the trial that stands for it");
        let (yes, of) = counted(below);
        assert!(of < 2 * yes, "{place}: {below}");
        assert_eq!(capacity.missed_at_per_s.is_some(), above.is_some(), "{place}");
        let Some(rate) = capacity.missed_at_per_s else { continue };
        let missed = loads.iter().find(|at| at.is_of(rate)).unwrap();
        assert_eq!(missed.conclusion(), Some(Conclusion::Missed), "{place}");
        let (yes, of) = counted(above.unwrap());
        assert!(2 * yes <= of, "{place}: {above:?}");
    }
    assert!(500 < capacities && 500 < together, "{capacities} {together}");
}

fn answer(journal: &[Entry], search: results::answer::Search) -> Answer {
    Answer {
        schema: String::new(),
        experiment: "queue".to_owned(),
        verdict: search.verdict,
        summary: String::new(),
        maximum_throughput: None,
        capacity: None,
        limited_by: None,
        stopped_by: search.stopped_by.clone(),
        resume: None,
        levels: Vec::new(),
        searches: vec![search],
        reproducibility: Vec::new(),
        between_levels: Vec::new(),
        comparison: None,
        scaling: Vec::new(),
        trials: journal.to_vec(),
        report: None,
    }
}
