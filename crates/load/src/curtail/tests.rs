use ::measure::Nanos;

use super::*;
use crate::driver::{Label, Slot};
use crate::observe::{Of, Start};

/// A request that was due at `intended` and took so long, in ms; the window begins at 10 s.
fn completion(intended: u64, took: u64, outcome: Outcome) -> Completion {
    let at = |ms| Instant(0) + Nanos::from_millis(ms);
    let sent = at(intended);
    Completion {
        of: Of::default(),
        intended: sent,
        number: 0,
        label: Label::NONE,
        start: Some(Start {
            room: at(0),
            sent,
            held: Nanos::ZERO,
            first_byte: None,
            connection: Slot(0),
        }),
        done: at(intended + took),
        outcome,
        status: 200,
        answers: 1,
        bad: 0,
        bytes: 0,
        why: "",
    }
}

const MISSED: [Enough; 2] = [
    Enough { limit: Some(Nanos::from_millis(50)), requests: 3 },
    Enough { limit: None, requests: 2 },
];

/// Returns true if these requests end the load; they are divided between two shards.
fn misses(completions: &[Completion]) -> bool {
    let curtailment = Curtailment::of(&MISSED);
    let start = Instant(0) + Nanos::from_secs(10);
    let mut counters = [curtailment.counter(), curtailment.counter()];
    let window = Window { start, end: start + Nanos::from_secs(5) };
    counters.iter_mut().for_each(|counter| counter.begin(Instant(0), window));
    for (index, completion) in completions.iter().enumerate() {
        counters[index % 2].completed(completion);
    }
    curtailment.missed().load(Ordering::Relaxed)
}

#[test]
fn enough_requests_over_a_limit_end_the_load() {
    let slow = completion(11_000, 51, Outcome::Ok);
    assert!(misses(&[slow; 3]));
    assert!(!misses(&[slow; 2]));
    let punctual = completion(11_000, 50, Outcome::Ok);
    assert!(!misses(&[slow, slow, punctual]));
    let failed = completion(11_000, 1, Outcome::Status);
    assert!(misses(&[failed; 2]));
    assert!(misses(&[slow, slow, failed]), "a failure is over each limit");
}

#[test]
fn only_the_measurement_counts_and_its_first_second_ends_nothing() {
    let in_the_warm_up = completion(9_900, 1_500, Outcome::Ok);
    assert!(!misses(&[in_the_warm_up; 3]));
    let early = completion(10_100, 800, Outcome::Ok);
    assert!(!misses(&[early; 9]));
    assert!(misses(&[early, early, completion(10_900, 100, Outcome::Ok)]));
}

#[test]
fn the_lateness_of_the_generator_is_not_the_targets() {
    let mut slow = completion(11_000, 60, Outcome::Ok);
    assert!(misses(&[slow; 3]));
    let start = slow.start.as_mut().unwrap();
    start.sent = start.sent + Nanos::from_millis(20);
    assert!(!misses(&[slow; 3]));
}
