//! The driver on its own: commands out, replies in.

use super::*;
use crate::driver::{Node, Session};

const SLOT: Slot = Slot(0);
const READ: Label = Label(0);
const UPDATE: Label = Label(1);
const BOTH: Label = Label(2);

/// A workload of requests by turns: GET; SET and ZADD together; GET and then SET.
#[derive(Default)]
struct Turns {
    next: u32,
    ended: Vec<Outcome>,
    has_ended: bool,
}

impl RespWorkload for Turns {
    /// The kind of the request, and the parts of it that are answered.
    type Request = (u32, u32);

    fn next(&mut self, commands: &mut Commands<'_>) -> Result<(Label, (u32, u32)), Fault> {
        let kind = self.next % 3;
        self.next += 1;
        let label = [READ, UPDATE, BOTH][kind as usize];
        match kind {
            1 => {
                commands.begin(b"SET", 2);
                commands.word(b"k");
                commands.begin(b"ZADD", 2);
                commands.word(b"k");
            }
            _ => {
                commands.begin(b"GET", 2);
                commands.word(b"k");
            }
        }
        Ok((label, (kind, 0)))
    }

    fn reply(&mut self, _: &mut (u32, u32), reply: Value<'_>, _: &mut Commands<'_>) -> Verdict {
        if reply == Value::Null { Verdict::status("nothing") } else { Verdict::OK }
    }

    fn answered(
        &mut self,
        request: &mut (u32, u32),
        verdict: Verdict,
        steps: &mut Steps<'_>,
        commands: &mut Commands<'_>,
    ) {
        request.1 += 1;
        match request {
            (2, 1) => {
                steps.ended(READ, verdict.outcome);
                commands.begin(b"SET", 2);
                commands.word(b"k");
            }
            (2, _) => steps.ended(UPDATE, verdict.outcome),
            _ => {}
        }
    }

    fn ended(&mut self, _: (u32, u32), outcome: Outcome) {
        self.ended.push(outcome);
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }
}

fn driver(login: Login) -> Resp<Turns> {
    Resp::new(1, Terms { pipeline: 4, login }, Turns::default())
}

fn open(driver: &mut Resp<Turns>, reports: &mut Reports) -> Next {
    driver.opened(SLOT, Opening { node: Node(0), alpn: None }, reports)
}

/// Starts a request, and returns the words that it writes.
fn start(driver: &mut Resp<Turns>, token: u32, reports: &mut Reports) -> String {
    let (label, session) = (Label::NONE, Session::NONE);
    let asked = Asked { token: Token(token), number: 0, label, session, again: false };
    driver.start(SLOT, asked, reports).unwrap();
    words(reports)
}

fn words(reports: &mut Reports) -> String {
    let wire = std::mem::take(&mut reports.wire);
    let text = String::from_utf8(wire).unwrap();
    text.lines().filter(|line| !line.starts_with(['*', '$'])).collect::<Vec<_>>().join(" ")
}

fn receive(driver: &mut Resp<Turns>, bytes: &str, reports: &mut Reports) -> Next {
    driver.receive(SLOT, bytes.as_bytes(), reports).unwrap()
}

fn outcomes(reports: &mut Reports) -> Vec<(u32, Outcome, &'static str)> {
    reports.done.drain(..).map(|done| (done.token.0, done.outcome, done.why)).collect()
}

fn steps(reports: &mut Reports) -> Vec<(u32, Label, Outcome)> {
    reports.steps.drain(..).map(|step| (step.token.0, step.label, step.outcome)).collect()
}

#[test]
fn replies_end_requests_in_their_order_and_the_last_one_counts() {
    let (mut driver, mut reports) = (driver(Login::default()), Reports::default());
    assert_eq!(open(&mut driver, &mut reports), Next::Greeting(None));
    assert_eq!(words(&mut reports), "PING");
    assert_eq!(receive(&mut driver, "+PONG\r\n", &mut reports), Next::Ready(None));
    assert_eq!(start(&mut driver, 5, &mut reports), "GET k");
    assert_eq!(start(&mut driver, 6, &mut reports), "SET k ZADD k");
    assert_eq!(driver.room(SLOT), 2);
    assert_eq!(receive(&mut driver, "$1\r\nx\r\n+OK\r\n", &mut reports), Next::Continue);
    assert_eq!(reports.begun, [Token(5), Token(6)]);
    assert_eq!(outcomes(&mut reports), [(5, Outcome::Ok, "")]);
    receive(&mut driver, ":1\r\n", &mut reports);
    assert_eq!(outcomes(&mut reports), [(6, Outcome::Ok, "")]);
    assert_eq!((driver.room(SLOT), &*driver.workload.ended), (4, &[Outcome::Ok; 2][..]));
    assert_eq!(receive(&mut driver, "+more\r\n", &mut reports), Next::Unasked);
}

#[test]
fn a_read_modify_write_waits_behind_the_requests_that_were_written_before_its_second_half() {
    let (mut driver, mut reports) = (driver(Login::default()), Reports::default());
    driver.workload.next = 2;
    start(&mut driver, 1, &mut reports);
    start(&mut driver, 2, &mut reports);
    receive(&mut driver, "$1\r\nx\r\n", &mut reports);
    assert_eq!(words(&mut reports), "SET k");
    assert_eq!(steps(&mut reports), [(1, READ, Outcome::Ok)]);
    assert!(reports.done.is_empty());
    receive(&mut driver, "$1\r\ny\r\n+OK\r\n", &mut reports);
    assert_eq!(outcomes(&mut reports), [(2, Outcome::Ok, ""), (1, Outcome::Ok, "")]);
    assert_eq!(steps(&mut reports), [(1, UPDATE, Outcome::Ok)]);
    assert_eq!(reports.begun, [Token(1), Token(2)], "a request begins to be answered once");
}

#[test]
fn an_error_or_a_bad_reply_is_the_outcome_whatever_follows() {
    let (mut driver, mut reports) = (driver(Login::default()), Reports::default());
    driver.workload.next = 1;
    start(&mut driver, 1, &mut reports);
    receive(&mut driver, "-OOM no memory\r\n:1\r\n", &mut reports);
    assert_eq!(outcomes(&mut reports), [(1, Outcome::Status, "OOM")]);
    // The read of a read-modify-write fails; its update does not.
    start(&mut driver, 2, &mut reports);
    receive(&mut driver, "$-1\r\n", &mut reports);
    receive(&mut driver, "+OK\r\n", &mut reports);
    assert_eq!(steps(&mut reports), [(2, READ, Outcome::Status), (2, UPDATE, Outcome::Ok)]);
    assert_eq!(outcomes(&mut reports), [(2, Outcome::Status, "nothing")]);
}

#[test]
fn a_connection_logs_in_before_it_carries_requests() {
    let login = Login { user: None, password: Some("secret".into()), database: 3 };
    assert!(!format!("{login:?}").contains("secret"));
    let (mut driver, mut reports) = (driver(login), Reports::default());
    assert_eq!(open(&mut driver, &mut reports), Next::Greeting(None));
    assert_eq!(words(&mut reports), "AUTH secret SELECT 3");
    assert_eq!(receive(&mut driver, "+OK\r\n", &mut reports), Next::Greeting(None));
    assert_eq!(receive(&mut driver, "+OK\r\n", &mut reports), Next::Ready(None));
    driver.closed(SLOT, Lost::ByUs, &mut reports).unwrap();
    open(&mut driver, &mut reports);
    let refused = receive(&mut driver, "-WRONGPASS invalid\r\n", &mut reports);
    let why = "the server refuses the password (WRONGPASS)";
    assert_eq!(refused, Next::Fail(Outcome::Connect, why));
    for (error, why) in [
        ("ERR max number of clients reached", IS_FULL),
        (
            "ERR AUTH <password> called without any password configured for the default user. Are \
             you sure your configuration is correct?",
            HAS_NO_PASSWORD,
        ),
        ("ERR unknown command 'AUTH'", "the server refuses AUTH or SELECT"),
    ] {
        driver.closed(SLOT, Lost::ByUs, &mut reports).unwrap();
        open(&mut driver, &mut reports);
        let refused = receive(&mut driver, &format!("-{error}\r\n"), &mut reports);
        assert_eq!(refused, Next::Fail(Outcome::Connect, why), "{error}");
    }
}

#[test]
fn a_lost_connection_ends_its_requests_each_once() {
    let (mut driver, mut reports) = (driver(Login::default()), Reports::default());
    start(&mut driver, 1, &mut reports);
    start(&mut driver, 2, &mut reports);
    receive(&mut driver, "$5\r\nhal", &mut reports);
    driver.closed(SLOT, Lost::TooLate(Token(2)), &mut reports).unwrap();
    let neighbour = "its connection was given up, as another request had no response in time";
    assert_eq!(
        outcomes(&mut reports),
        [(1, Outcome::Reset, neighbour), (2, Outcome::Timeout, "no response in time")]
    );
    assert_eq!(driver.workload.ended, [Outcome::Reset, Outcome::Timeout]);
    // The half of the reply is forgotten with its connection.
    driver.workload.next = 0;
    start(&mut driver, 3, &mut reports);
    receive(&mut driver, "+OK\r\n", &mut reports);
    assert_eq!(outcomes(&mut reports), [(3, Outcome::Ok, "")]);
    start(&mut driver, 4, &mut reports);
    let malformed = receive(&mut driver, "HTTP/1.1 200 OK\r\n", &mut reports);
    assert_eq!(malformed, Next::Fail(Outcome::Malformed, "a reply of an unknown type"));
}

#[test]
fn a_server_that_wants_a_password_is_found_before_a_request() {
    let greeted = |database: u32, replies: &str| {
        let login = Login { database, ..Login::default() };
        let (mut driver, mut reports) = (driver(login), Reports::default());
        open(&mut driver, &mut reports);
        receive(&mut driver, replies, &mut reports)
    };
    assert_eq!(greeted(0, "-NOAUTH needed\r\n"), Next::Fail(Outcome::Connect, WANTS_PASSWORD));
    // Who may not ask by PING may still do what the requests need.
    assert_eq!(greeted(0, "-NOPERM ping\r\n"), Next::Ready(None));
    assert_eq!(greeted(3, "-NOPERM ping\r\n+OK\r\n"), Next::Ready(None));
    let refused = "the server does not permit this user to do so (NOPERM)";
    // A server without room for a connection, or for a stranger, answers no command.
    let full = "-ERR max number of clients reached\r\n";
    assert_eq!(greeted(0, full), Next::Fail(Outcome::Connect, IS_FULL));
    let protected = "the server is in protected mode, and refuses this address (DENIED)";
    let denied = "-DENIED Redis is running in protected mode\r\n";
    assert_eq!(greeted(0, denied), Next::Fail(Outcome::Connect, protected));
    let absent = "the server has no database with this number";
    let database = "+PONG\r\n-ERR DB index is out of range\r\n";
    assert_eq!(greeted(99, database), Next::Fail(Outcome::Connect, absent));
    let both = "-NOPERM ping\r\n-NOPERM select\r\n";
    assert_eq!(greeted(3, both), Next::Fail(Outcome::Connect, refused));
}

#[test]
fn what_a_server_says_before_it_closes_is_the_reason() {
    let (mut driver, mut reports) = (driver(Login::default()), Reports::default());
    driver.workload.next = 1;
    start(&mut driver, 1, &mut reports);
    start(&mut driver, 2, &mut reports);
    // The answer to the first one of two commands.
    receive(&mut driver, "-ERR Protocol error: unauthenticated multibulk length\r\n", &mut reports);
    driver.closed(SLOT, Lost::By(net::Closed::ByPeer), &mut reports).unwrap();
    let closed = "the server closed the connection";
    let said = (1, Outcome::Status, "ERR Protocol error");
    assert_eq!(outcomes(&mut reports), [said, (2, Outcome::Reset, closed)]);
}

#[test]
fn a_workload_that_has_ended_gets_no_room_and_stops_once_all_is_answered() {
    let (mut driver, mut reports) = (driver(Login::default()), Reports::default());
    start(&mut driver, 1, &mut reports);
    driver.workload.has_ended = true;
    assert_eq!((driver.room(SLOT), driver.has_stopped()), (0, false));
    receive(&mut driver, "+OK\r\n", &mut reports);
    assert!(driver.has_stopped());
}
