//! Tests of complete loads on virtual time.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use ::measure::pace::{Distribution, Portion, Shape};
use ::measure::{Histogram, Quantile, Random, Rate};
use net::Simulation;
use net::simulation::{Effect, Peer};
use wire::http1::{RequestDecoder, RequestEvent};

use super::*;
use crate::driver::http1::{Http1, Static};
use crate::observe::{Recorded, Recorder, Window};
use crate::pacing::{self, Dealt, Offered, Sharing};
use crate::source::Streams;

mod alike;
mod load;
mod mixtures;
mod resumed;
mod scenarios;
mod secured;
mod server;
mod sockets;
mod toy;

const SECOND: Nanos = Nanos::SECOND;
const SERVICE: Nanos = Nanos::from_micros(100);

/// A first-come-first-served server behind a perfect network.
#[derive(Default)]
struct Queue {
    stall: Option<(Instant, Instant)>,
    /// Sends responses in single bytes.
    bytewise: bool,
    misbehaviour: Option<(u64, Misbehaviour)>,
    refused: std::ops::Range<u64>,
    /// The port that refuses connections from this time on.
    dead: Option<(u16, Instant)>,
    ports: HashMap<ConnectionId, u16>,
    /// The number of attempts to connect to the dead port.
    in_vain: Rc<Cell<u64>>,
    free: Instant,
    served: u64,
    decoders: HashMap<ConnectionId, RequestDecoder>,
}

/// The treatment of every n-th request.
#[derive(Clone, Copy)]
enum Misbehaviour {
    Reset,
    Silence,
    Nonsense,
    Busy,
    CloseAfter,
}

impl Queue {
    fn is_dead(&self, connection: ConnectionId, now: Instant) -> bool {
        self.dead.is_some_and(|(port, since)| since <= now && self.ports[&connection] == port)
    }
}

impl Peer for Queue {
    fn called(&mut self, connection: ConnectionId, to: &Endpoint) {
        let net::Address::Inet(address) = to.address else { panic!("{to:?}") };
        self.ports.insert(connection, address.port());
    }

    fn connect(
        &mut self,
        connection: ConnectionId,
        attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        self.decoders.remove(&connection);
        let is_dead = self.is_dead(connection, now);
        self.in_vain.update(|count| count + u64::from(is_dead));
        effects.push(match is_dead || self.refused.contains(&attempt) {
            true => (now, Effect::Closed(connection, Closed::Refused)),
            false => (now, Effect::Connected(connection)),
        });
    }

    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        if self.is_dead(connection, now) {
            return effects.push((now, Effect::Closed(connection, Closed::Reset)));
        }
        let decoder = self.decoders.entry(connection).or_default();
        let mut bytes = bytes;
        while let Some(event) = decoder.next(&mut bytes).unwrap() {
            if !matches!(event, RequestEvent::End(_)) {
                continue;
            }
            let mut begin = self.free.max(now);
            if let Some((from, until)) = self.stall
                && from <= begin
                && begin < until
            {
                begin = until;
            }
            self.free = begin + SERVICE;
            self.served += 1;
            let meets = self.misbehaviour.filter(|(n, _)| self.served.is_multiple_of(*n));
            let answer = match meets.map(|(_, misbehaviour)| misbehaviour) {
                Some(Misbehaviour::Silence) => continue,
                Some(Misbehaviour::Reset) => {
                    effects.push((self.free, Effect::Closed(connection, Closed::Reset)));
                    continue;
                }
                Some(Misbehaviour::Nonsense) => "SMTP ready\r\n\r\n",
                Some(Misbehaviour::Busy) => "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
                Some(Misbehaviour::CloseAfter) => {
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"
                }
                None => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            };
            let size = if self.bytewise { 1 } else { answer.len() };
            for slice in answer.as_bytes().chunks(size) {
                effects.push((self.free, Effect::Bytes(connection, slice.to_vec())));
            }
        }
    }
}

const LIMITS: Limits = Limits {
    timeout: Nanos::from_secs(10),
    overdue: Overdue::Cut,
    backlog: 1_000_000,
    connect_timeout: Nanos::from_secs(5),
    open_gap: Nanos::ZERO,
    keep_alive: None,
    leaves_backlog: false,
};

struct Scenario {
    server: Queue,
    connections: usize,
    /// The number of endpoints, at ports from 1 on.
    replicas: u16,
    limits: Limits,
    seconds: u64,
    seed: u64,
}

impl Default for Scenario {
    fn default() -> Scenario {
        let (server, limits) = (Queue::default(), LIMITS);
        Scenario { server, connections: 16, replicas: 1, limits, seconds: 10, seed: 7 }
    }
}

impl Scenario {
    fn open(self, rate: f64, distribution: Distribution) -> Recorded {
        let shape = Shape::constant(Rate::per_second(rate).unwrap());
        let load = Offered::Drawn { shape, distribution };
        let span = (Instant(0), Instant(0) + SECOND * self.seconds);
        let dealt = Dealt { targets: 1, part: Portion::WHOLE, pools: 1, shards: 1, shard: 0 };
        let seed = self.seed;
        let arrivals = pacing::arrivals(&load, Sharing::InTurn, dealt, seed, span);
        self.run(Source::Open(Streams::new(arrivals, 1, None)))
    }

    fn closed(self, think: Nanos) -> Recorded {
        let random = Random::new(self.seed);
        self.run(Source::Closed { think: Think::Fixed(think), random })
    }

    fn run(self, mut source: Source) -> Recorded {
        let stop = AtomicBool::new(false);
        let recorder = Recorder::new(1, SECOND, None);
        let world = Simulation::new(self.server);
        let mut shard = Shard::new(world, recorder, self.limits, [&stop, &stop]);
        let workload = Static::new("GET", "/", &[("Host", "simulated")], b"");
        let address = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port)).into();
        let driver = Http1::new(self.connections, workload);
        let where_to = ((1..=self.replicas).map(address).collect(), self.connections);
        let numbers = Numbers { first: 0, step: 1, quota: None };
        shard.add_pool(Of { pool: 0, target: 0 }, driver, where_to, numbers);
        shard.connect(Instant(0) + SECOND).unwrap();
        let (start, end) = (Instant(0), Instant(0) + SECOND * self.seconds);
        shard.observer().begin(start, Window { start, end });
        let schedule = Schedule { start, overload: start, end, drain: SECOND * 10 };
        let (done, _) = shard.run(&mut source, schedule).unwrap();
        let recorded = shard.into_parts().0.finish(done);
        check_invariants(&recorded);
        recorded
    }
}

/// Checks the invariants of every load, whatever the server does.
fn check_invariants(recorded: &Recorded) {
    let part = &recorded.parts[0];
    assert_eq!(part.outcomes.iter().sum::<u64>(), part.intended, "one outcome a request");
    let sum = |figure: fn(&crate::observe::Interval) -> u64| {
        recorded.series.iter().map(|(_, interval)| figure(interval)).sum::<u64>()
    };
    let drained = &recorded.drained;
    let intended = sum(|i| i.intended) + drained.intended;
    assert_eq!(intended, part.intended, "the intervals sum up to the total");
    assert_eq!(sum(|i| i.completed), part.completed_inside);
    assert_eq!(sum(|i| i.failed()) + drained.failed(), part.failed());
    assert!(part.service.max() <= part.response.max(), "response time contains service time");
}

const QUANTILES: [Quantile; 4] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999];

fn quantiles_ms(histogram: &Histogram) -> [f64; 4] {
    QUANTILES.map(|q| histogram.quantile(q).unwrap().as_millis_f64())
}

const STALL: (Instant, Instant) = (Instant(4_000_000_000), Instant(5_000_000_000));

/// Returns the response times of an ideal schedule: request i is intended at i ms and served in
/// order.
fn ideal_response_times(stall: (Instant, Instant)) -> Vec<Nanos> {
    let mut free = Instant(0);
    let mut times: Vec<Nanos> = (0..10_000)
        .map(|i| {
            let intended = Instant(0) + Nanos::from_millis(i);
            let begin = free.max(intended);
            let begin = if stall.0 <= begin && begin < stall.1 { stall.1 } else { begin };
            free = begin + SERVICE;
            free - intended
        })
        .collect();
    times.sort();
    times
}

#[test]
fn a_stall_delays_every_request_that_was_intended_during_it() {
    let server = Queue { stall: Some(STALL), ..Queue::default() };
    let recorded = Scenario { server, ..Scenario::default() }.open(1_000.0, Distribution::Constant);
    let part = &recorded.parts[0];
    assert_eq!(part.intended, 10_000);
    let ideal = ideal_response_times(STALL);
    for (quantile, measured) in QUANTILES.iter().zip(quantiles_ms(&part.response)) {
        let ideal = ideal[(quantile.level() * 10_000.0).ceil() as usize - 1].as_millis_f64();
        assert!((measured / ideal - 1.0).abs() < 0.01, "{quantile:?}: {measured} for {ideal} ms");
    }
    // The stall is the target's: it fills the backlog, and does not count as our lateness.
    assert!(Nanos::from_millis(850) < part.backlog_delay.quantile(Quantile::P99).unwrap());
    assert_eq!(part.lateness.max(), Some(Nanos::ZERO));
}

#[test]
fn a_closed_loop_hides_the_stall() {
    let server = Queue { stall: Some(STALL), ..Queue::default() };
    let scenario = Scenario { server, connections: 2, ..Scenario::default() };
    let recorded = scenario.closed(Nanos::from_millis(2));
    let [p50, p90, p99, p999] = quantiles_ms(&recorded.parts[0].response);
    assert!(p999 < 0.21, "{p50} {p90} {p99} {p999}");
    assert!(recorded.parts[0].intended < 9_000, "it asked less while the server stalled");
}

/// The mean response time of an M/D/1 system is S + ρS / 2(1 − ρ) (Pollaczek and Khinchine).
#[test]
fn poisson_arrivals_wait_as_queueing_theory_predicts() {
    let scenario = Scenario { connections: 1_024, seconds: 100, ..Scenario::default() };
    let recorded = scenario.open(8_000.0, Distribution::Poisson);
    let mean = recorded.parts[0].response.mean().unwrap().0 as f64;
    let predicted = 100_000.0 + 0.8 * 100_000.0 / (2.0 * (1.0 - 0.8));
    assert!((mean / predicted - 1.0).abs() < 0.03, "{mean} for {predicted}");
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let buckets = |seed| {
        let scenario = Scenario { seed, seconds: 2, ..Scenario::default() };
        let recorded = scenario.open(5_000.0, Distribution::Poisson);
        recorded.parts[0].response.buckets().collect::<Vec<_>>()
    };
    assert_eq!(buckets(1), buckets(1));
    assert_ne!(buckets(1), buckets(2));
}

#[test]
fn the_slicing_of_responses_changes_nothing() {
    let run = |bytewise| {
        let server = Queue { bytewise, ..Queue::default() };
        let scenario = Scenario { server, seconds: 2, ..Scenario::default() };
        scenario.open(5_000.0, Distribution::Poisson).parts[0]
            .response
            .buckets()
            .collect::<Vec<_>>()
    };
    assert_eq!(run(true), run(false));
}

fn misbehaving(misbehaviour: Misbehaviour) -> Recorded {
    let server = Queue { misbehaviour: Some((100, misbehaviour)), ..Queue::default() };
    let limits = Limits { timeout: Nanos::from_millis(200), ..LIMITS };
    Scenario { server, limits, seconds: 2, ..Scenario::default() }
        .open(1_000.0, Distribution::Constant)
}

#[test]
fn each_misbehaviour_has_its_outcome() {
    for (misbehaviour, outcome, reconnects) in [
        (Misbehaviour::Reset, Outcome::Reset, 20),
        (Misbehaviour::Silence, Outcome::Timeout, 20),
        (Misbehaviour::Nonsense, Outcome::Malformed, 20),
        (Misbehaviour::Busy, Outcome::Status, 0),
    ] {
        let part = &misbehaving(misbehaviour).parts[0];
        assert_eq!(part.outcome(outcome), 20, "{outcome:?}: {:?}", part.outcomes);
        assert_eq!(part.outcome(Outcome::Ok), 1_980, "{outcome:?}");
        // The last ones time out during the drain, when reconnects no longer count.
        assert!((reconnects.max(2) - 2..=reconnects).contains(&part.reconnects), "{outcome:?}");
    }
}

#[test]
fn a_timeout_counts_as_at_least_the_time_allowed() {
    let part = &misbehaving(Misbehaviour::Silence).parts[0];
    assert_eq!(part.response.count_above(Nanos::from_millis(199)), 20);
}

#[test]
fn a_connection_closed_in_order_is_replaced_at_once() {
    let part = &misbehaving(Misbehaviour::CloseAfter).parts[0];
    assert_eq!(part.outcome(Outcome::Ok), 2_000);
    assert!(part.response.max() < Some(SERVICE + SERVICE / 100));
}

#[test]
fn a_full_backlog_ends_the_load_as_overloaded() {
    let server = Queue { stall: Some(STALL), ..Queue::default() };
    let limits = Limits { backlog: 100, ..LIMITS };
    let recorded =
        Scenario { server, limits, ..Scenario::default() }.open(1_000.0, Distribution::Constant);
    let part = &recorded.parts[0];
    // Sixteen are in progress, a hundred wait, and one is too many.
    assert_eq!(part.outcome(Outcome::Dropped), 1);
    assert_eq!(part.intended, 4_000 + 16 + 100 + 1);
    assert_eq!(part.outcome(Outcome::Unfinished), 116);
}

#[test]
fn unanswered_requests_count_as_at_least_the_time_that_they_waited() {
    let stall = Some((Instant(8_000_000_000), Instant(u64::MAX / 2)));
    let server = Queue { stall, ..Queue::default() };
    let limits = Limits { timeout: SECOND * 60, ..LIMITS };
    let recorded =
        Scenario { server, limits, ..Scenario::default() }.open(100.0, Distribution::Constant);
    let part = &recorded.parts[0];
    assert_eq!(part.outcome(Outcome::Unfinished), 200);
    // Intended between 8 and 10 s, given up at 20 s.
    assert_eq!(part.response.count_above(SECOND * 10), 200);
}

#[test]
fn a_refused_connection_is_retried_and_fails_no_request_that_another_can_serve() {
    // The second connection is refused four times while requests wait for the first.
    let stall = Some((Instant(0), Instant(0) + Nanos::from_millis(500)));
    let server = Queue { refused: 1..5, stall, ..Queue::default() };
    let scenario = Scenario { server, connections: 2, seconds: 2, ..Scenario::default() };
    let recorded = scenario.open(1_000.0, Distribution::Constant);
    let part = &recorded.parts[0];
    assert_eq!(part.outcome(Outcome::Ok), 2_000, "{:?}", part.outcomes);
    assert_eq!(part.connect.count(), 2, "both slots have a connection in the end");
}

#[test]
fn attempts_that_are_all_refused_fail_one_request_each() {
    // Each slot is tried once before the load, then after 10 and after 30 ms.
    let server = Queue { refused: 0..12, ..Queue::default() };
    let scenario = Scenario { server, connections: 4, seconds: 1, ..Scenario::default() };
    let recorded = scenario.open(1_000.0, Distribution::Constant);
    let part = &recorded.parts[0];
    assert_eq!((part.outcome(Outcome::Connect), part.outcome(Outcome::Ok)), (8, 992));
}

#[test]
fn connections_of_a_dead_replica_move_to_a_live_one() {
    let in_vain = Rc::default();
    let dead = Some((2, Instant(0) + SECOND));
    let server = Queue { dead, in_vain: Rc::clone(&in_vain), ..Queue::default() };
    let scenario =
        Scenario { server, connections: 6, replicas: 3, seconds: 4, ..Scenario::default() };
    let recorded = scenario.open(1_000.0, Distribution::Constant);
    let part = &recorded.parts[0];
    // A request on each of its two connections detects that it is dead, and one attempt on each
    // that it is still dead.
    assert_eq!((part.outcome(Outcome::Reset), part.outcome(Outcome::Ok)), (2, 3_998));
    assert_eq!((in_vain.get(), part.connect.count()), (2, 6 + 2));
}

/// Checks that the simulation can fail: a second outcome for a request breaks the invariant.
#[test]
#[should_panic(expected = "one outcome a request")]
fn canary_an_invariant_that_is_broken_is_noticed() {
    let mut recorded =
        Scenario { seconds: 1, ..Scenario::default() }.open(10.0, Distribution::Constant);
    recorded.parts[0].outcomes[Outcome::Ok as usize] += 1;
    check_invariants(&recorded);
}

#[test]
fn random_servers_never_break_the_invariants() {
    let kinds = [
        Misbehaviour::Reset,
        Misbehaviour::Silence,
        Misbehaviour::Nonsense,
        Misbehaviour::Busy,
        Misbehaviour::CloseAfter,
    ];
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let from = Instant(random.below(2_000_000_000));
        let mut server = Queue {
            stall: Some((from, from + Nanos(random.below(1_500_000_000)))),
            bytewise: random.below(2) == 0,
            misbehaviour: Some((1 + random.below(50), kinds[random.below(5) as usize])),
            refused: 0..random.below(6),
            ..Queue::default()
        };
        let limits = Limits {
            timeout: Nanos::from_millis(1 + random.below(500)),
            backlog: 1 + random.below(2_000) as usize,
            keep_alive: Some(1 + random.below(3) as u32).filter(|_| random.below(2) == 0),
            ..LIMITS
        };
        let connections = 1 + random.below(30) as usize;
        let replicas = 1 + random.below(3) as u16;
        server.dead = Some((1 + random.below(3) as u16, Instant(random.below(2_000_000_000))));
        let scenario = Scenario { server, connections, replicas, limits, seconds: 1, seed };
        match random.below(2) {
            0 => scenario.open(10.0 + random.below(3_000) as f64, Distribution::Poisson),
            _ => scenario.closed(Nanos(random.below(9_000_000))),
        };
    }
}
