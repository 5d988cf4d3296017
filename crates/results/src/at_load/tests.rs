use measure::Quantile;

use super::*;
use crate::journal::{Status, Why};
use crate::slo::Verdict;

/// A trial of a search for a capacity, of 1,000 requests of which these are over each of two limits.
fn trial(number: u32, load: f64, over: [u64; 2]) -> Entry {
    let objective = |(level, over): (f64, u64)| {
        let quantile = Quantile::new(level).unwrap();
        let slo = Slo::ResponseTime { quantile, max: measure::Nanos::from_millis(20) };
        let (over_at_least, of, verdict) = (over, 1_000, Verdict::Undecided);
        let met = over as f64 <= (1.0 - level) * 1_000.0 + 1e-9;
        let text = format!("{slo}: {over}");
        Judged { slo, over, over_at_least, of, reached_ns: None, verdict, met, text }
    };
    let slo: Vec<Judged> = [0.99, 0.95].into_iter().zip(over).map(objective).collect();
    let met = slo.iter().all(|judged| judged.met);
    Entry {
        trial: number,
        asked_per_s: Some(load),
        asked_per_target_per_s: Some(load),
        why: Some(Why::Explore),
        status: Status::Valid,
        observed: Some(Observed { slo_met: Some(met), ..Observed::example(load, 1_000) }),
        slo,
        ..Entry::aborted(number)
    }
}

/// The same in a sweep, which puts no load to the test again.
fn swept(entry: Entry) -> Entry {
    Entry { why: None, ..entry }
}

fn conclusions_of(journal: &[Entry]) -> Vec<(u32, Conclusion)> {
    conclusions(journal).into_iter().collect()
}

#[test]
fn trials_with_too_few_requests_are_judged_together() {
    // Each misses one objective by so little that it decides nothing; together they meet both.
    let journal = [trial(1, 100.0, [11, 30]), trial(2, 100.0, [2, 51]), trial(3, 100.0, [0, 0])];
    assert_eq!(conclusions_of(&journal[..1]), [(1, Conclusion::Open)]);
    let [only] = &by_load(&journal[..1])[..] else { panic!() };
    assert_eq!(only.conclusion(), Some(Conclusion::Open));
    let words = "there are too few requests for a verdict yet (trial 1: p99 ≤ 20 ms: 11)";
    assert_eq!(only.in_words(3), words);
    let journal = [trial(1, 100.0, [11, 30]), trial(2, 100.0, [8, 51]), trial(3, 100.0, [3, 20])];
    let met = [1, 2, 3].map(|number| (number, Conclusion::Met));
    assert_eq!(conclusions_of(&journal), met);
    let [only] = &by_load(&journal)[..] else { panic!() };
    assert_eq!(only.conclusion(), Some(Conclusion::Met));
    assert_eq!(
        only.in_words(3),
        "1 of 1 judgement met it (trials 1, 2 and 3 together: p99 ≤ 20 ms is met: 22 of 3,000 requests over)"
    );
    // Alone, none of the first two has met the SLO.
    let (entry, _) = only.representative().unwrap();
    assert_eq!(entry.trial, 1);
}

/// A trial that meets the other objectives, and has no request of a label.
fn without_login(number: u32) -> Entry {
    let mut entry = trial(number, 100.0, [0, 0]);
    let slo: Slo = "login.p99<=20ms".parse().unwrap();
    let (verdict, met) = (Verdict::Undecided, false);
    let text = format!("{slo} is undecided: no request was measured");
    let judged =
        Judged { slo, over: 0, over_at_least: 0, of: 0, reached_ns: None, verdict, met, text };
    entry.slo.push(judged);
    entry.observed.as_mut().unwrap().slo_met = Some(false);
    entry
}

/// A reader of "missed" looks for slow logins, and there was none.
#[test]
fn an_objective_of_which_no_request_was_measured_is_not_missed() {
    let journal = [1, 2, 3].map(without_login);
    let of = |journal: &[Entry]| {
        let [only] = &by_load(journal)[..] else { panic!() };
        let unmeasured = only.unmeasured().map(|(slo, trials)| (slo.to_string(), trials));
        (only.conclusion().unwrap(), unmeasured, only.in_words(3))
    };
    let login = |trials: Vec<u32>| Some(("login.p99 ≤ 20 ms".to_owned(), trials));
    // The next trial may have some.
    assert_eq!(of(&journal[..2]).1, None);
    let (conclusion, unmeasured, words) = of(&journal);
    assert_eq!((conclusion, unmeasured), (Conclusion::Open, login(vec![1, 2, 3])));
    assert_eq!(
        words,
        "there are too few requests for a verdict yet (trials 1, 2 and 3 together: login.p99 ≤ 20 ms is undecided: no \
         request was measured)"
    );
    // A given load, whose trials are judged one by one.
    let given: Vec<Entry> = journal[..2].iter().cloned().map(swept).collect();
    let (conclusion, unmeasured, words) = of(&given);
    assert_eq!((conclusion, unmeasured), (Conclusion::Open, login(vec![1, 2])));
    assert!(words.contains("trial 2: login.p99 ≤ 20 ms is undecided: no request"), "{words}");
    // Another objective that is missed decides, and is the one that is named.
    let mut missed = without_login(1);
    missed.slo[..2].clone_from_slice(&trial(1, 100.0, [900, 900]).slo);
    let (conclusion, unmeasured, words) = of(&[missed]);
    assert_eq!((conclusion, unmeasured), (Conclusion::Missed, None));
    assert!(words.contains("trial 1: p99 ≤ 20 ms: 900"), "{words}");
}

#[test]
fn a_sweep_decides_by_each_trial() {
    let trials = [([11, 30], false), ([0, 0], true), ([10, 50], true)];
    let journal: Vec<Entry> =
        (1..).zip(trials).map(|(i, (over, _))| swept(trial(i, 100.0, over))).collect();
    let each = conclusions_of(&journal);
    let wanted = trials.map(|(_, met)| if met { Conclusion::Met } else { Conclusion::Missed });
    assert_eq!(each.into_iter().map(|(_, one)| one).collect::<Vec<_>>(), wanted);
    let [only] = &by_load(&journal)[..] else { panic!() };
    assert_eq!(only.conclusion(), Some(Conclusion::Met));
    assert_eq!(only.representative().unwrap().0.trial, 2);
    // One of two is no majority.
    let [only] = &by_load(&journal[..2])[..] else { panic!() };
    assert_eq!(only.conclusion(), Some(Conclusion::Missed));
    assert_eq!(only.representative().unwrap().0.trial, 1);
    let words = "1 of 2 trials met it (trial 1: p99 ≤ 20 ms: 11; trial 2: p99 ≤ 20 ms: 0)";
    assert_eq!(only.in_words(3), words);
    let words = "1 of 2 trials met it (trial 1: p99 ≤ 20 ms: 11; and 1 more)";
    assert_eq!(only.in_words(1), words);
}

#[test]
fn what_is_no_evidence_concludes_nothing() {
    let of = |status| Entry { status, ..trial(1, 100.0, [0, 0]) };
    for status in [Status::Invalid, Status::Aborted] {
        let journal = [of(status)];
        assert_eq!(conclusions_of(&journal), []);
        let [only] = &by_load(&journal)[..] else { panic!() };
        assert_eq!((only.conclusion(), only.sustained_per_s()), (None, None));
        assert!(only.representative().is_none());
    }
    let probe = [Entry { purpose: Purpose::Probe, ..of(Status::Valid) }];
    assert!(by_load(&probe).is_empty() && conclusions_of(&probe).is_empty());
    // Without an SLO a trial says what it sustained.
    let mut without = of(Status::Bounded);
    without.observed.as_mut().unwrap().slo_met = None;
    let journal = [without];
    let [only] = &by_load(&journal)[..] else { panic!() };
    assert_eq!((only.conclusion(), only.sustained_per_s()), (None, Some(100.0)));
    assert_eq!(only.rate_per_s(), Some(100.0));
}

#[test]
fn trials_are_equal_at_one_load_of_one_search_and_level() {
    let one = trial(1, 100.0, [0, 0]);
    let cell = Entry { cell: Some("a=1".to_owned()), ..one.clone() };
    let search = Entry { search: Some("half".to_owned()), ..one.clone() };
    let others = [cell.clone(), search, trial(2, 101.0, [0, 0]), {
        Entry { purpose: Purpose::Probe, ..one.clone() }
    }];
    assert!(others.iter().all(|other| other.configuration() != one.configuration()));
    assert_eq!(cell.configuration().at_any_level(), one.configuration());
    let again = Entry { repetition: 2, attempt: 3, strand: Some(2), ..one.clone() };
    assert_eq!(again.configuration(), one.configuration());
    let loads = [trial(1, 200.0, [0, 0]), trial(2, 100.0, [0, 0]), trial(3, 200.0, [0, 0])];
    let of = |at: &AtLoad<'_>| (at.attempts[0].configuration().load(), at.attempts.len());
    let loads: Vec<(Option<f64>, usize)> = by_load(&loads).iter().map(of).collect();
    assert_eq!(loads, [(Some(200.0), 2), (Some(100.0), 1)]);
}

#[test]
fn searches_of_one_run_are_judged_apart() {
    let of = |number, strand| Entry { strand: Some(strand), ..trial(number, 100.0, [11, 30]) };
    // Three open trials of one search are enough, and say nothing of another one.
    let journal = [of(1, 1), of(2, 2), of(3, 1), of(4, 1)];
    let each = conclusions_of(&journal);
    assert_eq!(each[1], (2, Conclusion::Open));
    assert_eq!([each[0].1, each[2].1, each[3].1], [Conclusion::Missed; 3]);
}
