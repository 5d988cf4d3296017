//! A toy protocol, with everything that HTTP/1.1 lacks: complete loads with it, on virtual time and
//! over sockets, plain and secured.
//!
//! A message is a kind, an id, and items of eight bytes or of one. The client says hello, and may
//! ask once it is welcome. The server may ping at any time, and wants each ping back.

use std::sync::{Arc, Mutex};

use super::load::{START, Witness};
use super::*;
use crate::driver::tls::tests::{now, peer};
use crate::driver::tls::{Secured, Terms, Tls, Trust};
use crate::observe::Part;

use self::driver::{BOTH, Habits, MOST_HOPS, READ, Toy, UPDATE};
use self::server::{Conduct, FIRST_PORT, Servers, TAKES, Truth};

mod driver;
mod server;
mod sockets;

const MS: Nanos = Nanos::from_millis(1);
const HOST: &str = "toy.test";
const LIMITS: Limits = Limits { connect_timeout: Nanos::from_millis(300), ..super::LIMITS };

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const PING: u8 = 3;
const PONG: u8 = 4;
/// Carries keys, of eight bytes each.
const ASK: u8 = 5;
/// Carries the status of each key.
const REPLY: u8 = 6;
const BYE: u8 = 7;
const CANCEL: u8 = 8;
/// Says that the node with this id has all parts.
const MAP: u8 = 9;

/// The status of a key that is there.
const FOUND: u8 = 0;
const MISSING: u8 = 1;
/// The status of a key that another node has: its index is added.
const MOVED: u8 = 0x80;

/// The keys are divided into parts, each of which one node has.
const PARTS: u64 = 16;

#[derive(Clone, Debug, Eq, PartialEq)]
struct Message {
    kind: u8,
    id: u32,
    /// The number and the bytes of the items.
    count: usize,
    items: Vec<u8>,
}

const HEAD: usize = 7;

fn write(wire: &mut Vec<u8>, kind: u8, id: u32, count: usize, items: &[u8]) {
    wire.push(kind);
    wire.extend(id.to_le_bytes());
    wire.extend((count as u16).to_le_bytes());
    wire.extend(items);
}

/// The messages of one direction of a connection.
#[derive(Debug, Default)]
struct Messages(Vec<u8>);

impl Messages {
    fn next(&mut self) -> Option<Message> {
        let Messages(bytes) = self;
        let head: [u8; HEAD] = bytes.get(..HEAD)?.try_into().unwrap();
        let [kind, a, b, c, d, low, high] = head;
        let count = usize::from(u16::from_le_bytes([low, high]));
        let length = HEAD + if kind == ASK { count * 8 } else { count };
        let items = bytes.get(HEAD..length)?.to_vec();
        bytes.drain(..length);
        Some(Message { kind, id: u32::from_le_bytes([a, b, c, d]), count, items })
    }
}

/// A load of the toy protocol.
#[derive(Clone)]
struct Load {
    conduct: Conduct,
    habits: Habits,
    limits: Limits,
    /// The protocols that the servers offer over TLS; `None` without TLS.
    tls: Option<&'static [&'static str]>,
    nodes: u16,
    /// The number of connections, which are spread over the nodes.
    connections: usize,
    /// The rate of an open loop; `None` for a closed one without think times.
    rate: Option<f64>,
    length: Nanos,
    /// The number of requests of a closed loop.
    quota: Option<u64>,
    /// The size in bytes of the pieces in which data arrives.
    cut: usize,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            conduct: Conduct::default(),
            habits: Habits::default(),
            limits: LIMITS,
            tls: None,
            nodes: 1,
            connections: 4,
            rate: Some(1_000.0),
            length: SECOND,
            quota: None,
            cut: usize::MAX,
        }
    }
}

const SECURED: Option<&[&str]> = Some(&["toy"]);

struct Ran {
    part: Part,
    recorded: Recorded,
    witness: Witness,
    truth: Truth,
    failures: Failures,
    unreachable: Option<(usize, Option<Unopened>)>,
}

impl Load {
    /// Runs the load on virtual time.
    fn run(&self) -> Ran {
        let truth = Arc::new(Mutex::new(Truth::default()));
        let servers = Servers {
            conduct: self.conduct.clone(),
            truth: Arc::clone(&truth),
            tls: self.settings(),
            cut: self.cut,
            ends: HashMap::new(),
            called: 0,
        };
        let port = |node| FIRST_PORT + node;
        let to =
            (0..self.nodes).map(|node| std::net::SocketAddr::from(([127, 0, 0, 1], port(node))));
        self.drive(Simulation::new(servers), to.map(Endpoint::from).collect(), &truth)
    }

    fn settings(&self) -> Option<Arc<rustls::ServerConfig>> {
        let protocols = self.tls?;
        let manners = peer::Manners { protocols, ..peer::Manners::default() };
        Some(manners.with(&peer::self_signed(HOST)))
    }

    fn drive<I: Io>(&self, io: I, to: Vec<Endpoint>, truth: &Mutex<Truth>) -> Ran {
        let stop = AtomicBool::new(false);
        let observer = (Recorder::new(1, SECOND, None), Witness::default());
        let mut shard = Shard::new(io, observer, self.limits, [&stop, &stop]);
        let numbers = Numbers { first: 0, step: 1, quota: self.quota };
        shard.add_pool(Of::default(), self.driver(), (to, self.connections), numbers);
        let begun = shard.io().now();
        shard.connect(begun + SECOND * 20).unwrap();
        let unreachable = shard.unreachable();
        let start = START.max(shard.io().now());
        let end = start + self.length;
        shard.observer().begin(start, Window { start, end });
        let mut source = self.source(start, end);
        let schedule = Schedule { start, overload: start, end, drain: SECOND };
        let (done, _) = shard.run(&mut source, schedule).unwrap();
        let failures = shard.failures();
        let ((recorder, witness), _) = shard.into_parts();
        let recorded = recorder.finish(done);
        check_invariants(&recorded);
        let part = recorded.parts[0].clone();
        let truth = std::mem::take(&mut *truth.lock().unwrap());
        Ran { part, recorded, witness, truth, failures, unreachable }
    }

    fn source(&self, start: Instant, end: Instant) -> Source {
        let Some(rate) = self.rate else {
            return Source::Closed { think: Think::NONE, random: Random::new(7) };
        };
        let shape = Shape::constant(Rate::per_second(rate).unwrap());
        let load = Offered::Drawn { shape, distribution: Distribution::Constant };
        let dealt = Dealt { targets: 1, part: Portion::WHOLE, pools: 1, shards: 1, shard: 0 };
        let arrivals = pacing::arrivals(&load, Sharing::InTurn, dealt, 7, (start, end));
        Source::Open(Streams::new(arrivals, 1, None))
    }

    fn driver(&self) -> Secured<Box<dyn Driver + Send>> {
        let toy: Box<dyn Driver + Send> = Box::new(Toy::new(self.connections, self.habits.clone()));
        if self.tls.is_none() {
            return Secured::plain(toy);
        }
        let terms =
            Terms { trust: Trust::Anyone, identity: None, version: None, resume: true, now };
        Secured::new(toy, self.connections, &Tls::new(&terms).unwrap(), HOST).unwrap()
    }
}

/// Returns true if all times of a histogram are this one, within its precision.
fn all(histogram: &Histogram, value: Nanos) -> bool {
    let close =
        |bound: Option<Nanos>| bound.is_some_and(|b| b.0.abs_diff(value.0) <= value.0 / 500);
    close(histogram.min()) && close(histogram.max())
}

#[test]
fn what_a_driver_writes_on_its_own_is_sealed_like_its_requests_whatever_the_slices() {
    let conduct = Conduct { ping_every: 3, ..Conduct::default() };
    for tls in [None, SECURED] {
        let ran = |cut| Load { conduct: conduct.clone(), tls, cut, ..Load::default() }.run();
        let whole = ran(usize::MAX);
        assert_eq!(whole.truth.asked.len(), 1_000);
        assert_eq!(whole.part.outcome(Outcome::Status), 143, "every seventh key is missing");
        assert_eq!(whole.part.completed(), 1_000);
        assert!(330 < whole.truth.pings, "{}", whole.truth.pings);
        assert_eq!(whole.truth.pongs, whole.truth.pings);
        assert_eq!((whole.failures, whole.part.reconnects), (Failures::default(), 0));
        for cut in [7, 1] {
            let cut = ran(cut);
            assert_eq!(cut.witness.completions, whole.witness.completions);
            assert_eq!(cut.truth.pongs, whole.truth.pongs);
        }
    }
}

#[test]
fn the_handshake_of_the_protocol_has_a_time_of_its_own_and_ends_before_the_load() {
    for (tls, secured) in [(None, 0), (SECURED, 4)] {
        let ran = Load { tls, ..Load::default() }.run();
        assert_eq!((ran.part.connect.count(), ran.part.handshake.count()), (4, secured));
        assert!(all(&ran.part.connect, TAKES) && all(&ran.part.greeting, TAKES));
        assert!(tls.is_none() || all(&ran.part.handshake, TAKES), "TLS 1.3 takes a round trip");
        assert!(all(&ran.part.response, TAKES), "{:?}", ran.part.response.max());
    }
}

#[test]
fn a_connection_for_each_request_greets_and_takes_leave() {
    let limits = Limits { keep_alive: Some(1), ..LIMITS };
    for (tls, round_trips) in [(None, 3), (SECURED, 4)] {
        let ran = Load { tls, limits, rate: Some(100.0), ..Load::default() }.run();
        assert_eq!((ran.part.completed(), ran.part.greeting.count()), (100, 104));
        assert_eq!(ran.truth.farewells, 104);
        assert!(all(&ran.part.response, TAKES * round_trips), "{:?}", ran.part.response.max());
        assert_eq!(ran.part.lateness.max(), Some(Nanos::ZERO));
    }
}

#[test]
fn a_handshake_that_does_not_end_is_given_up_in_time_with_the_reason() {
    for tls in [None, SECURED] {
        let conduct = Conduct { allowed: |_| 0, ..Conduct::default() };
        let ran = Load { conduct, tls, ..Load::default() }.run();
        let why = "the handshake of the protocol took too long (--connect-timeout)";
        assert_eq!(ran.unreachable, Some((0, Some(Unopened::Unprepared(why)))));
        assert_eq!((ran.part.completed(), ran.part.greeting.count()), (0, 0));
        assert!(ran.witness.with(Outcome::Connect).all(|completion| completion.why == why));
    }
}

#[test]
fn the_driver_chooses_the_protocols_that_are_offered() {
    let unreachable =
        |protocols| Load { tls: Some(protocols), ..Load::default() }.run().unreachable;
    assert_eq!(unreachable(&["other", "toy"]), None);
    assert_eq!(unreachable(&[]), None, "a server need not choose");
    let why = "it speaks no protocol that was offered (ALPN)";
    assert_eq!(unreachable(&["other"]), Some((0, Some(Unopened::Unprepared(why)))));
}

/// Returns the largest number of requests in progress while those of a range are sent.
fn most_open(completions: &[Completion], range: std::ops::Range<usize>) -> usize {
    let sent = |completion: &Completion| completion.start.unwrap().sent;
    let mut starts: Vec<_> = completions.iter().map(sent).collect();
    starts.sort();
    let open_at = |at| completions.iter().filter(|c| sent(c) <= at && at < c.done).count();
    starts[range].iter().map(|at| open_at(*at)).max().unwrap()
}

#[test]
fn a_connection_carries_as_many_requests_as_the_peer_allows_at_the_time() {
    let allowed = |carried| match carried {
        0..200 => 2,
        200..2_000 => 50,
        _ => 5,
    };
    let conduct = Conduct { allowed, ..Conduct::default() };
    for tls in [None, SECURED] {
        let conduct = conduct.clone();
        let load = Load { conduct, tls, connections: 1, rate: Some(4_000.0), ..Load::default() };
        let ran = load.run();
        assert_eq!((ran.part.completed(), ran.part.reconnects), (4_000, 0));
        let most = |range| most_open(&ran.witness.completions, range);
        assert_eq!((most(0..200), most(250..400)), (2, 50));
        assert!(most(2_060..4_000) <= 5);
        // That there was no room is the target's doing.
        assert_eq!(ran.part.lateness.max(), Some(Nanos::ZERO));
        assert!(MS * 20 < ran.part.backlog_delay.max().unwrap());
    }
}

#[test]
fn the_users_of_a_closed_loop_are_as_many_as_the_peers_allow() {
    let conduct = Conduct { allowed: |_| 3, ..Conduct::default() };
    let ran = Load { conduct, rate: None, ..Load::default() }.run();
    assert_eq!(most_open(&ran.witness.completions, 0..1_000), 12);
}

#[test]
fn a_request_that_takes_too_long_is_given_up_without_its_connection() {
    let conduct = Conduct { is_silent: |key| key % 50 == 49, ..Conduct::default() };
    let limits = Limits { timeout: MS * 100, ..LIMITS };
    for tls in [None, SECURED] {
        let conduct = conduct.clone();
        let ran = Load { conduct, limits, tls, connections: 1, ..Load::default() }.run();
        assert_eq!((ran.part.outcome(Outcome::Timeout), ran.part.completed()), (20, 980));
        assert_eq!((ran.truth.cancelled, ran.part.reconnects), (20, 0));
        for completion in ran.witness.with(Outcome::Timeout) {
            assert_eq!(completion.done - completion.start.unwrap().sent, limits.timeout);
        }
    }
}

/// Two nodes, of which the second has the odd parts.
const TWO: fn(u32, u64) -> u32 = |_, part| (part % 2) as u32;

fn odd_parts_elsewhere() -> Vec<u32> {
    (0..PARTS).map(|part| (part % 2) as u32).collect()
}

#[test]
fn each_request_goes_to_the_node_that_it_belongs_to() {
    let conduct = Conduct { owner: TWO, ..Conduct::default() };
    for tls in [None, SECURED] {
        let habits = Habits { map: odd_parts_elsewhere(), keys: 3, ..Habits::default() };
        let ran = Load { conduct: conduct.clone(), habits, tls, nodes: 2, ..Load::default() }.run();
        assert_eq!((ran.part.completed(), ran.truth.moved), (1_000, 0));
        let of_second = ran.truth.asked.iter().filter(|(node, _)| *node == 1).count();
        assert_eq!((ran.truth.asked.len(), of_second), (1_000, 500));
    }
}

#[test]
fn a_dead_node_fails_only_its_own_requests() {
    let conduct = Conduct { owner: TWO, dead: Some(1), ..Conduct::default() };
    let habits = Habits { map: odd_parts_elsewhere(), ..Habits::default() };
    let ran = Load { conduct, habits, nodes: 2, ..Load::default() }.run();
    assert_eq!((ran.part.completed(), ran.unreachable), (500, None));
    assert!(ran.witness.with(Outcome::Ok).all(|completion| completion.response_time() == TAKES));
    assert!(0 < ran.part.outcome(Outcome::Connect));
    let waited = ran.part.outcome(Outcome::Connect) + ran.part.outcome(Outcome::Unfinished);
    assert_eq!(waited, 500, "{:?}", ran.part.outcomes);
}

#[test]
fn requests_that_wait_for_a_node_are_routed_anew_when_another_takes_over() {
    let conduct = Conduct { dead: Some(1), takes_over_after: 100, ..Conduct::default() };
    let habits = Habits { map: odd_parts_elsewhere(), ..Habits::default() };
    let ran = Load { conduct, habits, nodes: 2, ..Load::default() }.run();
    let refused = ran.part.outcome(Outcome::Connect);
    // A node fails as many requests as attempts to connect to it, which become rare.
    assert!((1..20).contains(&refused), "{refused}");
    assert_eq!(ran.part.completed(), 1_000 - refused);
    let slowest = ran.witness.with(Outcome::Ok).map(Completion::response_time).max().unwrap();
    assert!(MS * 350 < slowest && slowest < MS * 450, "{slowest}");
}

#[test]
fn a_redirected_request_has_one_outcome_and_its_first_start() {
    let conduct = Conduct { owner: TWO, ..Conduct::default() };
    for tls in [None, SECURED] {
        for cut in [usize::MAX, 1] {
            let habits = Habits { map: vec![0; PARTS as usize], ..Habits::default() };
            let conduct = conduct.clone();
            let load = Load { conduct, habits, tls, cut, nodes: 2, ..Load::default() };
            let ran = load.run();
            assert_eq!((ran.part.completed(), ran.part.sent, ran.truth.moved), (1_000, 1_000, 500));
            assert_eq!((ran.part.redirected, ran.truth.asked.len()), (500, 1_500));
            for completion in &ran.witness.completions {
                let start = completion.start.unwrap();
                let steps = 1 + completion.number % 2;
                assert_eq!(start.sent, completion.intended);
                assert_eq!(completion.done - start.sent, TAKES * steps, "{completion:?}");
            }
        }
    }
}

#[test]
fn later_requests_follow_what_the_driver_has_learned() {
    let conduct = Conduct { owner: TWO, ..Conduct::default() };
    let habits = Habits { map: vec![0; PARTS as usize], learns: true, ..Habits::default() };
    let ran = Load { conduct, habits, nodes: 2, ..Load::default() }.run();
    assert_eq!((ran.part.completed(), ran.truth.moved), (1_000, 8), "one for each odd part");
}

#[test]
fn nodes_that_send_a_request_round_in_a_circle_do_not_get_it_for_ever() {
    let conduct = Conduct { owner: |node, _| 1 - node, ..Conduct::default() };
    let habits = Habits { map: odd_parts_elsewhere(), ..Habits::default() };
    let ran = Load { conduct, habits, nodes: 2, ..Load::default() }.run();
    assert_eq!(ran.part.outcome(Outcome::Status), 1_000);
    assert_eq!(ran.part.redirected, 1_000 * u64::from(MOST_HOPS));
}

/// Returns the number of requests in each batch.
fn batches(ran: &Ran) -> Vec<usize> {
    ran.truth.asked.iter().map(|(_, keys)| keys.len()).collect()
}

#[test]
fn a_held_request_waits_for_others_and_its_time_is_no_lateness_and_no_backlog() {
    let linger = MS * 3 + MS / 2;
    for tls in [None, SECURED] {
        for cut in [usize::MAX, 1] {
            let habits = Habits { batch: 10, linger, ..Habits::default() };
            // The connection that is being filled is used first.
            let ran = Load { habits, tls, cut, ..Load::default() }.run();
            assert_eq!((ran.part.completed(), ran.part.sent), (1_000, 1_000));
            assert_eq!(batches(&ran), [4; 250]);
            for completion in &ran.witness.completions {
                let start = completion.start.unwrap();
                assert_eq!(start.held, linger.saturating_sub(MS * (completion.number % 4)));
                assert_eq!(start.sent - completion.intended, start.held);
                assert_eq!(completion.done - start.sent, TAKES);
            }
            assert_eq!(ran.part.batch_delay.count(), 1_000);
            assert_eq!(ran.part.lateness.max(), Some(Nanos::ZERO));
            assert_eq!(ran.part.backlog_delay.max(), Some(Nanos::ZERO));
        }
    }
}

#[test]
fn a_full_batch_is_sent_at_once() {
    let habits = Habits { batch: 10, linger: MS * 4, ..Habits::default() };
    let ran = Load { habits, rate: Some(10_000.0), ..Load::default() }.run();
    assert_eq!(batches(&ran), [10; 1_000]);
    for completion in &ran.witness.completions {
        let start = completion.start.unwrap();
        assert_eq!(start.held, MS / 10 * (9 - completion.number % 10));
        assert_eq!(start.lateness(completion.intended), Nanos::ZERO);
    }
    assert_eq!(ran.part.batch_delay.count(), 9_000, "the last of each batch did not wait");
}

#[test]
fn what_is_held_is_sent_at_once_where_nothing_can_follow() {
    let linger = SECOND * 60;
    let habits = Habits { batch: 1_000, linger, ..Habits::default() };
    let closed = Load { habits, rate: None, length: MS * 100, ..Load::default() };
    let of = |users| Habits { users, ..closed.habits.clone() };
    for (load, what) in [
        (Load { quota: Some(99), habits: of(Some(200)), ..closed.clone() }, "the last ones"),
        (Load { habits: of(Some(3)), ..closed.clone() }, "a request of each user"),
        (
            Load {
                habits: Habits { map: odd_parts_elsewhere(), ..of(Some(4)) },
                conduct: Conduct { owner: TWO, ..Conduct::default() },
                nodes: 2,
                ..closed.clone()
            },
            "of users that wait at two nodes",
        ),
    ] {
        let ran = load.run();
        assert!(load.quota.unwrap_or(30) <= ran.part.completed(), "{what}");
        assert_eq!(ran.part.completed(), ran.witness.completions.len() as u64, "{what}");
        assert!(all(&ran.part.response, TAKES), "{what}: {:?}", ran.part.response.max());
        assert_eq!(ran.part.lateness.max(), Some(Nanos::ZERO), "{what}");
    }
    // The requests of an open loop wait until its end.
    let ran = Load { rate: Some(1_000.0), ..closed.clone() }.run();
    assert_eq!((batches(&ran), ran.part.completed()), (vec![100], 100));
    for completion in &ran.witness.completions {
        let start = completion.start.unwrap();
        assert_eq!(start.sent - completion.intended, start.held);
    }
}

#[test]
fn what_is_due_together_may_be_sent_together_without_waiting() {
    let habits = Habits { batch: 100, streams: 1, ..Habits::default() };
    for tls in [None, SECURED] {
        let habits = habits.clone();
        let load = Load { habits, tls, rate: Some(5_000.0), connections: 1, ..Load::default() };
        let ran = load.run();
        // While one batch is in progress, five requests become due.
        assert!(batches(&ran)[1..900].iter().all(|batch| *batch == 5), "{:?}", batches(&ran));
        assert_eq!(ran.part.batch_delay.count(), 0);
        assert!(all(&ran.part.service, TAKES));
        assert_eq!(ran.part.lateness.max(), Some(Nanos::ZERO));
    }
}

#[test]
fn what_a_lost_connection_held_is_sent_once_by_another() {
    let habits = Habits { batch: 10, linger: MS * 3 + MS / 2, ..Habits::default() };
    let conduct = Conduct { closes_after: 3, ..Conduct::default() };
    for tls in [None, SECURED] {
        let (habits, conduct) = (habits.clone(), conduct.clone());
        let ran = Load { habits, conduct, tls, connections: 1, ..Load::default() }.run();
        assert_eq!((ran.part.completed(), ran.part.sent), (1_000, 1_000));
        assert_eq!(ran.part.sent_again, 0, "it was never sent before");
        assert_eq!(batches(&ran).iter().sum::<usize>(), 1_000);
        assert!(60 < ran.part.reconnects, "{}", ran.part.reconnects);
    }
}

#[test]
fn held_requests_of_two_nodes_share_no_batch_and_may_be_redirected() {
    let habits = Habits { batch: 10, linger: MS * 5 + MS / 2, ..Habits::default() };
    let map = vec![0; PARTS as usize];
    for (map, moved) in [(odd_parts_elsewhere(), 0), (map, 500)] {
        let habits = Habits { map, ..habits.clone() };
        let conduct = Conduct { owner: TWO, ..Conduct::default() };
        let ran = Load { conduct, habits, nodes: 2, ..Load::default() }.run();
        assert_eq!((ran.part.completed(), ran.part.sent, ran.truth.moved), (1_000, 1_000, moved));
        assert_eq!(ran.part.lateness.max(), Some(Nanos::ZERO));
    }
}

#[test]
fn the_operations_of_a_request_are_counted_with_their_own_outcomes() {
    let habits = Habits { keys: 10, counts: true, ..Habits::default() };
    for tls in [None, SECURED] {
        let ran = Load { habits: habits.clone(), tls, ..Load::default() }.run();
        // Each request has one or two of the keys that are missing.
        assert_eq!(ran.part.outcome(Outcome::Status), 1_000);
        let count = |outcome| ran.part.operations[outcome as usize];
        assert_eq!((count(Outcome::Ok), count(Outcome::Status)), (10_000 - 1_429, 1_429));
        // The last reply arrives at the very end.
        assert_eq!(ran.part.operations_inside, 10_000 - 10);
        // Two of its ten keys are missing.
        assert_eq!(ran.part.ok_operations_inside, 10_000 - 1_429 - 8);
        let series = ran.recorded.series.iter().map(|(_, interval)| interval.operations);
        assert_eq!(series.sum::<u64>(), ran.part.operations_inside);
    }
}

#[test]
fn operations_without_a_reply_have_the_outcome_of_their_request() {
    let habits = Habits { keys: 10, counts: true, ..Habits::default() };
    let conduct = Conduct { is_silent: |key| key % 1_000 == 999, ..Conduct::default() };
    let limits = Limits { timeout: MS * 100, ..LIMITS };
    let ran = |limits| {
        let (conduct, habits) = (conduct.clone(), habits.clone());
        let ran = Load { conduct, habits, limits, ..Load::default() }.run();
        let total: u64 = ran.part.operations.iter().sum();
        assert_eq!(total, 10_000);
        ran.part.operations
    };
    assert_eq!(ran(limits)[Outcome::Timeout as usize], 100);
    assert_eq!(ran(LIMITS)[Outcome::Unfinished as usize], 100);
}

#[test]
fn a_request_in_two_steps_counts_as_each_of_them_and_as_both() {
    let habits = Habits { modifies: true, ..Habits::default() };
    for tls in [None, SECURED] {
        let ran = Load { habits: habits.clone(), tls, ..Load::default() }.run();
        assert_eq!((ran.part.completed(), ran.part.sent), (1_000, 1_000));
        let [read, update, both] = [READ, UPDATE, BOTH].map(|label| {
            let group = &ran.recorded.labels[usize::from(label.0)];
            assert_eq!(group.response.count(), group.outcomes.iter().sum::<u64>());
            group
        });
        assert_eq!(read.response.count(), 1_000);
        assert_eq!((update.response.count(), both.response.count()), (250, 250));
        assert!(all(&read.service, TAKES) && all(&update.service, TAKES));
        assert!(all(&both.service, TAKES * 2) && all(&update.response, TAKES * 2));
    }
}

/// Returns a load with random habits and servers of random conduct, all drawn from one seed.
fn mixture(seed: u64) -> Load {
    let mut random = Random::new(seed);
    let mut below = |bound| random.below(bound);
    let is_routed = below(2) == 0;
    let all_at_first = || vec![0; PARTS as usize];
    let allowed: [fn(u64) -> u32; 3] =
        [|_| 100, |_| 1, |carried| [1, 7, 30][carried as usize / 20 % 3]];
    let owner: [fn(u32, u64) -> u32; 2] = [TWO, |node, part| node ^ u32::from(part == 5)];
    let batch = [1, 1, 5, 20][below(4) as usize];
    let conduct = Conduct {
        allowed: allowed[below(3) as usize],
        ping_every: below(4),
        // Only a request that is alone can be given up.
        is_silent: if batch == 1 && below(3) == 0 { |key| key % 97 == 0 } else { |_| false },
        owner: if is_routed { owner[below(2) as usize] } else { |node, _| node },
        dead: (is_routed && below(4) == 0).then_some(1),
        takes_over_after: u64::MAX,
        closes_after: if below(3) == 0 { 1 + below(40) } else { u64::MAX },
    };
    let habits = Habits {
        keys: 1 + below(10),
        batch,
        linger: MS * below(5) / 2,
        streams: 1 + below(20) as usize,
        counts: below(2) == 0,
        modifies: false,
        map: match (is_routed, below(2)) {
            (false, _) => Vec::new(),
            (true, 0) => all_at_first(),
            (true, _) => odd_parts_elsewhere(),
        },
        learns: below(2) == 0,
        users: None,
    };
    // Keys that are read and then written would be operations twice.
    let modifies = batch == 1 && !is_routed && !habits.counts && below(2) == 0;
    Load {
        conduct,
        habits: Habits { modifies, ..habits },
        limits: Limits {
            timeout: MS * (20 + below(50)),
            keep_alive: [None, None, Some(1), Some(9)][below(4) as usize],
            ..LIMITS
        },
        tls: if below(2) == 0 { SECURED } else { None },
        nodes: if is_routed { 2 } else { 1 },
        connections: 2 + below(6) as usize,
        rate: if below(3) == 0 { None } else { Some(100.0 + below(3_000) as f64) },
        length: MS * 200,
        quota: None,
        cut: [usize::MAX, 1, 7][below(3) as usize],
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the last seed that is printed is that of a failure")]
fn random_mixtures_never_break_an_invariant() {
    for seed in 0..40 {
        eprintln!("seed {seed}");
        let load = mixture(seed);
        let ran = load.run();
        let completions = &ran.witness.completions;
        assert_eq!(ran.witness.intended.len(), completions.len(), "one outcome each");
        assert!(!completions.is_empty());
        for completion in completions {
            let &Completion { intended, done, .. } = completion;
            let Some(Start { room, sent, held, .. }) = completion.start else { continue };
            assert_eq!(sent, room.max(intended) + held, "nothing is late: {completion:?}");
            assert!(sent <= done && held <= load.habits.linger, "{completion:?}");
        }
        let sent = completions.iter().filter(|completion| completion.start.is_some()).count();
        if load.habits.counts {
            let operations: u64 = ran.part.operations.iter().sum();
            assert!(operations <= sent as u64 * load.habits.keys);
            assert!(ran.part.completed() * load.habits.keys <= operations);
        }
    }
}
