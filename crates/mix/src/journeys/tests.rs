use load::Token;
use load::driver::http1::Http1;
use load::driver::{Asked, Driver, Reports, Slot};

use super::*;
use crate::{Data, Source};

mod loads;

const MIX: &str = r#"
{"label":"login","method":"POST","target":"/login","body":"user={{row.name}}","check":"status=200","capture":{"token":"json:/token"}}
{"label":"items","target":"/items?t={{session.token url}}","headers":{"Authorization":"Bearer {{session.token}}"}}
{"label":"buy","method":"POST","target":"/buy/{{int 1 1000000}}","body":"{\"token\":\"{{session.token json}}\"}","redirects":1}
{"session":"buyer","steps":["login","items","think 2s","buy"]}
"#;

fn mix(text: &str) -> Arc<Mix> {
    let data = Some(Arc::new(Data::read("d.csv", "name\nAnn\nBob\n").unwrap()));
    let fields = [("Host".to_owned(), "h:80".to_owned())];
    let body_file = |_: &str| Ok(Vec::new());
    let source = Source { file: "m", text, data, fields: &fields, body_file: &body_file };
    Arc::new(Mix::read(&source).unwrap_or_else(|error| panic!("{error}")))
}

/// A driver with one connection for sessions, and what it has reported.
struct Talk {
    driver: Http1<Journeys>,
    reports: Reports,
}

impl Talk {
    fn new(text: &str) -> Talk {
        let pool = Pool { seed: 1, target: 0, connections_before: 0, is_tls: false };
        let journeys = Journeys::new(&mix(text), pool, || 1_700_000_000_000);
        Talk { driver: Http1::new(1, journeys), reports: Reports::default() }
    }

    /// Returns the next request of a session, and its label.
    fn request(&mut self, session: u32, number: u64) -> (String, u16) {
        let session = Session(session);
        let asked = Asked { token: Token(1), number, label: Label::NONE, session, again: false };
        let started = self.driver.start(Slot(0), asked, &mut self.reports).unwrap();
        let wire = std::mem::take(&mut self.reports.wire);
        (String::from_utf8(wire).unwrap().replace("\r\n", "\n"), started.label.0)
    }

    /// Answers the request, and returns its outcome, the reason and what follows.
    fn answer(
        &mut self,
        session: u32,
        status: u16,
        fields: &[(&str, &str)],
        body: &str,
    ) -> (Outcome, &'static str, Option<Nanos>) {
        let mut wire = Vec::new();
        wire::http1::encode_response(status, fields, body.as_bytes(), &mut wire);
        self.driver.receive(Slot(0), &wire, &mut self.reports).unwrap();
        let done = self.reports.done.pop().expect("the response is complete");
        let follows = self.driver.follow(Session(session), done.outcome);
        (done.outcome, done.why, follows)
    }
}

const NOW: Option<Nanos> = Some(Nanos::ZERO);

#[test]
fn a_value_of_one_response_is_in_the_next_requests() {
    let mut talk = Talk::new(MIX);
    let (login, label) = talk.request(0, 7);
    assert_eq!(login, "POST /login HTTP/1.1\nHost: h:80\nContent-Length: 8\n\nuser=Bob");
    assert_eq!(label, 0);
    let token = r#"{"token":"a+\"b"}"#;
    let set = ("Set-Cookie", "sid=9; Path=/");
    assert_eq!(talk.answer(0, 200, &[set], token), (Outcome::Ok, "", NOW));
    let (items, label) = talk.request(0, 7);
    let expected = "GET /items?t=a%2B%22b HTTP/1.1\nHost: h:80\n\
                    Authorization: Bearer a+\"b\nCookie: sid=9\n\n";
    assert_eq!((&*items, label), (expected, 1));
    let think = Some(Nanos::from_secs(2));
    assert_eq!(talk.answer(0, 204, &[], ""), (Outcome::Ok, "", think));
    let (buy, label) = talk.request(0, 7);
    assert!(buy.starts_with("POST /buy/"), "{buy}");
    assert!(buy.ends_with("Cookie: sid=9\nContent-Length: 17\n\n{\"token\":\"a+\\\"b\"}"), "{buy}");
    assert_eq!(label, 2);
    let to = ("Location", "/bought?id=1");
    assert_eq!(talk.answer(0, 302, &[to, ("Set-Cookie", "n=1")], ""), (Outcome::Ok, "", NOW));
    let (bought, label) = talk.request(0, 7);
    let expected = "GET /bought?id=1 HTTP/1.1\nHost: h:80\nCookie: sid=9\n\n";
    assert_eq!((&*bought, label), (expected, 3), "the other cookie is for /buy");
    assert_eq!(talk.answer(0, 200, &[], "thanks"), (Outcome::Ok, "", None));
    // The next session begins anew in the same place.
    assert!(talk.request(0, 8).0.ends_with("Content-Length: 8\n\nuser=Ann"));
    assert_eq!(talk.answer(0, 200, &[], r#"{"token":"x"}"#), (Outcome::Ok, "", NOW));
    let (items, _) = talk.request(0, 8);
    assert!(items.ends_with("Authorization: Bearer x\n\n"), "{items}");
}

#[test]
fn a_session_ends_with_the_step_that_fails() {
    let missing = "token from json:/token: not in the response";
    let unfit = "token from json:/token: not a value that may stand where it is used";
    for (status, body, expected) in [
        (200, "{}", (Outcome::Capture, missing, None)),
        (200, r#"{"token":"a\r\nX: 1"}"#, (Outcome::Capture, unfit, None)),
        (500, r#"{"token":"a"}"#, (Outcome::Status, "", None)),
        (204, "", (Outcome::Status, "", None)),
    ] {
        let mut talk = Talk::new(MIX);
        talk.request(3, 0);
        assert_eq!(talk.answer(3, status, &[], body), expected, "{status} {body}");
        assert!(talk.request(3, 1).0.starts_with("POST /login"), "a new one begins");
    }
}

#[test]
fn a_redirect_that_cannot_be_followed_ends_the_session() {
    let text = r#"{"label":"a","target":"/a/b","redirects":1}"#;
    for (location, expected) in [
        ("http://other/", redirect::ELSEWHERE),
        ("/a b", redirect::NOWHERE),
        ("/c", redirect::TOO_OFTEN),
    ] {
        let mut talk = Talk::new(text);
        talk.request(0, 0);
        let to = [("Location", location)];
        let mut answer = talk.answer(0, 301, &to, "");
        if answer.0 == Outcome::Ok {
            assert!(talk.request(0, 0).0.starts_with("GET /c HTTP/1.1"));
            answer = talk.answer(0, 301, &to, "");
        }
        assert_eq!(answer, (Outcome::Check, expected, None), "{location}");
    }
    // Without `redirects` a redirect is a response as any other.
    let mut talk = Talk::new(
        &format!("{text}\n{}", r#"{"session":"s","steps":["a"]}"#).replace(r#","redirects":1"#, ""),
    );
    talk.request(0, 0);
    assert_eq!(talk.answer(0, 301, &[("Location", "/c")], ""), (Outcome::Ok, "", None));
}

#[test]
fn a_step_is_the_same_when_it_is_sent_again() {
    let text = r#"{"label":"a","target":"/{{uuid}}/{{hex 4}}"}
{"label":"b","target":"/{{uuid}}"}
{"session":"s","steps":["a","b"]}
{"session":"t","steps":["b","a"],"weight":2}"#;
    let mut talk = Talk::new(text);
    let mut counts = [0; 2];
    for number in 0..300 {
        let (first, label) = talk.request(0, number);
        counts[usize::from(label)] += 1;
        let again = Reports::default();
        talk.driver.closed(Slot(0), load::driver::Lost::ByUs, &mut talk.reports).unwrap();
        talk.reports = again;
        assert_eq!(talk.request(0, number).0, first);
        assert_eq!(talk.answer(0, 200, &[], "").2, NOW);
        assert_ne!(talk.request(0, number).0, first);
        assert_eq!(talk.answer(0, 200, &[], "").2, None);
    }
    assert!(60 < counts[0] && counts[0] < 140, "{counts:?}");
}

#[test]
fn sessions_allocate_nothing_once_their_buffers_have_grown() {
    let mut talk = Talk::new(MIX);
    let mut response = Vec::new();
    let set = [("Set-Cookie", "sid=9; Path=/")];
    wire::http1::encode_response(200, &set, br#"{"token":"abc"}"#, &mut response);
    let mut run = |number: u64| {
        for _ in 0..3 {
            let (session, token) = (Session((number % 5) as u32), Token(1));
            let asked = Asked { token, number, label: Label::NONE, session, again: false };
            talk.driver.start(Slot(0), asked, &mut talk.reports).unwrap();
            talk.reports.wire.clear();
            talk.driver.receive(Slot(0), &response, &mut talk.reports).unwrap();
            talk.reports.begun.clear();
            let done = talk.reports.done.pop().unwrap();
            assert_eq!(done.outcome, Outcome::Ok, "{}", done.why);
            talk.driver.follow(session, done.outcome);
        }
    };
    (0..100).for_each(&mut run);
    let counted = allocation_counter::measure(|| (100..1_100).for_each(&mut run));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
