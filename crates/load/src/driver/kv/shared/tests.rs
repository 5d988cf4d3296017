//! The driver on its own: operations out, results in.

use net::Closed;
use wire::kv::{Completion, Opcode, Welcome, encode_answer, encode_completion, encode_welcome};

use super::*;
use crate::driver::{Session, Step};

const READ: Label = Label(0);
const UPDATE: Label = Label(1);
const BOTH: Label = Label(2);

/// Requests with the keys 0, 1, 2, …, of two servers by turns.
struct Turns {
    /// True for the keys that are read and then written.
    is_both: fn(u64) -> bool,
    next: u64,
    value: usize,
    has_ended: bool,
    must_stop: bool,
    ended: Vec<(u64, Outcome)>,
    /// The pause before the next request that fails is sent again.
    pause: Option<Nanos>,
}

impl Operations for Turns {
    /// The key, and true if it writes next.
    type Request = (u64, bool);

    fn next(&mut self) -> Result<(Label, (u64, bool)), Fault> {
        let key = self.next;
        self.next += 1;
        Ok((if (self.is_both)(key) { BOTH } else { READ }, (key, false)))
    }

    fn node(&mut self, request: &(u64, bool)) -> Node {
        Node((request.0 % 2) as u32)
    }

    fn write(&mut self, &(key, writes): &(u64, bool), batch: &mut Batch<'_>) {
        let (opcode, value) = match writes {
            true => (Opcode::Upsert, vec![7; self.value]),
            false => (Opcode::Read, Vec::new()),
        };
        let (key, value) = (&key.to_le_bytes()[..], &value[..]);
        batch.push(&Item { opcode, offset: 0, length: 0, key, value });
    }

    fn answered(
        &mut self,
        request: &mut (u64, bool),
        answer: Answer<'_>,
        steps: &mut Steps<'_>,
    ) -> (Verdict, Then) {
        let verdict = match answer.status {
            Status::Ok => Verdict::OK,
            status => Verdict::status(status.name()),
        };
        let is_both = (self.is_both)(request.0);
        if is_both {
            steps.ended(if request.1 { UPDATE } else { READ }, verdict.outcome);
        }
        let goes_on = is_both && !request.1;
        request.1 = true;
        (verdict, if goes_on { Then::GoOn } else { Then::End })
    }

    fn retries(&mut self, _request: &mut (u64, bool), outcome: Outcome) -> Option<Nanos> {
        self.pause.take_if(|_| outcome != Outcome::Ok)
    }

    fn ended(&mut self, request: (u64, bool), outcome: Outcome) {
        self.ended.push((request.0, outcome));
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn must_stop(&self) -> bool {
        self.must_stop
    }
}

const LINGER: Nanos = Nanos(100_000);

/// A driver whose connections to two servers are ready.
fn ready(outstanding: usize) -> (Shared<Turns>, Reports) {
    let terms = Terms { outstanding, users: Some(outstanding), linger: LINGER, servers: 2 };
    let turns = Turns {
        is_both: |key| key % 3 == 2,
        next: 0,
        value: 8,
        has_ended: false,
        must_stop: false,
        ended: Vec::new(),
        pause: None,
    };
    let mut driver = Shared::new(2, terms, turns);
    let mut reports = Reports::default();
    for slot in 0..2 {
        open(&mut driver, slot, &mut reports);
    }
    (driver, reports)
}

fn open(driver: &mut Shared<Turns>, slot: u32, reports: &mut Reports) {
    let opening = Opening { node: Node(slot), alpn: None };
    assert_eq!(driver.opened(Slot(slot), opening, reports), Next::Greeting(None));
    let mut decoder = Decoder::default();
    let hello = decoder.next(&mut &reports.wire[..]).unwrap().unwrap();
    let Body::Hello(hello) = hello.body else { panic!("{hello:?}") };
    assert_eq!(hello.position, Some((slot as u16, 2)));
    reports.wire.clear();
    let welcome = Welcome {
        version: 1,
        checksums: Checksums::On,
        wants_proof: false,
        id: 1,
        shards: 1,
        shard: 0,
        seed: 0,
        session: 5,
        executed: 0,
        through: 0,
        nonce: [0; 16],
        owners: Default::default(),
        except: Default::default(),
    };
    let mut bytes = Vec::new();
    encode_welcome(7, &welcome, &[], &[], &mut bytes);
    assert_eq!(driver.receive(Slot(slot), &bytes, reports), Ok(Next::Ready(None)));
}

fn start(driver: &mut Shared<Turns>, slot: u32, number: u64, reports: &mut Reports) -> Label {
    let (label, session, token) = (Label::NONE, Session::NONE, Token(number as u32));
    let asked = Asked { token, number, label, session, again: false };
    driver.start(Slot(slot), asked, reports).unwrap().label
}

/// The batches that were written: the serial of each, and its operations.
fn batches(reports: &mut Reports) -> Vec<(u64, Vec<(Opcode, u64)>)> {
    let wire = std::mem::take(&mut reports.wire);
    let (mut decoder, mut rest, mut batches) = (Decoder::default(), &wire[..], Vec::new());
    while let Some(frame) = decoder.next(&mut rest).unwrap() {
        assert!(frame.header.length <= FULL + 128, "{}", frame.header.length);
        let Body::Request(items) = frame.body else { panic!("{frame:?}") };
        let key = |item: Item<'_>| u64::from_le_bytes(item.key.try_into().unwrap());
        let items = items.map(|item| (item.opcode, key(item))).collect();
        batches.push((frame.header.serial, items));
    }
    batches
}

fn reply(serial: u64, statuses: &[Status]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let frame = Frame::begin(Kind::Reply, 7, serial, Checksums::On, &mut bytes);
    for &status in statuses {
        encode_answer(&Answer { status, value: b"" }, &mut bytes);
    }
    frame.finish(statuses.len(), &mut bytes);
    bytes
}

fn completion(serial: u64, status: Status) -> Vec<u8> {
    let mut bytes = Vec::new();
    let frame = Frame::begin(Kind::Completions, 7, 0, Checksums::On, &mut bytes);
    encode_completion(&Completion { serial, answer: Answer { status, value: b"" } }, &mut bytes);
    frame.finish(1, &mut bytes);
    bytes
}

fn receive(driver: &mut Shared<Turns>, slot: u32, bytes: &[u8], reports: &mut Reports) -> Next {
    driver.receive(Slot(slot), bytes, reports).unwrap()
}

fn outcomes(reports: &mut Reports) -> Vec<(u32, Outcome, &'static str)> {
    reports.done.drain(..).map(|done| (done.token.0, done.outcome, done.why)).collect()
}

/// Routes so many requests, from this number on, as the shard does when they are due.
fn route(driver: &mut Shared<Turns>, numbers: std::ops::Range<u64>) -> Vec<u32> {
    numbers.map(|number| driver.route(number, Label::NONE).0).collect()
}

#[test]
fn operations_share_a_batch_until_the_linger_is_over() {
    let (mut driver, mut reports) = ready(10);
    assert_eq!(route(&mut driver, 0..4), [0, 1, 0, 1]);
    assert_eq!(start(&mut driver, 0, 0, &mut reports), READ);
    assert_eq!(reports.held.take(), Some(LINGER));
    assert_eq!(start(&mut driver, 0, 2, &mut reports), BOTH);
    assert_eq!(reports.held.take(), Some(LINGER));
    assert!(reports.wire.is_empty() && reports.sent.is_empty());
    assert_eq!((driver.room(Slot(0)), driver.room(Slot(1))), (8, 10));
    driver.flush(Slot(0), &mut reports);
    assert_eq!(std::mem::take(&mut reports.sent), [Token(0), Token(2)]);
    assert_eq!(batches(&mut reports), [(1, vec![(Opcode::Read, 0), (Opcode::Read, 2)])]);
    assert_eq!(driver.users(), Some(10), "however many servers there are");
}

#[test]
fn a_batch_that_no_further_operation_can_join_leaves_at_once() {
    let (mut driver, mut reports) = ready(2);
    route(&mut driver, 0..4);
    start(&mut driver, 0, 0, &mut reports);
    reports.held = None;
    start(&mut driver, 0, 2, &mut reports);
    assert_eq!(reports.held, None);
    // The one that is being started is not held, so only the other one is reported as sent.
    assert_eq!(std::mem::take(&mut reports.sent), [Token(0)]);
    assert_eq!(batches(&mut reports).len(), 1);
}

#[test]
fn a_read_modify_write_is_two_operations_of_one_request() {
    let (mut driver, mut reports) = ready(2);
    route(&mut driver, 0..3);
    start(&mut driver, 0, 0, &mut reports);
    start(&mut driver, 0, 2, &mut reports);
    batches(&mut reports);
    reports.sent.clear();
    let answers = reply(1, &[Status::NotFound, Status::Ok]);
    assert_eq!(receive(&mut driver, 0, &answers, &mut reports), Next::Continue);
    assert_eq!(outcomes(&mut reports), [(0, Outcome::Status, "NOT_FOUND")]);
    assert_eq!(reports.held.take(), Some(Nanos::ZERO), "with what starts now");
    driver.flush(Slot(0), &mut reports);
    assert_eq!(batches(&mut reports), [(3, vec![(Opcode::Upsert, 2)])]);
    assert!(reports.sent.is_empty(), "the request was sent before");
    receive(&mut driver, 0, &reply(3, &[Status::Ok]), &mut reports);
    assert_eq!(outcomes(&mut reports), [(2, Outcome::Ok, "")]);
    let token = Token(2);
    let step = |label| Step { token, label, outcome: Outcome::Ok, operations: 0 };
    assert_eq!(reports.steps, [step(READ), step(UPDATE)]);
    assert_eq!(driver.operations.ended, [(0, Outcome::Status), (2, Outcome::Ok)]);
}

#[test]
fn results_that_were_pending_come_in_any_order() {
    let (mut driver, mut reports) = ready(3);
    driver.operations.is_both = |_| false;
    route(&mut driver, 0..7);
    for number in [0, 2, 4] {
        start(&mut driver, 0, number, &mut reports);
    }
    batches(&mut reports);
    receive(
        &mut driver,
        0,
        &reply(1, &[Status::Pending, Status::Ok, Status::Pending]),
        &mut reports,
    );
    assert_eq!(outcomes(&mut reports), [(2, Outcome::Ok, "")]);
    receive(&mut driver, 0, &completion(3, Status::NotFound), &mut reports);
    receive(&mut driver, 0, &completion(1, Status::Ok), &mut reports);
    assert_eq!(outcomes(&mut reports), [(4, Outcome::Status, "NOT_FOUND"), (0, Outcome::Ok, "")]);
    // Each has one result.
    let twice = receive(&mut driver, 0, &completion(1, Status::Ok), &mut reports);
    assert_eq!(twice, Next::Fail(Outcome::Malformed, "a result of no operation"));
}

#[test]
fn a_request_that_fails_may_be_sent_again_after_a_pause() {
    let pause = Some(LINGER);
    let (mut driver, mut reports) = ready(1);
    route(&mut driver, 0..1);
    start(&mut driver, 0, 0, &mut reports);
    driver.operations.has_ended = true;
    driver.operations.pause = pause;
    receive(&mut driver, 0, &reply(1, &[Status::Full]), &mut reports);
    let failed = |step: &Step| (step.label, step.outcome, step.operations);
    let steps: Vec<_> = reports.steps.drain(..).map(|step| failed(&step)).collect();
    assert_eq!(steps, [(READ, Outcome::Status, 0)]);
    assert_eq!(std::mem::take(&mut reports.later), [(Token(0), LINGER)]);
    assert!(reports.done.is_empty() && !driver.has_stopped());
    // It is routed and started once more, and fails with its connection.
    assert_eq!(route(&mut driver, 0..1), [0]);
    reports.wire.clear();
    start(&mut driver, 0, 0, &mut reports);
    // With the notes on it so far: it writes, once it has an answer.
    assert_eq!(batches(&mut reports), [(2, vec![(Opcode::Upsert, 0)])]);
    driver.operations.pause = pause;
    driver.closed(Slot(0), Lost::By(Closed::Reset), &mut reports).unwrap();
    assert_eq!((reports.later.len(), reports.done.len()), (1, 0));
    // Without a connection it ends.
    assert_eq!(driver.unsent(0, Label::NONE).label, READ);
    assert_eq!(driver.operations.ended, [(0, Outcome::Connect)]);
    assert!(driver.has_stopped());
}

#[test]
fn a_reply_to_another_batch_is_malformed() {
    for answers in [reply(2, &[Status::Ok; 2]), reply(1, &[Status::Ok])] {
        let (mut driver, mut reports) = ready(2);
        route(&mut driver, 0..3);
        start(&mut driver, 0, 0, &mut reports);
        start(&mut driver, 0, 2, &mut reports);
        let next = receive(&mut driver, 0, &answers, &mut reports);
        assert_eq!(next, Next::Fail(Outcome::Malformed, "a reply to another batch"));
    }
}

#[test]
fn a_lost_connection_ends_what_was_sent_and_gives_back_what_was_held() {
    let (mut driver, mut reports) = ready(3);
    route(&mut driver, 0..8);
    start(&mut driver, 0, 0, &mut reports);
    driver.flush(Slot(0), &mut reports);
    start(&mut driver, 0, 2, &mut reports);
    driver.closed(Slot(0), Lost::ByUs, &mut reports).unwrap();
    assert_eq!(outcomes(&mut reports), [(0, Outcome::Reset, "its connection was given up")]);
    assert_eq!(std::mem::take(&mut reports.again), [Token(2)]);
    // It is the same request, before those that were drawn after it.
    assert_eq!(route(&mut driver, 2..3), [0]);
    reports.wire.clear();
    open(&mut driver, 0, &mut reports);
    start(&mut driver, 0, 2, &mut reports);
    start(&mut driver, 0, 4, &mut reports);
    driver.flush(Slot(0), &mut reports);
    assert_eq!(batches(&mut reports), [(1, vec![(Opcode::Read, 2), (Opcode::Read, 4)])]);
}

#[test]
fn requests_for_a_server_that_cannot_be_reached_end_with_their_label() {
    let (mut driver, _) = ready(3);
    route(&mut driver, 0..6);
    assert_eq!(driver.unsent(1, Label::NONE).label, READ);
    assert_eq!(driver.unsent(3, Label::NONE).label, READ);
    assert_eq!(driver.unsent(5, Label::NONE).label, BOTH);
    let ended = [1, 3, 5].map(|key| (key, Outcome::Connect));
    assert_eq!(driver.operations.ended, ended);
    assert!(driver.routed[1].is_empty());
}

#[test]
fn the_last_requests_are_sent_although_nothing_follows_them() {
    let (mut driver, mut reports) = ready(1);
    route(&mut driver, 0..4);
    driver.operations.has_ended = true;
    // Two wait for each server.
    assert_eq!((driver.room(Slot(0)), driver.room(Slot(1)), driver.has_stopped()), (1, 1, false));
    for (serial, number) in [(1, 1), (2, 3)] {
        start(&mut driver, 1, number, &mut reports);
        receive(&mut driver, 1, &reply(serial, &[Status::Ok]), &mut reports);
    }
    assert_eq!((driver.room(Slot(0)), driver.room(Slot(1)), driver.has_stopped()), (1, 0, false));
    start(&mut driver, 0, 0, &mut reports);
    receive(&mut driver, 0, &reply(1, &[Status::Ok]), &mut reports);
    assert_eq!((driver.room(Slot(0)), driver.has_stopped()), (1, false));
    // Unless the load must end.
    driver.operations.must_stop = true;
    assert_eq!((driver.room(Slot(0)), driver.has_stopped()), (0, true));
}

#[test]
fn batches_have_a_bound_and_so_has_their_number() {
    let (mut driver, mut reports) = ready(1000);
    driver.operations.value = 4 << 10;
    driver.operations.is_both = |_| true;
    route(&mut driver, 0..134);
    for number in (0..134).step_by(2) {
        start(&mut driver, 0, number, &mut reports);
        driver.flush(Slot(0), &mut reports);
    }
    assert_eq!(batches(&mut reports).len(), usize::from(MOST_PIPELINE));
    let held = driver.lines[0].held.len();
    assert_eq!(held, 67 - 64, "the rest waits for a reply");
    // All reads are answered at once: as many writes follow, in batches that are not too long.
    reports.sent.clear();
    for serial in 1..=64 {
        receive(&mut driver, 0, &reply(serial, &[Status::Ok]), &mut reports);
    }
    driver.flush(Slot(0), &mut reports);
    let batches = batches(&mut reports);
    assert_eq!(batches.iter().map(|(_, items)| items.len()).sum::<usize>(), 67);
    assert!(8 < batches.len());
    assert_eq!(reports.sent.len(), 3, "those that were never sent before");
}
