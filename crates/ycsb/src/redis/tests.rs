//! The commands of each kind of operation, as the original's binding sends them.

use load::driver::resp::{Resp, Terms};
use load::driver::{Asked, Reports, Token};
use load::{Driver, Session, Slot};

use super::*;
use crate::properties::Place;
use crate::stream::Shared;
use crate::workload::Part as Portion;

const SLOT: Slot = Slot(0);

/// A driver for a mix of ten records with two fields of 16 bytes.
struct Client {
    driver: Resp<Redis>,
    reports: Reports,
}

impl Client {
    fn new(properties: &[(&str, &str)]) -> Client {
        let mut all = Properties::default();
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
        for (name, value) in of_all.iter().chain(properties) {
            all.set(name, value, Place::Argument("-p".into()));
        }
        let workload = Arc::new(Workload::new(&all, Portion::WHOLE, |_| unreachable!()).unwrap());
        let shared = Arc::new(Shared::new(&workload));
        let stream = Stream::run(&workload, Portion::WHOLE, 1, &shared);
        let terms = Terms { pipeline: 1, ..Terms::default() };
        Client {
            driver: Resp::new(1, terms, Redis::new(stream, false)),
            reports: Reports::default(),
        }
    }

    /// Starts the next operation, and returns its commands.
    fn start(&mut self) -> String {
        let (label, session) = (Label::NONE, Session::NONE);
        let asked = Asked { token: Token(1), number: 0, label, session, again: false };
        self.driver.start(SLOT, asked, &mut self.reports).unwrap();
        self.written()
    }

    /// Receives a reply, and returns the commands that follow.
    fn receive(&mut self, reply: &str) -> String {
        self.driver.receive(SLOT, reply.as_bytes(), &mut self.reports).unwrap();
        self.written()
    }

    fn written(&mut self) -> String {
        let wire = String::from_utf8(std::mem::take(&mut self.reports.wire)).unwrap();
        let mut text = String::new();
        for line in wire.lines().filter(|line| !line.starts_with('$')) {
            match line.strip_prefix('*') {
                Some(_) if text.is_empty() => {}
                Some(_) => text.push_str("; "),
                None if text.is_empty() || text.ends_with("; ") => text.push_str(line),
                None => text.extend([" ", line]),
            }
        }
        text
    }

    /// The end of the operation: its outcome and its steps by label.
    fn end(&mut self) -> (Outcome, &'static str, Vec<(u16, Outcome)>) {
        let steps = self.reports.steps.drain(..).map(|step| (step.label.0, step.outcome)).collect();
        let done = self.reports.done.pop().expect("it has ended");
        (done.outcome, done.why, steps)
    }
}

/// The fields of a record as HGETALL returns them, the second one first.
fn record(name: &str) -> String {
    let key = key(name);
    let mut text = "*4\r\n".to_owned();
    for field in [1, 0] {
        let value = value(key, field);
        text.push_str(&format!("$6\r\nfield{field}\r\n$16\r\n{value}\r\n"));
    }
    text
}

/// The value that belongs to a record, in another way than the workload's.
fn value(key: u64, field: u16) -> String {
    let mut text = format!("user{key}:field{field}");
    while text.len() < 16 {
        text.push(':');
        let hash = text.chars().fold(0_i32, |hash, c| hash.wrapping_mul(31).wrapping_add(c as i32));
        text.push_str(&hash.to_string());
    }
    text.truncate(16);
    text
}

const OK: (Outcome, &str) = (Outcome::Ok, "");

#[test]
fn a_read_asks_for_all_fields_and_compares_them() {
    let mut client = Client::new(&[("readproportion", "1")]);
    let name = whole(&client.start());
    client.receive(&values(&name));
    assert_eq!(client.end(), (Outcome::Ok, "", vec![(VERIFY, Outcome::Ok)]));
    client.start();
    client.receive("*2\r\n$-1\r\n$-1\r\n");
    let absent = vec![(VERIFY, Outcome::Status)];
    assert_eq!(client.end(), (Outcome::Status, "no such record", absent));
    let name = whole(&client.start());
    client.receive(&values(&name).replace(":field1", ":fieldX"));
    let wrong = vec![(VERIFY, Outcome::Check)];
    assert_eq!(client.end(), (Outcome::Check, "UNEXPECTED_STATE", wrong));
    // A record without one of its fields is not whole.
    let name = whole(&client.start());
    client.receive(&format!("*2\r\n$16\r\n{}\r\n$-1\r\n", value(key(&name), 0)));
    assert_eq!(client.end().0, Outcome::Check);
    let mut client = Client::new(&[("readproportion", "1"), ("dataintegrity", "false")]);
    assert!(client.start().starts_with("HGETALL user"));
    client.receive("*0\r\n");
    assert_eq!(client.end(), (Outcome::Status, "no such record", vec![]));
}

/// The name in a command that reads both fields.
fn whole(command: &str) -> String {
    let rest = command.strip_prefix("HMGET ").unwrap();
    rest.strip_suffix(" field0 field1").unwrap().to_owned()
}

fn key(name: &str) -> u64 {
    name.strip_prefix("user").unwrap().parse().unwrap()
}

/// The values of a record as HMGET returns them.
fn values(name: &str) -> String {
    let value = |field| format!("$16\r\n{}\r\n", value(key(name), field));
    format!("*2\r\n{}{}", value(0), value(1))
}

const VERIFY: u16 = crate::binding::VERIFY.0;

#[test]
fn fields_are_asked_for_by_name_if_the_workload_says_so() {
    let mut client = Client::new(&[("readproportion", "1"), ("readallfields", "false")]);
    let command = client.start();
    let words: Vec<&str> = command.split(' ').collect();
    let [name, key, field] = words[..] else { panic!("{command}") };
    assert_eq!((name, field.starts_with("field")), ("HMGET", true));
    let key = key.strip_prefix("user").unwrap().parse().unwrap();
    let field = field.strip_prefix("field").unwrap().parse().unwrap();
    client.receive(&format!("*1\r\n$16\r\n{}\r\n", value(key, field)));
    assert_eq!(client.end().0, Outcome::Ok);
    client.start();
    client.receive("*1\r\n$-1\r\n");
    assert_eq!(client.end().1, "no such record");
    let mut client = Client::new(&[("readproportion", "1"), ("readallfieldsbyname", "true")]);
    let command = client.start();
    assert!(command.starts_with("HMGET ") && command.ends_with(" field0 field1"), "{command}");
}

#[test]
fn an_insert_writes_the_record_and_enters_it_into_the_index() {
    let mut client = Client::new(&[("insertproportion", "1")]);
    let (first, second) = (value(10, 0), value(10, 1));
    let score =
        "user10".chars().fold(0_i32, |hash, c| hash.wrapping_mul(31).wrapping_add(c as i32));
    assert_eq!(
        client.start(),
        format!("HMSET user10 field0 {first} field1 {second}; ZADD _indices {score} user10")
    );
    client.receive("+OK\r\n:1\r\n");
    assert_eq!(client.end(), (OK.0, OK.1, vec![]));
    assert!(client.start().starts_with("HMSET user11 "));
    client.receive("+OK\r\n-OOM no memory\r\n");
    assert_eq!(client.end(), (Outcome::Status, "OOM", vec![]));
}

#[test]
fn a_scan_reads_the_records_that_it_finds_in_one_write() {
    let mut client = Client::new(&[
        ("scanproportion", "1"),
        ("minscanlength", "7"),
        ("maxscanlength", "7"),
        ("insertorder", "hashed"),
    ]);
    let command = client.start();
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!((words[0], words[1]), ("ZRANGEBYSCORE", "_indices"));
    words[2].parse::<i32>().unwrap();
    assert_eq!(words[3..], ["+inf", "LIMIT", "0", "7"]);
    let following = client.receive("*2\r\n$5\r\nuser1\r\n$5\r\nuser2\r\n");
    assert_eq!(following, "HGETALL user1; HGETALL user2");
    client.receive(&(record("user1") + &record("user2")));
    assert_eq!(client.end(), (OK.0, OK.1, vec![]));
    client.start();
    client.receive("*1\r\n$5\r\nuser1\r\n");
    client.receive("*0\r\n");
    assert_eq!(client.end().1, "no such record", "the index has a record that is not there");
    client.start();
    assert_eq!(client.receive("*0\r\n"), "");
    assert_eq!(client.end().0, Outcome::Ok, "nothing is behind the last record");
}

#[test]
fn a_read_modify_write_is_a_read_and_an_update_of_the_same_record() {
    let mut client = Client::new(&[("readmodifywriteproportion", "1")]);
    let command = client.start();
    let name = command.strip_prefix("HGETALL ").unwrap().to_owned();
    let update = client.receive(&record(&name));
    assert!(update.starts_with(&format!("HMSET {name} field")), "{update}");
    assert_eq!(update.split(' ').count(), 4, "one field is written");
    client.receive("+OK\r\n");
    let (read, update) = (label(Kind::Read).0, label(Kind::Update).0);
    let steps = vec![(read, Outcome::Ok), (VERIFY, Outcome::Ok), (update, Outcome::Ok)];
    assert_eq!(client.end(), (OK.0, OK.1, steps));
}

#[test]
fn negative_scores_are_written_in_decimal() {
    let mut out = Vec::new();
    let mut commands = Commands::new(&mut out);
    commands.begin(b"ZADD", 3);
    score(b"user6284781860667377211", &mut commands);
    score(b"user1", &mut commands);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "*3\r\n$4\r\nZADD\r\n$10\r\n-594971599\r\n$9\r\n111578566\r\n");
}

#[test]
fn the_server_is_that_of_the_properties_and_a_cluster_is_refused() {
    let mut properties = Properties::default();
    let server = Server::of(&properties).unwrap();
    let host = "127.0.0.1".to_owned();
    let timeout = Nanos::from_secs(2);
    assert_eq!(server, Server { host, port: 6379, password: None, timeout });
    for (name, value, why) in [
        (
            "redis.cluster",
            "true",
            "-p: the property `redis.cluster` is true, and this client does not follow a cluster; remove it, and name one server",
        ),
        (
            "redis.port",
            "0",
            "-p: the property `redis.port` is not a port; write a number from 1 to 65535, such as 6379",
        ),
        (
            "redis.timeout",
            "1s",
            "-p: the property `redis.timeout` is not a time; write milliseconds from 1 to 86400000",
        ),
    ] {
        properties.set(name, value, Place::Argument("-p".into()));
        assert_eq!(Server::of(&properties).unwrap_err().to_string(), why);
        properties = Properties::default();
    }
}
