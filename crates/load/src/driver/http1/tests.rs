use super::*;
use crate::driver::Token;

const SLOT: Slot = Slot(0);

const ASKED: Asked =
    Asked { token: Token(7), number: 0, label: Label::NONE, session: Session::NONE, again: false };

/// Sends one request, delivers the given slices of a response, and returns the outcome.
fn check(slices: &[&str]) -> String {
    check_method("GET", slices)
}

fn check_method(method: &str, slices: &[&str]) -> String {
    let mut driver = Http1::new(1, Static::new(method, "/", &[("Host", "x")], b""));
    let mut reports = Reports::default();
    driver.start(SLOT, ASKED, &mut reports).unwrap();
    assert_eq!(reports.wire, format!("{method} / HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    let mut next = Next::Continue;
    for slice in slices {
        next = driver.receive(SLOT, slice.as_bytes(), &mut reports).unwrap();
        if next == Next::Close {
            break;
        }
    }
    if reports.done.is_empty() {
        driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
    }
    assert_eq!(driver.room(SLOT), 1, "a request has one outcome");
    let begun = usize::from(slices.iter().any(|slice| !slice.is_empty()));
    assert_eq!(reports.begun.len(), begun, "a response begins once");
    let [Done { token: Token(7), outcome, status, .. }] = reports.done[..] else {
        panic!("{reports:?}")
    };
    format!("{} {status} {next:?}", outcome.name())
}

#[test]
fn a_response_becomes_an_outcome() {
    for (slices, outcome) in [
        (&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"][..], "ok 200 Continue"),
        (&["HTTP/1.1 200 OK\r\nContent-", "Length: 2\r\n\r\no", "k"], "ok 200 Continue"),
        (&["HTTP/1.1 204 No Content\r\n\r\n"], "ok 204 Continue"),
        (&["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"], "status 404 Continue"),
        (&["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"], "ok 200 Close"),
        (&["HTTP/1.1 200 OK\r\n\r\nuntil the close"], "ok 200 Continue"),
        (&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"], "reset 200 Continue"),
        (&["nonsense\r\n\r\n"], "malformed 0 Close"),
        (&[], "reset 0 Continue"),
        // The response is valid; the connection with the extra bytes is not.
        (&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay"], "ok 200 Unasked"),
    ] {
        assert_eq!(check(slices), outcome, "{slices:?}");
    }
}

/// Checks the outcome of a response, whole and cut at every position. The connection is then
/// closed, if the response needs that.
fn check_cuts(method: &str, answer: &str, outcome: &str) {
    assert_eq!(check_method(method, &[answer]), outcome, "{method} {answer:?}");
    for cut in (1..answer.len()).filter(|&cut| answer.is_char_boundary(cut)) {
        let (a, b) = answer.split_at(cut);
        assert_eq!(check_method(method, &[a, b]), outcome, "{method} {answer:?} cut at {cut}");
    }
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";

#[test]
fn responses_without_a_body_end_with_their_head_whatever_its_fields() {
    let counted = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    check_cuts("HEAD", counted, "ok 200 Continue");
    check_cuts("GET", counted, "reset 200 Continue");
    check_cuts("HEAD", &format!("{CHUNKED}\r\n"), "ok 200 Continue");
    check_cuts("HEAD", "HTTP/1.1 200 OK\r\n\r\n", "ok 200 Continue");
    check_cuts("HEAD", "HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\n", "status 404 Continue");
    for status in [204, 304] {
        for field in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
            let answer = format!("HTTP/1.1 {status} Nothing\r\n{field}\r\n");
            check_cuts("GET", &answer, &format!("ok {status} Continue"));
        }
    }
}

#[test]
fn interim_answers_are_skipped_but_a_switch_of_protocols_is_malformed() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n\
                   HTTP/1.1 102 Processing\r\nContent-Length: 9\r\n\r\n\
                   HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    check_cuts("GET", &format!("{interim}{answer}"), "ok 200 Continue");
    check_cuts("HEAD", &format!("{interim}HTTP/1.1 204 No\r\n\r\n"), "ok 204 Continue");
    // They are not final responses.
    check_cuts("GET", interim, "reset 0 Continue");
    let switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
    check_cuts("GET", switch, "malformed 0 Close");
    check_cuts("GET", &format!("{interim}{switch}"), "malformed 0 Close");
}

#[test]
fn codings_and_lengths_determine_where_a_response_ends() {
    let with = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}");
    let chunks = "3;a=\"b\"\r\nabc\r\n2\r\nde\r\n0\r\n";
    for (answer, outcome) in [
        (format!("{CHUNKED}\r\n{chunks}\r\n"), "ok 200 Continue"),
        (format!("{CHUNKED}\r\n{chunks}Checksum: 5\r\nX: y\r\n\r\n"), "ok 200 Continue"),
        (format!("{CHUNKED}\r\n{chunks}Checksum: 5\r\n"), "reset 200 Continue"),
        (format!("{CHUNKED}\r\n3\r\nabc"), "reset 200 Continue"),
        (format!("{CHUNKED}\r\nx\r\n"), "malformed 200 Close"),
        // An intermediary may have misread a response with both fields.
        (format!("{CHUNKED}Content-Length: 5\r\n\r\n{chunks}\r\n"), "malformed 0 Close"),
        (with("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), "ok 200 Continue"),
        (
            with("Transfer-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n", "0\r\n\r\n"),
            "ok 200 Continue",
        ),
        // A body in any other coding lasts until the connection ends.
        (with("Transfer-Encoding: gzip\r\n", "zzz"), "ok 200 Continue"),
        (with("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"), "ok 200 Continue"),
        (with("Transfer-Encoding: gzip\r\nContent-Length: 9\r\n", ""), "malformed 0 Close"),
        (with("", "until the end"), "ok 200 Continue"),
        (with("", ""), "ok 200 Continue"),
        (with("Content-Length: 2\r\nContent-Length: 2\r\n", "ok"), "ok 200 Continue"),
        (with("Content-Length: 2, 2\r\ncontent-length: 02\r\n", "ok"), "ok 200 Continue"),
        (with("Content-Length: 2\r\nContent-Length: 3\r\n", ""), "malformed 0 Close"),
        (with("Content-Length: 2, 3\r\n", ""), "malformed 0 Close"),
        (with("Content-Length: +2\r\n", ""), "malformed 0 Close"),
        (with("Content-Length:\r\n", ""), "malformed 0 Close"),
        (with("Content-Length: 18446744073709551616\r\n", ""), "malformed 0 Close"),
        (with("Content-Length: 2\r\n", "o"), "reset 200 Continue"),
        (with("Content-Length: 2\r\n", ""), "reset 200 Continue"),
        ("HTTP/1.1 200 OK\r\nContent-".to_owned(), "reset 0 Continue"),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok".to_owned(), "ok 200 Continue"),
    ] {
        check_cuts("GET", &answer, outcome);
    }
}

/// Checks whether the connection is kept, for a response without a body.
#[test]
fn a_connection_is_kept_or_closed_as_the_answer_says() {
    for (version, connection, next) in [
        ("1.1", "", "Continue"),
        ("1.1", "Connection: close\r\n", "Close"),
        ("1.1", "connection: CLOSE\r\n", "Close"),
        ("1.1", "Connection: Upgrade ,  Close,foo\r\n", "Close"),
        ("1.1", "Connection: foo\r\nConnection: close\r\n", "Close"),
        ("1.1", "Connection: keep-alive, close\r\n", "Close"),
        ("1.1", "Connection: closed, not-close\r\n", "Continue"),
        ("1.1", "X-Connection: close\r\n", "Continue"),
        ("1.0", "", "Close"),
        ("1.0", "Connection: keep-alive\r\n", "Continue"),
        ("1.0", "CONNECTION: foo, Keep-Alive\r\n", "Continue"),
        ("1.0", "Connection: keep-alive, close\r\n", "Close"),
    ] {
        let answer = format!("HTTP/{version} 200 OK\r\n{connection}Content-Length: 0\r\n\r\n");
        check_cuts("GET", &answer, &format!("ok 200 {next}"));
    }
    let until_close = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nall";
    check_cuts("GET", until_close, "ok 200 Continue");
}

#[test]
fn unrequested_bytes_close_the_connection_and_fail_no_request() {
    let request = Static::new("GET", "/", &[], b"");
    let mut driver = Http1::new(1, request).with_pipeline(2);
    let answer: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let mut reports = Reports::default();
    // On a fresh connection, and behind the last answer.
    assert_eq!(driver.receive(SLOT, b"HTTP/1.1 408 Timeout\r\n", &mut reports), Ok(Next::Unasked));
    driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
    assert!(reports.begun.is_empty() && reports.done.is_empty());
    assert_eq!(driver.receive(SLOT, b"", &mut reports), Ok(Next::Continue));
    for token in [1, 2] {
        driver.start(SLOT, Asked { token: Token(token), ..ASKED }, &mut reports).unwrap();
    }
    let stray = [answer, answer, answer].concat();
    assert_eq!(driver.receive(SLOT, &stray, &mut reports), Ok(Next::Unasked));
    driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
    let outcomes: Vec<_> = reports.done.iter().map(|done| (done.token.0, done.outcome)).collect();
    assert_eq!(outcomes, [(1, Outcome::Ok), (2, Outcome::Ok)]);
}

/// A workload of three requests that are sent together; the second has a response without a body.
#[derive(Default)]
struct Three {
    wanted: Option<Wanted>,
    calls: Vec<String>,
}

impl HttpWorkload for Three {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        for (tag, body) in [(10, Expect::Body), (20, Expect::NoBody), (30, Expect::Body)] {
            request.wire.push(b'0' + of.number as u8);
            request.expected.push(Expected { body, tag, closes: false });
        }
        request.label = Label(3);
        Ok(())
    }

    fn wanted(&mut self, _connection: u32, _tag: u32) -> Wanted {
        self.wanted.unwrap_or(Wanted::Nothing)
    }

    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        let Response { status, head, body, body_length, connection, tag } = *answer;
        let fields: Vec<_> = wire::http1::fields(head).map(|(name, _)| name).collect();
        let body = String::from_utf8_lossy(body);
        self.calls
            .push(format!("{tag} {status} {fields:?} {body:?} of {body_length} on {connection}"));
        Ok((outcome_of(status), ""))
    }

    fn failed(&mut self, outcome: Outcome, tag: u32) -> Result<(), Fault> {
        self.calls.push(format!("{tag} {}", outcome.name()));
        Ok(())
    }
}

const THREE_ANSWERS: &str = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nok\
                             HTTP/1.1 100 Continue\r\n\r\n\
                             HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\
                             HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";

#[test]
fn requests_that_are_sent_together_are_done_with_the_last_response() {
    for cut in 0..THREE_ANSWERS.len() {
        let three = Three { wanted: Some(Wanted::Body), ..Three::default() };
        let mut driver = Http1::new(1, three).with_pipeline(2);
        let mut reports = Reports::default();
        let Started { label, .. } = driver.start(SLOT, ASKED, &mut reports).unwrap();
        assert_eq!((&*reports.wire, label, driver.room(SLOT)), (&b"000"[..], Label(3), 1));
        let (a, b) = THREE_ANSWERS.as_bytes().split_at(cut);
        driver.receive(SLOT, a, &mut reports).unwrap();
        driver.receive(SLOT, b, &mut reports).unwrap();
        let done = Done {
            token: Token(7),
            outcome: Outcome::Status,
            status: 503,
            answers: 3,
            bad: 1,
            bytes: 2,
            why: "",
        };
        assert_eq!((reports.done, reports.begun), (vec![done], vec![Token(7)]), "cut at {cut}");
        assert_eq!(
            driver.workload().calls,
            [
                r#"10 200 ["A", "Content-Length"] "ok" of 2 on 0"#,
                r#"20 200 ["Content-Length"] "" of 0 on 0"#,
                r#"30 503 ["Content-Length"] "" of 0 on 0"#,
            ],
        );
    }
}

#[test]
fn a_group_that_is_cut_off_fails_as_one_and_its_workload_gets_each_failure() {
    let mut driver = Http1::new(1, Three::default()).with_pipeline(2);
    let mut reports = Reports::default();
    driver.start(SLOT, ASKED, &mut reports).unwrap();
    driver.start(SLOT, Asked { token: Token(8), ..ASKED }, &mut reports).unwrap();
    assert_eq!(driver.room(SLOT), 0);
    driver.receive(SLOT, &THREE_ANSWERS.as_bytes()[..60], &mut reports).unwrap();
    driver.closed(SLOT, Lost::TooLate(Token(8)), &mut reports).unwrap();
    let outcomes: Vec<_> = reports.done.iter().map(|d| (d.token.0, d.outcome, d.answers)).collect();
    assert_eq!(outcomes, [(7, Outcome::Reset, 1), (8, Outcome::Timeout, 0)]);
    let calls = &driver.workload().calls;
    assert_eq!(calls[..], ["20 reset", "30 reset", "10 timeout", "20 timeout", "30 timeout"]);
    assert_eq!(driver.room(SLOT), 2, "the slot is as new");
}

#[test]
fn a_body_longer_than_allowed_is_malformed_with_the_reason() {
    let request = Static::new("GET", "/", &[], b"");
    let mut driver = Http1::new(1, request).with_most_body(4);
    let mut reports = Reports::default();
    driver.start(SLOT, ASKED, &mut reports).unwrap();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(driver.receive(SLOT, answer, &mut reports), Ok(Next::Close));
    let [Done { outcome: Outcome::Malformed, why, .. }] = reports.done[..] else { panic!() };
    assert_eq!(why, "the body is longer than --max-body");
}

/// A peer that announces more than it sends would otherwise cost the timeout of each request.
#[test]
fn a_body_that_is_announced_longer_than_allowed_ends_at_once() {
    for (head, next) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Next::Close),
        ("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nab", Next::Close),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", Next::Close),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\n", Next::Close),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n", Next::Close),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", Next::Continue),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\n", Next::Continue),
        ("HTTP/1.1 200 OK\r\n\r\nab", Next::Continue),
    ] {
        let mut driver = Http1::new(1, Static::new("GET", "/", &[], b"")).with_most_body(4);
        let mut reports = Reports::default();
        driver.start(SLOT, ASKED, &mut reports).unwrap();
        assert_eq!(driver.receive(SLOT, head.as_bytes(), &mut reports), Ok(next), "{head:?}");
        let done: Vec<_> = reports.done.iter().map(|done| (done.outcome, done.why)).collect();
        let expected = (Outcome::Malformed, "the body is longer than --max-body");
        assert_eq!(done, if next == Next::Close { vec![expected] } else { vec![] }, "{head:?}");
    }
    // An answer to HEAD announces a body that never follows.
    let mut driver = Http1::new(1, Static::new("HEAD", "/", &[], b"")).with_most_body(4);
    let mut reports = Reports::default();
    driver.start(SLOT, ASKED, &mut reports).unwrap();
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(driver.receive(SLOT, head, &mut reports), Ok(Next::Continue));
    assert_eq!(reports.done[0].outcome, Outcome::Ok);
}

#[test]
fn a_too_long_body_that_would_last_until_the_close_answers_no_other_request() {
    let request = Static::new("GET", "/", &[], b"");
    let mut driver = Http1::new(1, request).with_pipeline(2).with_most_body(4);
    let mut reports = Reports::default();
    for token in [1, 2] {
        driver.start(SLOT, Asked { token: Token(token), ..ASKED }, &mut reports).unwrap();
    }
    let answer = b"HTTP/1.1 200 OK\r\n\r\nuntil the close";
    assert_eq!(driver.receive(SLOT, answer, &mut reports), Ok(Next::Close));
    driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
    let done: Vec<_> = reports.done.iter().map(|d| (d.token.0, d.outcome, d.answers)).collect();
    assert_eq!(done, [(1, Outcome::Malformed, 0), (2, Outcome::Reset, 0)]);
}

#[test]
fn interim_answers_without_end_are_malformed() {
    let interim = "HTTP/1.1 102 Processing\r\n\r\n";
    let answer = "HTTP/1.1 204 No\r\n\r\n";
    let most = wire::http1::MOST_INTERIM;
    for (count, outcome) in [(most, "ok 204 Continue"), (most + 1, "malformed 0 Close")] {
        let answer = format!("{}{answer}", interim.repeat(count));
        assert_eq!(check(&[&answer]), outcome, "{count} at once");
        let single: Vec<String> = answer.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        if count == most {
            assert_eq!(check(&single), outcome, "{count} bit by bit");
        }
    }
}

/// A workload of numbered requests, of which a script would make different ones each time.
struct Script {
    made: u32,
    at_once: u32,
}

impl HttpWorkload for Script {
    fn next(&mut self, _of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        for _ in 0..self.at_once {
            self.made += 1;
            let path = format!("/{}", self.made);
            wire::http1::encode_request("GET", &path, &[], b"", request.wire);
            request.expected.push(Expected { body: Expect::Body, tag: self.made, closes: false });
        }
        Ok(())
    }

    fn is_repeatable(&self) -> bool {
        false
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &str = "HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";

/// Returns the paths of the requests in these bytes.
fn paths(wire: &[u8]) -> Vec<String> {
    let text = String::from_utf8(wire.to_vec()).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("GET /"));
    lines.map(|line| line.trim_end_matches(" HTTP/1.1").to_owned()).collect()
}

#[test]
fn requests_behind_an_announced_close_are_sent_again_as_they_were() {
    for cut in 0..OK.len() + LAST.len() {
        let mut driver = Http1::new(1, Script { made: 0, at_once: 1 }).with_pipeline(4);
        let mut reports = Reports::default();
        for number in 1..=4 {
            let asked = Asked { token: Token(number), number: number.into(), ..ASKED };
            driver.start(SLOT, asked, &mut reports).unwrap();
        }
        let bytes = [OK, LAST].concat().into_bytes();
        let (a, b) = bytes.split_at(cut);
        assert_eq!(driver.receive(SLOT, a, &mut reports), Ok(Next::Continue));
        assert_eq!(driver.receive(SLOT, b, &mut reports), Ok(Next::Close));
        driver.closed(SLOT, Lost::ByUs, &mut reports).unwrap();
        let done: Vec<_> = reports.done.iter().map(|done| (done.token.0, done.outcome)).collect();
        assert_eq!(done, [(1, Outcome::Ok), (2, Outcome::Status)], "cut at {cut}");
        assert_eq!(reports.again, [Token(3), Token(4)], "cut at {cut}");
        assert_eq!(driver.room(SLOT), 4);
        reports.wire.clear();
        for number in [3, 5, 4] {
            let again = number != 5;
            let asked = Asked { token: Token(number), number: number.into(), again, ..ASKED };
            driver.start(SLOT, asked, &mut reports).unwrap();
        }
        assert_eq!(paths(&reports.wire), ["3", "5", "4"], "cut at {cut}");
    }
}

#[test]
fn the_rest_of_a_group_behind_an_announced_close_is_sent_again_and_the_group_is_done_once() {
    let mut driver = Http1::new(1, Script { made: 0, at_once: 3 });
    let mut reports = Reports::default();
    driver.start(SLOT, ASKED, &mut reports).unwrap();
    let last = [OK, LAST].concat();
    assert_eq!(driver.receive(SLOT, last.as_bytes(), &mut reports), Ok(Next::Close));
    driver.closed(SLOT, Lost::ByUs, &mut reports).unwrap();
    assert_eq!((reports.done.as_slice(), reports.again.as_slice()), (&[][..], &[Token(7)][..]));
    reports.wire.clear();
    let asked = Asked { token: Token(9), again: true, ..ASKED };
    driver.start(SLOT, asked, &mut reports).unwrap();
    assert_eq!(paths(&reports.wire), ["3"]);
    assert_eq!(driver.receive(SLOT, OK.as_bytes(), &mut reports), Ok(Next::Continue));
    let done = Done {
        token: Token(9),
        outcome: Outcome::Status,
        status: 503,
        answers: 3,
        bad: 1,
        bytes: 6,
        why: "",
    };
    assert_eq!(reports.done, [done]);
}

#[test]
fn a_response_to_a_request_that_ends_the_connection_is_the_last_one_without_saying_so() {
    let request = Static::new("GET", "/", &[("Connection", "close")], b"");
    let mut driver = Http1::new(1, request).with_pipeline(4);
    let mut reports = Reports::default();
    driver.start(SLOT, ASKED, &mut reports).unwrap();
    assert_eq!(driver.room(SLOT), 0, "nothing may follow");
    assert_eq!(driver.receive(SLOT, OK.as_bytes(), &mut reports), Ok(Next::Close));
    driver.closed(SLOT, Lost::ByUs, &mut reports).unwrap();
    assert_eq!(reports.done[0].outcome, Outcome::Ok);
    assert_eq!(driver.room(SLOT), 4, "the slot is as new");
}

#[test]
fn a_last_response_that_is_cut_off_fails_alone() {
    for (last, outcome) in [
        ("HTTP/1.1 200 OK\r\n\r\nuntil the close", Outcome::Ok),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\ncut", Outcome::Reset),
    ] {
        let mut driver = Http1::new(1, Static::new("GET", "/", &[], b"")).with_pipeline(2);
        let mut reports = Reports::default();
        for token in [1, 2] {
            let asked = Asked { token: Token(token), ..ASKED };
            driver.start(SLOT, asked, &mut reports).unwrap();
        }
        driver.receive(SLOT, last.as_bytes(), &mut reports).unwrap();
        driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
        let done: Vec<_> = reports.done.iter().map(|done| (done.token.0, done.outcome)).collect();
        assert_eq!((done, reports.again), (vec![(1, outcome)], vec![Token(2)]), "{last}");
    }
}
