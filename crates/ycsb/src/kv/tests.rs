//! The operations of each kind, and their results.

use load::driver::kv::shared::{Shared as Driver, Terms};
use load::driver::{Asked, Opening, Outcome, Reports, Slot, Token};
use load::{Driver as _, Next, Session};
use wire::kv::{
    Body, Checksums, Decoder, Kind as FrameKind, Opening as Frame, Welcome, encode_answer,
    encode_welcome,
};

use super::*;
use crate::binding::VERIFY;
use crate::properties::Place;
use crate::stream::Shared;
use crate::workload::Part;

const SLOT: Slot = Slot(0);

fn properties(given: &[(&str, &str)]) -> Properties {
    let mut properties = Properties::default();
    let of_all = [
        ("workload", "site.ycsb.workloads.CoreWorkload"),
        ("recordcount", "10"),
        ("fieldcount", "2"),
        ("fieldlength", "16"),
        ("dataintegrity", "true"),
        ("readproportion", "0"),
        ("updateproportion", "0"),
        ("insertorder", "ordered"),
    ];
    for (name, value) in of_all.iter().chain(given) {
        properties.set(name, value, Place::Argument("-p".into()));
    }
    properties
}

fn workload(properties: &Properties) -> Workload {
    Workload::new(properties, Part::WHOLE, |_| unreachable!()).unwrap()
}

/// A driver with one server, which sends each operation at once.
struct Client {
    driver: Driver<Kv>,
    reports: Reports,
    serial: u64,
}

/// An operation as the server reads it.
#[derive(Debug, PartialEq)]
struct Sent {
    opcode: Opcode,
    offset: u32,
    length: u32,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Client {
    fn new(given: &[(&str, &str)]) -> Client {
        let properties = properties(given);
        let workload = Arc::new(workload(&properties));
        let keys = Settings::of(&properties, &workload, TIMEOUT).unwrap().keys;
        let shared = Arc::new(Shared::new(&workload));
        let stream = Stream::run(&workload, Part::WHOLE, 1, &shared);
        let (outstanding, linger, servers) = (1, Nanos(0), 1);
        let terms = Terms { outstanding, users: None, linger, servers };
        let mut driver = Driver::new(1, terms, Kv::new(stream, keys, 1, false));
        let mut reports = Reports::default();
        driver.opened(SLOT, Opening { node: Node(0), alpn: None }, &mut reports);
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
        encode_welcome(1, &welcome, &[], &[], &mut bytes);
        assert_eq!(driver.receive(SLOT, &bytes, &mut reports), Ok(Next::Ready(None)));
        Client { driver, reports, serial: 1 }
    }

    fn start(&mut self) -> Sent {
        let (label, session) = (Label::NONE, Session::NONE);
        let asked = Asked { token: Token(1), number: 0, label, session, again: false };
        self.driver.start(SLOT, asked, &mut self.reports).unwrap();
        self.sent().unwrap()
    }

    fn sent(&mut self) -> Option<Sent> {
        let wire = std::mem::take(&mut self.reports.wire);
        let mut decoder = Decoder::default();
        let frame = decoder.next(&mut &wire[..]).unwrap()?;
        let Body::Request(mut items) = frame.body else { panic!("{frame:?}") };
        let Item { opcode, offset, length, key, value } = items.next().unwrap();
        assert_eq!(items.next(), None);
        let (key, value) = (key.to_vec(), value.to_vec());
        Some(Sent { opcode, offset, length, key, value })
    }

    /// Answers an operation, and returns the next one of the same request.
    fn answer(&mut self, status: Status, value: &[u8]) -> Option<Sent> {
        let mut bytes = Vec::new();
        let frame = Frame::begin(FrameKind::Reply, 1, self.serial, Checksums::On, &mut bytes);
        encode_answer(&Answer { status, value }, &mut bytes);
        frame.finish(1, &mut bytes);
        self.serial += 1;
        assert_eq!(self.driver.receive(SLOT, &bytes, &mut self.reports), Ok(Next::Continue));
        self.driver.flush(SLOT, &mut self.reports);
        self.sent()
    }

    fn end(&mut self) -> (Outcome, &'static str, Vec<(u16, Outcome)>) {
        let steps = self.reports.steps.drain(..).map(|step| (step.label.0, step.outcome)).collect();
        let done = self.reports.done.pop().expect("it has ended");
        (done.outcome, done.why, steps)
    }
}

/// The slot of a field of a record, made in another way than the workload's.
fn slot_of(record: u64, field: u16) -> Vec<u8> {
    let mut text = format!("user{record}:field{field}");
    while text.len() < 16 {
        text.push(':');
        let hash = text.chars().fold(0_i32, |hash, c| hash.wrapping_mul(31).wrapping_add(c as i32));
        text.push_str(&hash.to_string());
    }
    [&[16, 0], &text.as_bytes()[..16]].concat()
}

fn record_of(record: u64) -> Vec<u8> {
    [slot_of(record, 0), slot_of(record, 1)].concat()
}

/// The record that a name is of.
fn number(name: &[u8]) -> u64 {
    std::str::from_utf8(name).unwrap().strip_prefix("user").unwrap().parse().unwrap()
}

#[test]
fn a_record_is_one_value_with_a_slot_for_each_field() {
    let mut client = Client::new(&[("insertproportion", "1")]);
    let (key, value) = (b"user10".to_vec(), record_of(10));
    let upsert = Sent { opcode: Opcode::Upsert, offset: 0, length: 0, key, value };
    assert_eq!(client.start(), upsert);
    assert_eq!(client.answer(Status::Ok, b""), None);
    assert_eq!(client.end(), (Outcome::Ok, "", vec![]));
    client.start();
    client.answer(Status::Full, b"");
    assert_eq!(client.end(), (Outcome::Status, "FULL", vec![]));
}

#[test]
fn a_read_is_of_the_record_or_of_the_slot_of_one_field() {
    let mut client = Client::new(&[("readproportion", "1")]);
    let sent = client.start();
    assert_eq!((sent.opcode, sent.length), (Opcode::Read, 0));
    client.answer(Status::Ok, &record_of(number(&sent.key)));
    assert_eq!(client.end(), (Outcome::Ok, "", vec![(VERIFY.0, Outcome::Ok)]));
    client.start();
    client.answer(Status::NotFound, b"");
    let verified = vec![(VERIFY.0, Outcome::Status)];
    assert_eq!(client.end(), (Outcome::Status, "NOT_FOUND", verified));
    let sent = client.start();
    client.answer(Status::Ok, &record_of(number(&sent.key) + 1));
    let verified = vec![(VERIFY.0, Outcome::Check)];
    assert_eq!(client.end(), (Outcome::Check, "UNEXPECTED_STATE", verified));
    // A record that is too short is not whole.
    let sent = client.start();
    client.answer(Status::Ok, &slot_of(number(&sent.key), 0));
    assert_eq!(client.end().0, Outcome::Check);

    let mut client = Client::new(&[("readproportion", "1"), ("readallfields", "false")]);
    let sent = client.start();
    assert_eq!((sent.opcode, sent.length), (Opcode::ReadAt, 18));
    let field = (sent.offset / 18) as u16;
    client.answer(Status::Ok, &slot_of(number(&sent.key), field));
    assert_eq!(client.end().0, Outcome::Ok);
}

#[test]
fn an_update_writes_one_slot_or_the_whole_record() {
    let mut client = Client::new(&[("updateproportion", "1")]);
    let sent = client.start();
    let field = (sent.offset / 18) as u16;
    assert_eq!((sent.opcode, sent.offset % 18, sent.length), (Opcode::WriteAt, 0, 18));
    assert_eq!(sent.value, slot_of(number(&sent.key), field));
    let mut client = Client::new(&[("updateproportion", "1"), ("writeallfields", "true")]);
    let sent = client.start();
    assert_eq!((sent.opcode, sent.value), (Opcode::Upsert, record_of(number(&sent.key))));
}

#[test]
fn a_read_modify_write_is_a_read_and_an_update_of_the_same_key() {
    let mut client = Client::new(&[("readmodifywriteproportion", "1")]);
    let read = client.start();
    assert_eq!(read.opcode, Opcode::Read);
    let update = client.answer(Status::Ok, &record_of(number(&read.key))).unwrap();
    assert_eq!((update.opcode, &update.key), (Opcode::WriteAt, &read.key));
    assert_eq!(client.answer(Status::Ok, b""), None);
    let steps = [label(Kind::Read), VERIFY, label(Kind::Update)];
    let steps = steps.map(|label| (label.0, Outcome::Ok)).to_vec();
    assert_eq!(client.end(), (Outcome::Ok, "", steps));
}

#[test]
fn keys_are_names_or_numbers_and_each_has_a_server() {
    let mut client = Client::new(&[("readproportion", "1"), ("kv.keys", "integer")]);
    let key = u64::from_le_bytes(client.start().key.try_into().unwrap());
    assert!(key < 10, "{key}");
    let properties = properties(&[("readproportion", "1"), ("insertorder", "hashed")]);
    let workload = Arc::new(workload(&properties));
    let shared = Arc::new(Shared::new(&workload));
    let new = |keys| {
        let stream = Stream::run(&workload, Part::WHOLE, 1, &shared);
        Kv::new(stream, keys, 3, false)
    };
    let (mut names, mut integers) = (new(Keys::Names), new(Keys::Integers));
    let mut counts = [[0; 3]; 2];
    for record in 0..3000 {
        let operation = Operation { kind: Kind::Read, record, length: 0, read: None, write: None };
        let request = Request::new(operation);
        for (binding, counts) in [&mut names, &mut integers].into_iter().zip(&mut counts) {
            counts[binding.node(&request).0 as usize] += 1;
        }
        let server = integers.node(&request).0 as u16;
        let share = crate::keys::Share { server, servers: 3 };
        assert!(share.has(workload.key(record)), "guide 5's client finds it there");
    }
    assert!(counts.iter().flatten().all(|count| (850..1150).contains(count)), "{counts:?}");
}

/// Appends a record as the result of a scan has it.
fn record(key: &str, value: usize) -> Vec<u8> {
    let mut bytes = (key.len() as u16).to_le_bytes().to_vec();
    bytes.extend_from_slice(&[0; 2]);
    bytes.extend_from_slice(&(value as u32).to_le_bytes());
    bytes.extend_from_slice(key.as_bytes());
    bytes.resize((bytes.len() + value).next_multiple_of(8), 7);
    bytes
}

#[test]
fn a_scan_goes_on_where_the_next_records_are() {
    let lengths = [("minscanlength", "4"), ("maxscanlength", "4")];
    let given = [&[("scanproportion", "1")], &lengths[..]].concat();
    let workload = Arc::new(workload(&properties(&given)));
    let shared = Arc::new(Shared::new(&workload));
    let stream = Stream::run(&workload, Part::WHOLE, 1, &shared);
    let mut kv = Kv::new(stream, Keys::Names, 3, false);
    let mut begun_at = [false; 3];
    for _ in 0..50 {
        let (label, mut request) = kv.next().unwrap();
        assert_eq!((label, request.wanted), (crate::binding::label(Kind::Scan), 4));
        let first = kv.node(&request).0;
        begun_at[first as usize] = true;
        let mut steps = Vec::new();
        let mut answered = |kv: &mut Kv, request: &mut Request, value: &[u8]| {
            let answer = Answer { status: Status::Ok, value };
            kv.answered(request, answer, &mut Steps::new(Token(1), &mut steps))
        };
        // As much as one answer has: the rest is on the same server.
        let long = record("user5", MOST_VALUE_BYTES - 100);
        assert_eq!(answered(&mut kv, &mut request, &long), (Verdict::OK, Then::GoOn));
        assert_eq!((request.wanted, request.behind.as_deref()), (3, Some(&b"user5"[..])));
        let two = [record("user6", 3), record("user7", 40)].concat();
        let mut then = answered(&mut kv, &mut request, &two).1;
        for next in first + 1..3 {
            assert_eq!((then, request.wanted), (Then::GoTo(Node(next)), 1));
            assert_eq!(request.behind, None);
            then = answered(&mut kv, &mut request, &[]).1;
        }
        // Behind the last server there are no further records.
        assert_eq!(then, Then::End);
        let (_, mut request) = kv.next().unwrap();
        let four = ["a", "b", "c", "d"].map(|key| record(key, 1)).concat();
        assert_eq!(answered(&mut kv, &mut request, &four), (Verdict::OK, Then::End));
        let (verdict, then) = answered(&mut kv, &mut request, &four[1..]);
        assert_eq!((verdict.outcome, then), (Outcome::Check, Then::End), "no result of a scan");
    }
    assert_eq!(begun_at, [true; 3]);
}

#[test]
fn what_the_store_cannot_do_is_refused_with_the_property() {
    for (given, why) in [
        (("maxscanlength", "10001"), "-p: the property `maxscanlength` is over 10000"),
        (("fieldlength", "65536"), "-p: the property `fieldlength` is over 65535"),
        (("fieldcount", "65000"), "-p: the property `fieldcount` makes records over 1 MiB"),
        (
            ("kv.keys", "names"),
            "-p: the property `kv.keys` is not a form of keys; write name or integer",
        ),
        (("kv.linger", "1"), "-p: the property `kv.linger` is not a time; write for example 100us"),
        (
            ("kv.linger", "10s"),
            "-p: the property `kv.linger` is 10s, and an operation fails after 10 s; write a shorter time, such as 100us",
        ),
        (("kv.rmw", "add"), "-p: the property `kv.rmw` is not supported"),
    ] {
        let properties = properties(&[("scanproportion", "1"), given]);
        let refusal = Settings::of(&properties, &workload(&properties), TIMEOUT).unwrap_err();
        assert!(refusal.to_string().starts_with(why), "{refusal}");
    }
    let servers = |text| servers(&properties(&[("kv.servers", text)]));
    assert_eq!(servers("a:1, b").unwrap(), ["a:1", "b"]);
    assert!(servers("").unwrap_err().to_string().contains("write -p kv.servers=HOST:PORT"));
}
