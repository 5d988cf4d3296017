//! Sessions that change one key while ReadOnly moves and checkpoints make their cuts, in many
//! interleavings: `RUSTFLAGS="--cfg shuttle" cargo test -p kv model`.

use std::collections::HashSet;
use std::panic::catch_unwind;

use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use crate::apply::COPIES_AT_ONCE;
use crate::shared::Action;
use crate::storage::Nowhere;
use crate::{Completions, Op, Outcome, Session, Status, Store};

/// The interleavings that are tried of each test; `KV_INTERLEAVINGS` is another number.
fn interleavings() -> usize {
    let given = std::env::var("KV_INTERLEAVINGS").ok().and_then(|number| number.parse().ok());
    given.unwrap_or(1_000)
}

const KEY: &[u8] = b"key";

/// An operation, its result, and the times between which it has happened.
#[derive(Clone, Debug)]
struct Event {
    what: What,
    status: Status,
    value: Vec<u8>,
    begin: usize,
    end: usize,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Read,
    /// With a value of so many bytes.
    Upsert(usize),
    Add,
    Delete,
}

/// The events of all sessions, and the time.
#[derive(Default)]
struct History {
    now: usize,
    events: Vec<Event>,
}

fn value(length: usize) -> Vec<u8> {
    vec![length as u8; length]
}

impl What {
    fn op<'a>(self, value: &'a [u8]) -> Op<'a> {
        match self {
            What::Read => Op::Read { key: KEY },
            What::Upsert(_) => Op::Upsert { key: KEY, value },
            What::Add => Op::Add { key: KEY, delta: 1 },
            What::Delete => Op::Delete { key: KEY },
        }
    }

    /// Executes it on the value of the key, and returns the result.
    fn on(self, state: &mut Option<Vec<u8>>) -> (Status, Vec<u8>) {
        let old = state.clone();
        match (self, old) {
            (What::Upsert(length), _) => *state = Some(value(length)),
            (What::Read | What::Delete, None) => return (Status::NotFound, Vec::new()),
            (What::Read, Some(old)) => return (Status::Ok, old),
            (What::Delete, Some(_)) => *state = None,
            (What::Add, old) => {
                let old = old.unwrap_or_else(|| vec![0; 8]);
                let Ok(old) = <[u8; 8]>::try_from(&old[..]) else {
                    return (Status::WrongType, Vec::new());
                };
                let sum = (i64::from_le_bytes(old) + 1).to_le_bytes().to_vec();
                *state = Some(sum.clone());
                return (Status::Ok, sum);
            }
        }
        (Status::Ok, Vec::new())
    }
}

/// Executes operations, each after the end of the one before.
fn execute(store: &Store, id: u64, whats: &[What], history: &Mutex<History>) {
    let mut session = store.session(id).unwrap();
    for &what in whats {
        let begin = tick(history);
        let (status, value) = end_of(&mut session, what);
        let mut history = history.lock().unwrap();
        history.now += 1;
        let end = history.now;
        history.events.push(Event { what, status, value, begin, end });
    }
}

fn tick(history: &Mutex<History>) -> usize {
    let mut history = history.lock().unwrap();
    history.now += 1;
    history.now
}

fn end_of(session: &mut Session, what: What) -> (Status, Vec<u8>) {
    let (mut found, given) =
        (Vec::new(), if let What::Upsert(n) = what { value(n) } else { Vec::new() });
    match session.one(&what.op(&given), &mut found) {
        Outcome::Done(status) => (status, found),
        Outcome::Pending(_) => {
            let mut completions = Completions::new(1 << 10);
            loop {
                session.poll(&mut Nowhere, &mut completions);
                if let Some((_, status, value)) = completions.iter().next() {
                    return (status, value.to_vec());
                }
                thread::yield_now();
            }
        }
    }
}

/// True if some order of the events, in which each lies between its times, gives their results.
fn is_linearizable(
    events: &[Event],
    state: Option<Vec<u8>>,
    seen: &mut HashSet<(Vec<usize>, Option<Vec<u8>>)>,
) -> bool {
    if events.is_empty() {
        return true;
    }
    if !seen.insert((events.iter().map(|event| event.begin).collect(), state.clone())) {
        return false;
    }
    let first_end = events.iter().map(|event| event.end).min().unwrap();
    (0..events.len()).filter(|at| events[*at].begin < first_end).any(|at| {
        let (event, mut state) = (&events[at], state.clone());
        let result = event.what.on(&mut state);
        // A deletion need not know whether there was a value.
        let is_same = result == (event.status, event.value.clone())
            || matches!(event.what, What::Delete) && event.status == Status::Ok;
        let rest = [&events[..at], &events[at + 1..]].concat();
        is_same && is_linearizable(&rest, state, seen)
    })
}

/// Has three sessions execute operations while another thread moves ReadOnly or begins a checkpoint,
/// and checks what they saw.
fn check(sessions: [&'static [What]; 3], with_cut: bool) {
    let run = move || {
        let store = Store::of_few_blocks();
        let history = Arc::new(Mutex::new(History::default()));
        execute(&store, 1, &[What::Upsert(8)], &history);
        let running = sessions.map(|whats| {
            let (store, history) = (store.clone(), history.clone());
            let id = 2 + whats.as_ptr() as u64;
            thread::spawn(move || execute(&store, id, whats, &history))
        });
        if with_cut {
            store.checkpoint().unwrap();
        } else if let Some(to) = store.shared().log.move_read_only_to_tail() {
            store.shared().bump(Action::ReadOnlyIsSafe(to));
        }
        running.into_iter().for_each(|session| session.join().unwrap());
        execute(&store, 1, &[What::Read], &history);
        let events = &history.lock().unwrap().events;
        assert!(is_linearizable(events, None, &mut HashSet::new()), "{events:#?}");
    };
    // Few switches at chosen places: a session that is held up for long is what may go wrong.
    shuttle::check_pct(run, interleavings(), 3);
}

const ADDITIONS: [&[What]; 3] =
    [&[What::Add, What::Add], &[What::Add], &[What::Add, What::Add, What::Add]];

const ALL: [&[What]; 3] = [
    &[What::Upsert(20), What::Upsert(8)],
    &[What::Add, What::Read, What::Add],
    &[What::Delete, What::Add],
];

#[test]
fn model_of_additions_while_read_only_moves() {
    check(ADDITIONS, false);
}

#[test]
fn model_of_additions_at_a_cut() {
    check(ADDITIONS, true);
}

#[test]
fn model_of_all_operations_while_read_only_moves() {
    check(ALL, false);
}

#[test]
fn model_of_all_operations_at_a_cut() {
    check(ALL, true);
}

#[test]
fn model_of_the_canary_loses_an_addition() {
    COPIES_AT_ONCE.set(true);
    let found = catch_unwind(|| check(ADDITIONS, false));
    COPIES_AT_ONCE.set(false);
    let told = found.expect_err("without the fuzzy region an addition must be lost");
    let told = told.downcast::<String>().expect("the events that no order explains");
    assert!(told.contains("what: Add"), "{told}");
}
