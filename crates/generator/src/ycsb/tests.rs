use load::driver::{Label, Slot};
use load::observe::{Of, Start};
use measure::Instant;

use super::*;

#[test]
fn the_keys_of_all_clients_are_all_keys() {
    for (clients, threads) in [(1, 1), (1, 3), (3, 2), (5, 4)] {
        let step = clients * threads;
        for keys in 0..100 {
            let own = |client| own_keys(keys, client * threads, threads, step);
            assert_eq!((0..clients).map(own).sum::<u64>(), keys);
            let counted = (0..keys).filter(|number| number % step < threads).count();
            assert_eq!(own(0), counted as u64);
        }
    }
}

#[test]
fn only_what_was_answered_has_a_time() {
    let at = |ms| Instant(0) + Nanos::from_millis(ms);
    let mut answered = Answered::default();
    for outcome in Outcome::ALL {
        // Our own end of waiting is not the time of a batch.
        let took = if outcome.is_answer() { 2 } else { 6_000 };
        let (room, sent, held) = (at(1), at(1), Nanos::ZERO);
        let start = Start { room, sent, held, first_byte: None, connection: Slot(0) };
        answered.completed(&Completion {
            of: Of::default(),
            intended: at(0),
            number: 0,
            label: Label::NONE,
            start: Some(start),
            done: at(1 + took),
            outcome,
            status: 0,
            answers: 0,
            bad: 0,
            bytes: 0,
            why: "",
        });
    }
    assert_eq!(answered.0.count(), 4);
    assert!(answered.0.max().unwrap() < Nanos::from_millis(3));
}

#[test]
fn a_target_that_did_not_answer_everything_has_a_reason() {
    let told = |outcome: Outcome| {
        let mut part = Part::default();
        part.outcomes[outcome as usize] = 1;
        silence(&part, &part.outcomes)
    };
    for (outcome, why) in [
        (Outcome::Connect, "no connection"),
        (Outcome::Timeout, "no answer within 10 s"),
        (Outcome::Unfinished, "no answer within 5 s after the end"),
    ] {
        assert_eq!(told(outcome).as_deref(), Some(why));
    }
    for outcome in [Outcome::Ok, Outcome::Status, Outcome::Reset, Outcome::Malformed] {
        assert_eq!(told(outcome), None, "{outcome:?}");
    }
    // What a fill would have asked for after its last key has no operations.
    let mut part = Part::default();
    part.outcomes[Outcome::Unfinished as usize] = 1;
    assert_eq!(silence(&part, &part.operations), None);
}
