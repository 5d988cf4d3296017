//! The driver on its own: batches out, replies in.

use net::Closed;
use wire::kv::{
    Answer, Completion, Kind, Opcode, Welcome, encode_completion, encode_error, encode_reply_fixed,
    encode_welcome,
};

use super::*;
use crate::driver::{Node, Session};

/// Three operations in each batch: READ, ADD, READ.
struct Three {
    left: u64,
    disconnections: u64,
}

impl KvWorkload for Three {
    fn next(&mut self, batch: &mut Batch) {
        self.left -= 1;
        batch.opcodes.extend([Opcode::Read, Opcode::Add, Opcode::Read].map(|opcode| opcode as u8));
        batch.keys.extend([1, 2, 3]);
        batch.values.push(4);
    }

    fn has_ended(&self) -> bool {
        self.left == 0
    }

    fn disconnected(&mut self) {
        self.disconnections += 1;
    }
}

const SLOT: Slot = Slot(0);

/// A driver with a connection that can carry batches.
fn ready(batches: u64) -> (Kv<Three>, Reports) {
    let terms = Terms { pipeline: 2, position: (0, 1) };
    let mut driver = Kv::new(terms, Three { left: batches, disconnections: 0 });
    let mut reports = Reports::default();
    let opening = Opening { node: Node(0), alpn: None };
    assert_eq!(driver.opened(SLOT, opening, &mut reports), Next::Greeting(None));
    let mut decoder = Decoder::default();
    let hello = decoder.next(&mut &reports.wire[..]).unwrap().unwrap();
    let Body::Hello(hello) = hello.body else { panic!("{hello:?}") };
    assert_eq!((hello.pipeline, hello.position, hello.session), (2, Some((0, 1)), None));
    reports.wire.clear();
    let welcome = welcome(false, 0);
    // In two pieces.
    assert_eq!(driver.receive(SLOT, &welcome[..50], &mut reports), Ok(Next::Greeting(None)));
    assert_eq!(driver.receive(SLOT, &welcome[50..], &mut reports), Ok(Next::Ready(None)));
    (driver, reports)
}

fn welcome(wants_proof: bool, executed: u64) -> Vec<u8> {
    let welcome = Welcome {
        version: 1,
        checksums: Checksums::On,
        wants_proof,
        id: 1,
        shards: 1,
        shard: 0,
        seed: 0,
        session: 5,
        executed,
        through: 0,
        nonce: [0; 16],
        owners: Default::default(),
        except: Default::default(),
    };
    let mut bytes = Vec::new();
    encode_welcome(7, &welcome, &[], &[], &mut bytes);
    bytes
}

fn start(driver: &mut Kv<Three>, token: u32, reports: &mut Reports) -> Started {
    ask(driver, token, false, reports)
}

/// Starts the request whose number is that of its token without the hundreds.
fn ask(driver: &mut Kv<Three>, token: u32, again: bool, reports: &mut Reports) -> Started {
    let (label, session, number) = (Label::NONE, Session::NONE, u64::from(token % 100));
    let asked = Asked { token: Token(token), number, label, session, again };
    driver.start(SLOT, asked, reports).unwrap()
}

fn reply(serial: u64, statuses: &[u8], values: &[u64]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut bytes = Vec::new();
    encode_reply_fixed((7, serial), statuses, &values, Checksums::On, &mut bytes);
    bytes
}

fn completions(results: &[(u64, Status)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let frame = wire::kv::Opening::begin(Kind::Completions, 7, 0, Checksums::On, &mut bytes);
    for &(serial, status) in results {
        let value: &[u8] = if status == Status::Ok { &[0; 8] } else { &[] };
        encode_completion(&Completion { serial, answer: Answer { status, value } }, &mut bytes);
    }
    frame.finish(results.len(), &mut bytes);
    bytes
}

fn outcomes(reports: &mut Reports) -> Vec<(u32, Outcome)> {
    reports.done.drain(..).map(|done| (done.token.0, done.outcome)).collect()
}

#[test]
fn batches_have_the_serials_of_their_session_and_replies_end_them_in_order() {
    let (mut driver, mut reports) = ready(9);
    assert_eq!(driver.room(SLOT), 2);
    assert_eq!(start(&mut driver, 10, &mut reports).operations, 3);
    start(&mut driver, 11, &mut reports);
    assert_eq!(driver.room(SLOT), 0);
    let (mut decoder, mut sent) = (Decoder::default(), &reports.wire[..]);
    for serial in [1, 4] {
        let header = decoder.next(&mut sent).unwrap().unwrap().header;
        assert_eq!((header.serial, header.view, header.count), (serial, 7, 3));
    }
    let replies = [reply(1, &[0, 0, 0], &[1, 2, 3]), reply(4, &[0, 0, 0], &[1, 2, 3])].concat();
    for cut in [1, 30, replies.len()] {
        let (mut driver, mut reports) = ready(9);
        start(&mut driver, 10, &mut reports);
        start(&mut driver, 11, &mut reports);
        for piece in replies.chunks(cut) {
            assert_eq!(driver.receive(SLOT, piece, &mut reports), Ok(Next::Continue));
        }
        assert_eq!(outcomes(&mut reports), [(10, Outcome::Ok), (11, Outcome::Ok)]);
        assert_eq!((reports.begun.len(), reports.steps.len(), driver.room(SLOT)), (2, 0, 2));
    }
}

#[test]
fn an_operation_that_fails_is_counted_apart_from_the_others() {
    let (mut driver, mut reports) = ready(9);
    start(&mut driver, 10, &mut reports);
    driver.receive(SLOT, &reply(1, &[1, 0, 0], &[5, 6]), &mut reports).unwrap();
    assert_eq!(reports.done[0].why, "NOT_FOUND");
    assert_eq!(outcomes(&mut reports), [(10, Outcome::Status)]);
    let step = reports.steps[0];
    assert_eq!((step.outcome, step.operations), (Outcome::Ok, 2));
}

#[test]
fn a_batch_is_complete_once_the_last_pending_operation_is() {
    let (mut driver, mut reports) = ready(9);
    start(&mut driver, 10, &mut reports);
    start(&mut driver, 11, &mut reports);
    driver.receive(SLOT, &reply(1, &[2, 0, 2], &[5]), &mut reports).unwrap();
    driver.receive(SLOT, &reply(4, &[0, 0, 0], &[1, 2, 3]), &mut reports).unwrap();
    driver.receive(SLOT, &completions(&[(3, Status::Ok)]), &mut reports).unwrap();
    assert_eq!((outcomes(&mut reports).len(), driver.room(SLOT)), (0, 0));
    driver.receive(SLOT, &completions(&[(1, Status::NotFound)]), &mut reports).unwrap();
    assert_eq!(outcomes(&mut reports), [(10, Outcome::Status), (11, Outcome::Ok)]);
    assert_eq!(reports.steps[0].operations, 2);
}

#[test]
fn what_does_not_answer_a_batch_ends_the_connection_with_the_reason() {
    let error = |code: Code| {
        let mut bytes = Vec::new();
        encode_error(code, 0, code.as_str(), Checksums::On, &mut bytes);
        bytes
    };
    for (bytes, outcome, why) in [
        (reply(4, &[0, 0, 0], &[1, 2, 3]), Outcome::Malformed, "a reply to another batch"),
        (reply(1, &[0, 0], &[1, 2]), Outcome::Malformed, "a reply to another batch"),
        (reply(1, &[0, 0, 0], &[1, 2]), Outcome::Malformed, "a reply to another batch"),
        (completions(&[(1, Status::Ok)]), Outcome::Malformed, "a result of no operation"),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n____".to_vec(),
            Outcome::Malformed,
            Code::Magic.as_str(),
        ),
        (error(Code::Busy), Outcome::Connect, "the server has no room for this connection"),
        (error(Code::Serial), Outcome::Malformed, "the serial does not follow"),
        (error(Code::ReplyGone), Outcome::Reset, Code::ReplyGone.as_str()),
        (welcome(false, 0), Outcome::Malformed, "a frame that is not expected"),
    ] {
        let (mut driver, mut reports) = ready(9);
        start(&mut driver, 10, &mut reports);
        assert_eq!(driver.receive(SLOT, &bytes, &mut reports), Ok(Next::Fail(outcome, why)));
        driver.closed(SLOT, Lost::For(outcome, why), &mut reports).unwrap();
        if outcome == Outcome::Connect {
            // The server may answer on the next connection.
            assert_eq!((reports.redirected.len(), reports.done.len()), (1, 0));
            continue;
        }
        assert_eq!(outcomes(&mut reports), [(10, outcome)]);
        assert_eq!(driver.room(SLOT), 2, "the next connection begins anew");
    }
}

/// The serials of the batches that were written, and the session of the HELLO before them.
fn written(reports: &mut Reports) -> (Option<u64>, Vec<u64>) {
    let (mut decoder, mut rest) = (Decoder::default(), &reports.wire[..]);
    let (mut session, mut serials) = (None, Vec::new());
    while let Some(frame) = decoder.next(&mut rest).unwrap() {
        match frame.body {
            Body::Hello(hello) => session = hello.session,
            _ => serials.push(frame.header.serial),
        }
    }
    reports.wire.clear();
    (session, serials)
}

/// A driver whose connection broke with two batches, of which the server executed this many operations.
fn broken(executed: u64) -> (Kv<Three>, Reports) {
    let (mut driver, mut reports) = ready(9);
    start(&mut driver, 10, &mut reports);
    start(&mut driver, 11, &mut reports);
    driver.closed(SLOT, Lost::By(Closed::Reset), &mut reports).unwrap();
    let came_back: Vec<u32> = reports.redirected.drain(..).map(|sent| sent.token.0).collect();
    assert_eq!((came_back, reports.done.len()), (vec![10, 11], 0));
    reports.wire.clear();
    driver.opened(SLOT, Opening { node: Node(0), alpn: None }, &mut reports);
    assert_eq!(written(&mut reports), (Some(5), vec![]));
    reports.wire = welcome(false, executed);
    (driver, reports)
}

/// Hands the driver the bytes that were left for it.
fn hand_over(driver: &mut Kv<Three>, reports: &mut Reports) -> Next {
    let bytes = std::mem::take(&mut reports.wire);
    driver.receive(SLOT, &bytes, reports).unwrap()
}

#[test]
fn a_session_goes_on_after_a_broken_connection_with_what_lacks_a_reply() {
    // The server has executed nothing, the first batch, or both.
    for executed in [0, 3, 6] {
        let (mut driver, mut reports) = broken(executed);
        assert_eq!(hand_over(&mut driver, &mut reports), Next::Ready(None));
        assert_eq!(driver.room(SLOT), 2);
        // They leave in the order of their serials, whichever is started first.
        ask(&mut driver, 211, true, &mut reports);
        assert_eq!(written(&mut reports).1, []);
        assert_eq!(ask(&mut driver, 210, true, &mut reports).operations, 3);
        assert_eq!(written(&mut reports).1, [1, 4]);
        let replies = [reply(1, &[0, 0, 0], &[1, 2, 3]), reply(4, &[0, 0, 0], &[1, 2, 3])];
        driver.receive(SLOT, &replies.concat(), &mut reports).unwrap();
        assert_eq!(outcomes(&mut reports), [(210, Outcome::Ok), (211, Outcome::Ok)]);
        start(&mut driver, 12, &mut reports);
        assert_eq!(written(&mut reports).1, [7]);
    }
}

#[test]
fn a_connection_that_breaks_again_loses_nothing() {
    let (mut driver, mut reports) = broken(3);
    hand_over(&mut driver, &mut reports);
    // One was sent again, the other one not yet.
    ask(&mut driver, 210, true, &mut reports);
    driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
    assert_eq!(reports.redirected.drain(..).count(), 1);
    reports.wire = welcome(false, 3);
    assert_eq!(hand_over(&mut driver, &mut reports), Next::Ready(None));
    ask(&mut driver, 311, true, &mut reports);
    // This one waited for the one before it, and comes back, too.
    driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
    assert_eq!(reports.redirected.drain(..).count(), 1);
    reports.wire = welcome(false, 3);
    hand_over(&mut driver, &mut reports);
    ask(&mut driver, 410, true, &mut reports);
    ask(&mut driver, 411, true, &mut reports);
    assert_eq!(written(&mut reports).1, [1, 4]);
}

#[test]
fn a_session_that_cannot_go_on_fails_what_lacks_a_reply_and_begins_anew() {
    let unknown = |code: Code| {
        let mut bytes = Vec::new();
        encode_error(code, 0, code.as_str(), Checksums::On, &mut bytes);
        bytes
    };
    // The last two: an answered batch or a part of one is missing, as after a crash.
    let mut answered = broken(0);
    answered.0.line.kept.pop_front();
    for ((mut driver, mut reports), answer, why) in [
        (broken(0), unknown(Code::SessionUnknown), Code::SessionUnknown.as_str()),
        (answered, welcome(false, 0), BEHIND),
        (broken(0), welcome(false, 1), BEHIND),
        (broken(0), welcome(false, 99), BEHIND),
    ] {
        reports.wire = answer;
        assert_eq!(hand_over(&mut driver, &mut reports), Next::Fail(Outcome::Reset, why));
        assert_eq!(driver.workload.disconnections, 0);
        driver.closed(SLOT, Lost::For(Outcome::Reset, why), &mut reports).unwrap();
        assert_eq!(driver.workload.disconnections, 1, "the session does not go on");
        driver.opened(SLOT, Opening { node: Node(0), alpn: None }, &mut reports);
        assert_eq!(written(&mut reports), (None, vec![]));
        reports.wire = welcome(false, 0);
        assert_eq!(hand_over(&mut driver, &mut reports), Next::Ready(None));
        let numbers: Vec<u64> = driver.line.kept.iter().map(|kept| kept.number).collect();
        for number in numbers {
            ask(&mut driver, 200 + number as u32, true, &mut reports);
            let done = reports.done.pop().unwrap();
            assert_eq!((done.outcome, done.why), (Outcome::Reset, why));
        }
        start(&mut driver, 12, &mut reports);
        assert_eq!(written(&mut reports).1, [1], "the new session has the first serial");
    }
}

#[test]
fn a_batch_that_took_too_long_ends_those_beside_it() {
    let (mut driver, mut reports) = ready(9);
    start(&mut driver, 10, &mut reports);
    start(&mut driver, 11, &mut reports);
    driver.closed(SLOT, Lost::TooLate(Token(10)), &mut reports).unwrap();
    assert_eq!(outcomes(&mut reports), [(10, Outcome::Timeout), (11, Outcome::Reset)]);
    assert!(reports.redirected.is_empty());
}

#[test]
fn batches_that_are_given_up_have_their_number_of_operations() {
    let (mut driver, _) = broken(0);
    assert_eq!(driver.unsent(10, Label::NONE).operations, 3);
    assert_eq!(driver.unsent(12, Label::NONE).operations, 0, "it was never made");
    assert_eq!(driver.workload.disconnections, 2);
    assert!(driver.line.resumes().is_none());
}

#[test]
fn a_server_that_wants_a_token_gets_a_proof_or_is_refused_with_the_reason() {
    let terms = Terms { pipeline: 2, position: (0, 1) };
    let mut driver = Kv::new(terms, Three { left: 1, disconnections: 0 });
    let mut reports = Reports::default();
    let told = driver.receive(SLOT, &welcome(true, 0), &mut reports);
    assert_eq!(told, Ok(Next::Fail(Outcome::Connect, "the server wants a token")));
    let mut driver = driver.with_token(Some(Secret::new(b"secret")));
    driver.closed(SLOT, Lost::ByUs, &mut reports).unwrap();
    driver.opened(SLOT, Opening { node: Node(0), alpn: None }, &mut reports);
    reports.wire.clear();
    assert_eq!(driver.receive(SLOT, &welcome(true, 0), &mut reports), Ok(Next::Greeting(None)));
    let mut decoder = Decoder::default();
    let proof = decoder.next(&mut &reports.wire[..]).unwrap().unwrap();
    let Body::Prove(proof) = proof.body else { panic!("{proof:?}") };
    assert_eq!(*proof, Secret::new(b"secret").proof(&[0; 16]));
    assert_eq!(driver.receive(SLOT, &welcome(false, 0), &mut reports), Ok(Next::Ready(None)));
}

#[test]
fn a_load_that_has_no_further_batch_ends_with_the_last_reply() {
    let (mut driver, mut reports) = ready(1);
    assert!(!driver.has_stopped());
    start(&mut driver, 10, &mut reports);
    assert!(!driver.has_stopped() && driver.room(SLOT) == 0);
    driver.receive(SLOT, &reply(1, &[0, 0, 0], &[1, 2, 3]), &mut reports).unwrap();
    assert!(driver.has_stopped());
}
