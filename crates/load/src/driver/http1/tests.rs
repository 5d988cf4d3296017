use super::*;

const SEAT: Seat = Seat(0);

const ASKED: Asked = Asked { token: Token(7), number: 0, label: Label::NONE };

/// Sends one request and shows what the given slices of an answer make of it.
fn check(slices: &[&str]) -> String {
    let mut driver = Http1::new(1, Static::new("GET", "/", &[("Host", "x")], b""));
    let (mut wire, mut reports) = (Vec::new(), Reports::default());
    driver.start(SEAT, ASKED, &mut wire).unwrap();
    assert_eq!(wire, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut next = Next::Continue;
    for slice in slices {
        next = driver.receive(SEAT, slice.as_bytes(), &mut reports).unwrap();
    }
    if reports.done.is_empty() {
        driver.closed(SEAT, Lost::By(Closed::ByPeer), &mut reports).unwrap();
    }
    assert_eq!(driver.room(SEAT), 1, "a request has one outcome");
    let begun = usize::from(slices.iter().any(|slice| !slice.is_empty()));
    assert_eq!(reports.begun.len(), begun, "an answer begins once");
    let [Done { token: Token(7), outcome, status, .. }] = reports.done[..] else {
        panic!("{reports:?}")
    };
    format!("{} {status} {next:?}", outcome.name())
}

#[test]
fn an_answer_becomes_an_outcome() {
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
        // The answer stands; the connection that says more than was asked does not.
        (&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay"], "ok 200 Close"),
    ] {
        assert_eq!(check(slices), outcome, "{slices:?}");
    }
}

/// Three requests that leave together, the second of which is answered without a body.
#[derive(Default)]
struct Three {
    wanted: Option<Wanted>,
    heard: Vec<String>,
}

impl HttpWorkload for Three {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        for (tag, body) in [(10, Expect::Body), (20, Expect::NoBody), (30, Expect::Body)] {
            request.wire.push(b'0' + of.number as u8);
            request.expected.push(Expected { body, tag });
        }
        request.label = Label(3);
        Ok(())
    }

    fn wanted(&self) -> Wanted {
        self.wanted.unwrap_or(Wanted::Nothing)
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<Outcome, Fault> {
        let Answer { status, head, body, body_length, connection, tag } = *answer;
        let fields: Vec<_> = wire::http1::fields(head).map(|(name, _)| name).collect();
        let body = String::from_utf8_lossy(body);
        self.heard
            .push(format!("{tag} {status} {fields:?} {body:?} of {body_length} on {connection}"));
        Ok(outcome_of(status))
    }

    fn failed(&mut self, outcome: Outcome, tag: u32) -> Result<(), Fault> {
        self.heard.push(format!("{tag} {}", outcome.name()));
        Ok(())
    }
}

const THREE_ANSWERS: &str = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nok\
                             HTTP/1.1 100 Continue\r\n\r\n\
                             HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\
                             HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";

#[test]
fn requests_that_leave_together_are_done_with_the_last_answer() {
    for cut in 0..THREE_ANSWERS.len() {
        let three = Three { wanted: Some(Wanted::Body), ..Three::default() };
        let mut driver = Http1::new(1, three).with_pipeline(2);
        let (mut wire, mut reports) = (Vec::new(), Reports::default());
        let label = driver.start(SEAT, ASKED, &mut wire).unwrap();
        assert_eq!((wire.as_slice(), label, driver.room(SEAT)), (&b"000"[..], Label(3), 1));
        let (a, b) = THREE_ANSWERS.as_bytes().split_at(cut);
        driver.receive(SEAT, a, &mut reports).unwrap();
        driver.receive(SEAT, b, &mut reports).unwrap();
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
            driver.workload().heard,
            [
                r#"10 200 ["A", "Content-Length"] "ok" of 2 on 0"#,
                r#"20 200 ["Content-Length"] "" of 0 on 0"#,
                r#"30 503 ["Content-Length"] "" of 0 on 0"#,
            ],
        );
    }
}

#[test]
fn a_group_that_is_cut_off_fails_as_one_and_its_workload_hears_of_the_rest() {
    let mut driver = Http1::new(1, Three::default()).with_pipeline(2);
    let (mut wire, mut reports) = (Vec::new(), Reports::default());
    driver.start(SEAT, ASKED, &mut wire).unwrap();
    driver.start(SEAT, Asked { token: Token(8), ..ASKED }, &mut wire).unwrap();
    assert_eq!(driver.room(SEAT), 0);
    driver.receive(SEAT, &THREE_ANSWERS.as_bytes()[..60], &mut reports).unwrap();
    driver.closed(SEAT, Lost::TooLate(Token(8)), &mut reports).unwrap();
    let outcomes: Vec<_> = reports.done.iter().map(|d| (d.token.0, d.outcome, d.answers)).collect();
    assert_eq!(outcomes, [(7, Outcome::Reset, 1), (8, Outcome::Timeout, 0)]);
    let heard = &driver.workload().heard;
    assert_eq!(heard[..], ["20 reset", "30 reset", "10 timeout", "20 timeout", "30 timeout"]);
    assert_eq!(driver.room(SEAT), 2, "the seat is as new");
}

#[test]
fn a_body_longer_than_allowed_is_malformed_and_says_so() {
    let request = Static::new("GET", "/", &[], b"");
    let mut driver = Http1::new(1, request).with_most_body(4);
    let mut reports = Reports::default();
    driver.start(SEAT, ASKED, &mut Vec::new()).unwrap();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(driver.receive(SEAT, answer, &mut reports), Ok(Next::Close));
    let [Done { outcome: Outcome::Malformed, why, .. }] = reports.done[..] else { panic!() };
    assert_eq!(why, "the body is longer than --max-body");
}
