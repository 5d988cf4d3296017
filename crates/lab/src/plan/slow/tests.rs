use std::path::Path;

use super::*;
use crate::course::Attempt;
use crate::plan::{Plan, Turn};
use crate::spec;

/// One load of 100/s, with ten repetitions.
fn plan(budget: &str) -> Plan {
    let text = format!(
        "
name: queue
where: {{backend: simulated}}
simulated: {{service_time: 1ms}}
workload: {{get: /}}
load: {{model: open, rate: 100/s}}
repeat: {{trials: 10}}
budget: {{{budget}}}
"
    );
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    Plan::of(&read.unwrap()).unwrap()
}

/// A valid trial in which the timed work took so long.
fn entry(turn: &Turn, ns: f64) -> Entry {
    let Attempt { purpose, asked, repetition, attempt, .. } = turn.attempt;
    let asked = asked.map(|rate| rate.as_per_second());
    let observed = serde_json::json!({
        "offered_per_s": asked, "completed_per_s": asked, "sustained_per_s": asked,
        "goodput_per_s": asked, "requests": 1000, "failures": 0, "saturated": false, "cpu": {},
        "work_ns": {"sweep": ns},
    });
    let entry = serde_json::json!({
        "trial": 1, "key": "", "purpose": purpose, "asked_per_s": asked,
        "asked_per_target_per_s": asked, "repetition": repetition, "attempt": attempt, "seed": 1,
        "status": "valid", "reasons": [], "observed": observed, "findings": [], "warnings": [],
        "files": {},
    });
    serde_json::from_value(entry).unwrap()
}

/// Runs trials whose work took so long in turn; returns the journal.
fn ran(plan: &Plan, times: impl IntoIterator<Item = f64>) -> Vec<Entry> {
    let mut turns = Turns::new(plan, Vec::new());
    for ns in times {
        let Some(turn) = turns.next_turn() else { break };
        let entry = judge(entry(&turn, ns), turn.strand, &turns);
        // A run that was killed and continued here takes the same step.
        let again = Turns::new(plan, turns.journal());
        assert_eq!(judge(self::entry(&turn, ns), turn.strand, &again), entry);
        turns.push(entry);
    }
    turns.journal()
}

fn slow_then(times: &[f64]) -> Vec<f64> {
    [100.0; 5].iter().chain(times).copied().collect()
}

#[test]
fn a_trial_in_a_slow_machine_is_repeated_once_and_then_counts_with_a_warning() {
    let journal = ran(&plan(""), slow_then(&[125.0, 125.0, 100.0]));
    let [.., first, second, third] = &journal[..] else { panic!("{journal:?}") };
    assert_eq!((first.status, first.slow_machine), (Status::Invalid, Some(0.8)));
    assert_eq!(
        first.reasons,
        ["slow machine: 80 % of the speed of the trials before, at least 90 % are needed"]
    );
    assert_eq!((second.repetition, second.attempt), (first.repetition, 2));
    assert_eq!((second.status, second.slow_machine), (Status::Valid, None));
    assert_eq!(
        second.warnings,
        [
            "slow machine: 80 % of the speed of the trials before; it counts, since the budget allows \
          no other repetition"
        ]
    );
    assert_eq!((third.repetition, third.status), (first.repetition + 1, Status::Valid));
    assert!(third.warnings.is_empty());
}

#[test]
fn a_machine_that_is_hardly_slower_or_not_yet_known_dismisses_nothing() {
    for times in [slow_then(&[110.0]), vec![100.0, 100.0, 100.0, 100.0, 125.0]] {
        let journal = ran(&plan(""), times);
        assert!(journal.iter().all(|entry| entry.status == Status::Valid), "{journal:?}");
    }
}

#[test]
fn a_trial_that_nothing_may_repeat_counts() {
    for budget in ["slow_attempts: 0", "invalid_attempts: 0", "disturbance: 1s"] {
        let journal = ran(&plan(budget), slow_then(&[125.0]));
        let last = journal.last().unwrap();
        assert_eq!((last.status, last.warnings.len()), (Status::Valid, 1), "{budget}");
    }
}

/// The work may be slowed by the load itself.
#[test]
fn a_load_that_slows_the_machine_is_dismissed_no_more_often_than_allowed() {
    for (allowed, trials) in [(0, 10), (1, 15), (3, 25)] {
        // The usual speed is that of the first five, as long as most are: then the slow one is usual.
        let times = [100.0; 5].into_iter().chain(std::iter::repeat(150.0));
        let budget = format!("slow_attempts: {allowed}, disturbance: 1h");
        let journal = ran(&plan(&budget), times);
        assert!((10..=trials).contains(&journal.len()), "{allowed}: {}", journal.len());
        let answers = journal.iter().filter(|entry| entry.status.answers()).count();
        assert_eq!(answers, 10, "every repetition is answered");
    }
}
