//! Whole loads of sessions on the virtual network.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::Peekable;
use std::sync::atomic::AtomicBool;

use load::Shard;
use load::observe::{Observer, Of, Part, Recorded, Recorder, Window};
use load::pacing::{self, Dealt, Offered, Sharing};
use load::shard::{Limits, Numbers, Schedule};
use load::source::{Source as Arriving, Streams};
use measure::pace::{Distribution, Portion, Shape, Think};
use measure::{Instant, Quantile, Rate};
use net::simulation::{Effect, Peer, Simulation};
use net::{Closed, ConnectionId, Endpoint};
use wire::http1::{RequestDecoder, RequestEvent};

use super::*;

const SERVICE: Nanos = Nanos::from_millis(1);
const SECONDS: u64 = 10;

const JOURNEY: &str = r#"
{"label":"login","method":"POST","target":"/login","body":"user={{seq}}","capture":{"token":"json:/token"}}
{"label":"items","target":"/items","headers":{"Authorization":"Bearer {{session.token}}"}}
{"session":"reader","steps":["login","think 500ms","items"]}
"#;

/// A service that gives a token to who logs in, and items to who has one.
#[derive(Default)]
struct Shop {
    /// Every n-th login is answered without a token, and every m-th request not at all.
    tokenless: Option<u64>,
    reset: Option<u64>,
    logins: u64,
    requests: u64,
    given: BTreeSet<String>,
    decoders: HashMap<ConnectionId, RequestDecoder>,
}

impl Shop {
    fn answer(&mut self, request: &str) -> Option<String> {
        self.requests += 1;
        if self.reset.is_some_and(|every| self.requests.is_multiple_of(every)) {
            return None;
        }
        let answer = |status: &str, body: &str| {
            Some(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
        };
        if request.starts_with("POST /login") {
            self.logins += 1;
            if self.tokenless.is_some_and(|every| self.logins.is_multiple_of(every)) {
                return answer("200 OK", "{}");
            }
            let token = format!("t{}", self.logins);
            let body = format!("{{\"token\":\"{token}\"}}");
            self.given.insert(token);
            return answer("200 OK", &body);
        }
        let token = request.split("Authorization: Bearer ").nth(1).unwrap_or_default();
        let token = token.split("\r\n").next().unwrap_or_default();
        // Each token is used once.
        let status = if self.given.remove(token) { "200 OK" } else { "401 Unauthorized" };
        answer(status, "items")
    }
}

impl Peer for Shop {
    fn connect(
        &mut self,
        connection: ConnectionId,
        _attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        self.decoders.remove(&connection);
        effects.push((now, Effect::Connected(connection)));
    }

    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        let decoder = self.decoders.entry(connection).or_default();
        let mut rest = bytes;
        let mut is_whole = false;
        while let Some(event) = decoder.next(&mut rest).unwrap() {
            is_whole |= matches!(event, RequestEvent::End(_));
        }
        assert!(is_whole, "a request arrives at once");
        let at = now + SERVICE;
        match self.answer(std::str::from_utf8(bytes).unwrap()) {
            Some(answer) => effects.push((at, Effect::Bytes(connection, answer.into_bytes()))),
            None => effects.push((at, Effect::Closed(connection, Closed::Reset))),
        }
    }
}

fn open(rate: f64) -> Arriving {
    let shape = Shape::constant(Rate::per_second(rate).unwrap());
    let load = Offered::Drawn { shape, distribution: Distribution::Constant };
    let span = (Instant(0), Instant(0) + Nanos::SECOND * SECONDS);
    let dealt = Dealt { targets: 1, part: Portion::WHOLE, pools: 1, shards: 1, shard: 0 };
    let arrivals: Vec<Peekable<_>> = pacing::arrivals(&load, Sharing::InTurn, dealt, 7, span);
    Arriving::Open(Streams::new(arrivals, 1, None))
}

fn run(text: &str, shop: Shop, mut source: Arriving, quota: Option<u64>) -> Recorded {
    let stop = AtomicBool::new(false);
    let recorder = Recorder::new(1, Nanos::SECOND, None);
    let mut shard = Shard::new(Simulation::new(shop), recorder, Limits::default(), [&stop, &stop]);
    let pool = Pool { seed: 1, target: 0, connections_before: 0, is_tls: false };
    let connections = 4;
    let driver = Http1::new(connections, Journeys::new(&mix(text), pool, || 0));
    let endpoints = vec![Endpoint::from(std::net::SocketAddr::from(([127, 0, 0, 1], 1)))];
    let numbers = Numbers { first: 0, step: 1, quota };
    shard.add_pool(Of { pool: 0, target: 0 }, driver, (endpoints, connections), numbers);
    shard.connect(Instant(0) + Nanos::SECOND).unwrap();
    let (start, end) = (Instant(0), Instant(0) + Nanos::SECOND * SECONDS);
    shard.observer().begin(start, Window { start, end });
    let schedule = Schedule { start, overload: start, end, drain: Nanos::SECOND };
    let (done, _) = shard.run(&mut source, schedule).unwrap();
    let recorded = shard.into_parts().0.finish(done);
    check(&recorded.parts[0]);
    recorded
}

/// Checks what holds for every load.
fn check(part: &Part) {
    assert_eq!(part.outcomes.iter().sum::<u64>(), part.intended, "one outcome a request");
    let sessions = part.sessions.as_ref().unwrap();
    let broken: u64 = sessions.broken().map(|(.., count)| count).sum();
    assert_eq!(sessions.started, sessions.completed + broken + sessions.unfinished);
    assert_eq!(sessions.requests, part.intended, "all began in the window");
}

fn count(recorded: &Recorded, label: usize) -> u64 {
    recorded.labels[label].outcomes.iter().sum()
}

#[test]
fn in_an_open_loop_each_arrival_is_a_session_whose_later_steps_follow_the_responses() {
    let recorded = run(JOURNEY, Shop::default(), open(100.0), None);
    let (part, sessions) = (&recorded.parts[0], recorded.parts[0].sessions.as_ref().unwrap());
    assert_eq!(sessions.started, 1000);
    assert_eq!(count(&recorded, 0), 1000);
    // Those of the last half second are not continued: no request starts after the end.
    assert_eq!(sessions.unfinished, 50);
    assert_eq!((sessions.completed, count(&recorded, 1)), (950, 950));
    assert_eq!(part.outcome(Outcome::Ok), 1950);
    // Both steps take 1 ms from their intended starts: the think time is in none of them.
    let p99 = |times: &measure::Histogram| times.quantile(Quantile::P99).unwrap().as_millis_f64();
    for label in 0..2 {
        assert!((0.9..1.1).contains(&p99(&recorded.labels[label].response)), "{label}");
    }
    assert!((500.0..504.0).contains(&p99(&sessions.time)), "{}", p99(&sessions.time));
}

/// Four connections with a request each of 1 ms complete 2,000 sessions of two requests in a second.
#[test]
fn a_service_at_twice_its_sessions_is_saturated_and_at_half_of_them_with_think_times_it_is_not() {
    let saturated = |rate: f64| {
        let recorded = run(JOURNEY, Shop::default(), open(rate), None);
        recorded.balance.is_saturated_by(&recorded.sessions)
    };
    assert_eq!(saturated(1_000.0), Some(false));
    assert_eq!(saturated(4_000.0), Some(true));
}

#[test]
fn a_session_whose_step_fails_sends_no_later_one_and_is_counted_with_its_reason() {
    let shop = Shop { tokenless: Some(10), reset: Some(7), ..Shop::default() };
    let recorded = run(JOURNEY, shop, open(100.0), None);
    let (part, sessions) = (&recorded.parts[0], recorded.parts[0].sessions.as_ref().unwrap());
    let broken: BTreeMap<_, u64> =
        sessions.broken().map(|(label, outcome, why, n)| ((label.0, outcome, why), n)).collect();
    let why = "token from json:/token: not in the response".to_owned();
    let tokenless = broken[&(0, Outcome::Capture, why)];
    let cut = [0, 1].map(|label| broken[&(label, Outcome::Reset, String::new())]);
    assert_eq!(broken.len(), 3, "{broken:?}");
    assert_eq!(part.outcome(Outcome::Capture), tokenless);
    assert_eq!(part.outcome(Outcome::Reset), cut.iter().sum::<u64>());
    assert!(60 < tokenless && 60 < cut[0] && 60 < cut[1], "{broken:?}");
    assert_eq!(count(&recorded, 1), sessions.completed + cut[1]);
    assert_eq!(part.outcome(Outcome::Status), 0, "nobody asks for items without a token");
}

#[test]
fn in_a_closed_loop_a_connection_runs_one_session_after_the_other() {
    let think = Think::Fixed(Nanos::from_millis(498));
    let source = || Arriving::Closed { think, random: Random::new(1) };
    let recorded = run(JOURNEY, Shop::default(), source(), None);
    let sessions = recorded.parts[0].sessions.as_ref().unwrap();
    // A session and the pause behind it take a second.
    assert_eq!(sessions.started, 40);
    assert_eq!((sessions.completed, sessions.unfinished), (40, 0));
    let recorded = run(JOURNEY, Shop::default(), source(), Some(6));
    let sessions = recorded.parts[0].sessions.as_ref().unwrap();
    assert_eq!((sessions.started, sessions.completed), (6, 6), "it ends when all have ended");
}

#[test]
fn arrivals_that_are_requests_continue_the_sessions_that_are_ready() {
    let text = format!("{JOURNEY}{{\"arrivals\":\"requests\"}}\n");
    let recorded = run(&text, Shop::default(), open(100.0), None);
    let (part, sessions) = (&recorded.parts[0], recorded.parts[0].sessions.as_ref().unwrap());
    assert_eq!(part.intended, 1000, "the rate is one of requests");
    // In the first half second none is ready; then every session has another one before it.
    let logins = count(&recorded, 0);
    assert_eq!(logins, sessions.started);
    assert!((500..560).contains(&logins), "{logins}");
    assert_eq!(sessions.completed, 1000 - logins);
    assert_eq!(part.outcome(Outcome::Ok), 1000);
}
