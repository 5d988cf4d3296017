//! The driver on its own: batches out, replies in.

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
    let mut driver = Kv::new(1, terms, Three { left: batches, disconnections: 0 });
    let mut reports = Reports::default();
    let opening = Opening { node: Node(0), alpn: None };
    assert_eq!(driver.opened(SLOT, opening, &mut reports), Next::Greeting(None));
    let mut decoder = Decoder::default();
    let hello = decoder.next(&mut &reports.wire[..]).unwrap().unwrap();
    let Body::Hello(hello) = hello.body else { panic!("{hello:?}") };
    assert_eq!((hello.pipeline, hello.position, hello.session), (2, Some((0, 1)), None));
    reports.wire.clear();
    let welcome = welcome(false);
    // In two pieces.
    assert_eq!(driver.receive(SLOT, &welcome[..50], &mut reports), Ok(Next::Greeting(None)));
    assert_eq!(driver.receive(SLOT, &welcome[50..], &mut reports), Ok(Next::Ready(None)));
    (driver, reports)
}

fn welcome(wants_proof: bool) -> Vec<u8> {
    let welcome = Welcome {
        version: 1,
        checksums: Checksums::On,
        wants_proof,
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
    bytes
}

fn start(driver: &mut Kv<Three>, token: u32, reports: &mut Reports) -> Started {
    let (label, session) = (Label::NONE, Session::NONE);
    let asked = Asked { token: Token(token), number: 0, label, session, again: false };
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
        (welcome(false), Outcome::Malformed, "a frame that is not expected"),
    ] {
        let (mut driver, mut reports) = ready(9);
        start(&mut driver, 10, &mut reports);
        assert_eq!(driver.receive(SLOT, &bytes, &mut reports), Ok(Next::Fail(outcome, why)));
        driver.closed(SLOT, Lost::For(outcome, why), &mut reports).unwrap();
        assert_eq!(outcomes(&mut reports), [(10, outcome)]);
        assert_eq!(driver.room(SLOT), 2, "the next connection begins anew");
    }
}

#[test]
fn a_server_that_wants_a_token_gets_a_proof_or_is_refused_with_the_reason() {
    let terms = Terms { pipeline: 2, position: (0, 1) };
    let mut driver = Kv::new(1, terms, Three { left: 1, disconnections: 0 });
    let mut reports = Reports::default();
    let told = driver.receive(SLOT, &welcome(true), &mut reports);
    assert_eq!(told, Ok(Next::Fail(Outcome::Connect, "the server wants a token")));
    let mut driver = driver.with_token(Some(Secret::new(b"secret")));
    driver.closed(SLOT, Lost::ByUs, &mut reports).unwrap();
    driver.opened(SLOT, Opening { node: Node(0), alpn: None }, &mut reports);
    reports.wire.clear();
    assert_eq!(driver.receive(SLOT, &welcome(true), &mut reports), Ok(Next::Greeting(None)));
    let mut decoder = Decoder::default();
    let proof = decoder.next(&mut &reports.wire[..]).unwrap().unwrap();
    let Body::Prove(proof) = proof.body else { panic!("{proof:?}") };
    assert_eq!(*proof, Secret::new(b"secret").proof(&[0; 16]));
    assert_eq!(driver.receive(SLOT, &welcome(false), &mut reports), Ok(Next::Ready(None)));
}

#[test]
fn a_workload_learns_that_its_connection_ended_even_between_two_batches() {
    let (mut driver, mut reports) = ready(1);
    driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
    assert_eq!(driver.workload.disconnections, 1);
    // An attempt that did not succeed is not the end of one.
    driver.opened(SLOT, Opening { node: Node(0), alpn: None }, &mut reports);
    driver.closed(SLOT, Lost::By(Closed::Refused), &mut reports).unwrap();
    assert_eq!(driver.workload.disconnections, 1);
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
