//! Complete loads on virtual time, over any number of shards, with the checks that every load must
//! pass, whatever the servers do.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use ::measure::pace::{Distribution, Portion, Shape};
use ::measure::series::Sparse;
use ::measure::{Histogram, Random, Rate};
use net::Simulation;
use wire::http1::Expect;

use super::server::{Conduct, GREETING, Key, Manners, Server, Truth, Welcome, body_of};
use super::*;
use crate::driver::Label;
use crate::driver::http1::{
    Expected, Http1, HttpWorkload, Origin, Outgoing, Response, Wanted, outcome_of,
};
use crate::observe::{Group, Interval, Part, Recorded, Recorder, Window};
use crate::pacing::{self, Dealt, Offered, Sharing};
use crate::source::Streams;

pub(super) const START: Instant = Instant(2_000_000_000);
const ADDRESS: &str = "127.0.0.1:1";

#[derive(Clone)]
pub(super) struct Load {
    pub(super) conduct: Rc<dyn Fn(Key) -> Conduct>,
    pub(super) welcome: Rc<dyn Fn(u64) -> Welcome>,
    pub(super) seed: u64,
    pub(super) shards: u32,
    pub(super) targets: u32,
    /// The number of pools of each target.
    pub(super) pools: u32,
    /// The number of connections of each pool.
    pub(super) connections: usize,
    pub(super) pipeline: usize,
    /// The number of requests that are sent together.
    pub(super) batch: u32,
    pub(super) limits: Limits,
    pub(super) pace: Pace,
    pub(super) requests: Option<u64>,
    pub(super) warm_up: Nanos,
    /// The time of the measurement before a full backlog may end the load.
    pub(super) overload: Nanos,
    pub(super) length: Nanos,
    pub(super) drain: Nanos,
    /// The time that every call to the simulated I/O takes.
    pub(super) call_cost: Nanos,
    /// True if the network holds back what is sent until the end of the iteration.
    pub(super) held_back: bool,
    pub(super) script: Script,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    Open { rate: f64, distribution: Distribution, sharing: Sharing },
    Closed { think: Think },
}

/// The properties that make a workload scripted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Script {
    pub(super) is_scripted: bool,
    pub(super) delay: Nanos,
    /// The number of times that there is something to prepare.
    pub(super) preparations: u32,
    /// The number of responses after which a pool stops.
    pub(super) enough: Option<u64>,
}

pub(super) const LIMITS: Limits = Limits {
    timeout: Nanos::from_millis(200),
    overdue: Overdue::Cut,
    backlog: 1_000_000,
    connect_timeout: Nanos::from_millis(300),
    open_gap: Nanos::ZERO,
    keep_alive: None,
    leaves_backlog: false,
};

impl Default for Load {
    fn default() -> Load {
        Load {
            conduct: Rc::new(|_| Conduct::Well),
            welcome: Rc::new(|_| Welcome::After(Nanos::ZERO)),
            seed: 7,
            shards: 1,
            targets: 1,
            pools: 1,
            connections: 16,
            pipeline: 1,
            batch: 1,
            limits: LIMITS,
            pace: Pace::Open {
                rate: 1_000.0,
                distribution: Distribution::Constant,
                sharing: Sharing::InTurn,
            },
            requests: None,
            warm_up: Nanos::ZERO,
            overload: Nanos::ZERO,
            length: Nanos::SECOND,
            drain: Nanos::SECOND,
            call_cost: Nanos::ZERO,
            held_back: false,
            script: Script::default(),
        }
    }
}

/// Returns a function that applies `conduct` to every n-th request of the server.
pub(super) fn every(n: u64, conduct: Conduct) -> Rc<dyn Fn(Key) -> Conduct> {
    Rc::new(move |(_, number, _)| if number % n == n - 1 { conduct } else { Conduct::Well })
}

/// The complete results of a load.
pub(super) struct Run {
    pub(super) recorded: Recorded,
    pub(super) witness: Witness,
    /// The servers' records, by shard.
    pub(super) truths: Vec<Truth>,
    pub(super) ended: Vec<(Instant, Ended)>,
    pub(super) prepared: u32,
    pub(super) failures: Failures,
    pub(super) is_behind: bool,
}

/// An observer that records everything.
#[derive(Debug, Default)]
pub(super) struct Witness {
    pub(super) intended: Vec<(u32, Instant)>,
    pub(super) completions: Vec<Completion>,
    pub(super) overdue: u64,
    pub(super) sent: u64,
    pub(super) sent_again: u64,
    pub(super) bytes: u64,
    pub(super) connected: Vec<(Instant, Nanos)>,
    pub(super) disconnected: Vec<Instant>,
    pub(super) scripted: Nanos,
    /// The number of requests that became due in this iteration, and the largest of an iteration.
    in_turn: usize,
    pub(super) most_in_turn: usize,
}

impl Observer for Witness {
    fn intended(&mut self, of: Of, intended: Instant) {
        self.in_turn += 1;
        self.most_in_turn = self.most_in_turn.max(self.in_turn);
        self.intended.push((of.pool, intended));
    }

    fn sent(&mut self, _of: Of, _intended: Instant, _sent: Instant, bytes: usize) {
        self.sent += 1;
        self.bytes += bytes as u64;
    }

    fn sent_again(&mut self, _of: Of, _sent: Instant, bytes: usize) {
        self.sent_again += 1;
        self.bytes += bytes as u64;
    }

    fn completed(&mut self, completion: &Completion) {
        self.completions.push(*completion);
    }

    fn overdue(&mut self, _of: Of, _intended: Instant) {
        self.overdue += 1;
    }

    fn connected(&mut self, _of: Of, now: Instant, took: Nanos) {
        self.connected.push((now, took));
    }

    fn disconnected(&mut self, _of: Of, now: Instant) {
        self.disconnected.push(now);
    }

    fn turn(&mut self, _now: Instant, turn: Turn) {
        self.scripted += turn.scripted;
        self.in_turn = 0;
    }
}

impl Witness {
    pub(super) fn outcomes(&self) -> BTreeMap<Outcome, usize> {
        let mut outcomes = BTreeMap::new();
        for completion in &self.completions {
            *outcomes.entry(completion.outcome).or_default() += 1;
        }
        outcomes
    }

    pub(super) fn with(&self, outcome: Outcome) -> impl Iterator<Item = &Completion> {
        self.completions.iter().filter(move |completion| completion.outcome == outcome)
    }

    fn add(&mut self, other: Witness) {
        self.intended.extend(other.intended);
        self.completions.extend(other.completions);
        self.overdue += other.overdue;
        self.sent += other.sent;
        self.sent_again += other.sent_again;
        self.bytes += other.bytes;
        self.connected.extend(other.connected);
        self.disconnected.extend(other.disconnected);
        self.scripted += other.scripted;
    }
}

/// A workload of unique requests that checks that each gets its own response.
pub(super) struct Numbered {
    target: u32,
    batch: u32,
    script: Script,
    asked: Vec<Key>,
    answers: u64,
    pub(super) prepared: u32,
}

impl HttpWorkload for Numbered {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        for part in 0..self.batch {
            let key = (self.target, of.number, part);
            let (method, body) = match (of.number + u64::from(part)) % 11 {
                3 => ("HEAD", Expect::NoBody),
                _ => ("GET", Expect::Body),
            };
            let path = format!("/{}", body_of(key));
            wire::http1::encode_request(method, &path, &[("Host", "x")], b"", request.wire);
            request.expected.push(Expected { body, tag: self.asked.len() as u32, closes: false });
            self.asked.push(key);
        }
        request.label = Label((of.number % 5) as u16);
        Ok(())
    }

    fn wanted(&mut self, _connection: u32, _tag: u32) -> Wanted {
        Wanted::Body
    }

    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        self.answers += 1;
        let meant = body_of(self.asked[answer.tag as usize]);
        let is_mine = answer.body.is_empty() || answer.body == meant.as_bytes();
        Ok((if is_mine { outcome_of(answer.status) } else { Outcome::Check }, ""))
    }

    fn delay(&mut self) -> Result<Nanos, Fault> {
        Ok(self.script.delay)
    }

    fn prepare(&mut self) -> Result<bool, Fault> {
        let more = self.prepared < self.script.preparations;
        self.prepared += u32::from(more);
        Ok(more)
    }

    fn is_scripted(&self) -> bool {
        self.script.is_scripted
    }

    fn has_stopped(&self) -> bool {
        self.script.enough.is_some_and(|enough| enough <= self.answers)
    }
}

impl Load {
    /// Runs the load and checks the invariants of every load.
    pub(super) fn run(&self) -> Run {
        let mut shards = (0..self.shards).map(|shard| self.shard(shard));
        let mut run = shards.next().unwrap();
        for other in shards {
            run.recorded.add(other.recorded);
            run.witness.add(other.witness);
            run.truths.extend(other.truths);
            run.ended.extend(other.ended);
            run.prepared += other.prepared;
            run.failures.add(other.failures);
        }
        self.check(&run);
        run
    }

    fn shard(&self, index: u32) -> Run {
        let stop = AtomicBool::new(false);
        let truth = Rc::new(RefCell::new(Truth::default()));
        let batch = self.batch as usize;
        let manners = Manners {
            conduct: Rc::clone(&self.conduct),
            welcome: Rc::clone(&self.welcome),
            most_at_once: self.pipeline * batch,
            most_in_all: self.limits.keep_alive.map_or(usize::MAX, |most| most as usize * batch),
        };
        let server = Server::new(manners, Rc::clone(&truth));
        let world = Simulation::new(server).with_call_cost(self.call_cost);
        let world = if self.held_back { world.holding_back() } else { world };
        let segments = [self.length / 2, self.length];
        let recorder = Recorder::new(self.targets as usize, Nanos::from_millis(250), None)
            .with_segments(&segments);
        let observer = (recorder, Witness::default());
        let mut shard = Shard::new(world, observer, self.limits, [&stop, &stop]);
        let address: std::net::SocketAddr = ADDRESS.parse().unwrap();
        for pool in (index..self.targets * self.pools).step_by(self.shards as usize) {
            let target = pool / self.pools;
            let script = self.script;
            let (asked, batch) = (Vec::new(), self.batch);
            let numbered = Numbered { target, batch, script, asked, answers: 0, prepared: 0 };
            let driver = Http1::new(self.connections, numbered).with_pipeline(self.pipeline);
            let endpoints = (vec![address.into()], self.connections);
            shard.add_pool(Of { pool, target }, driver, endpoints, self.numbers(pool));
        }
        shard.connect(Instant(1_000_000_000)).unwrap();
        let window = self.window();
        shard.observer().begin(START, window);
        let (overload, end) = (window.start + self.overload, window.end);
        let schedule = Schedule { start: START, overload, end, drain: self.drain };
        let ended = shard.run(&mut self.source(index), schedule).unwrap();
        let (failures, is_behind) = (shard.failures(), shard.is_behind());
        let ((recorder, witness), drivers) = shard.into_parts();
        Run {
            failures,
            is_behind,
            recorded: recorder.finish(ended.0),
            witness,
            truths: vec![truth.take()],
            ended: vec![ended],
            prepared: drivers.into_iter().map(|driver| driver.into_workload().prepared).sum(),
        }
    }

    pub(super) fn window(&self) -> Window {
        let start = START + self.warm_up;
        Window { start, end: start + self.length }
    }

    /// Returns how many arrival processes share the number of requests: each takes a part, rounded
    /// up.
    pub(super) fn processes(&self) -> u64 {
        match self.pace {
            Pace::Open { sharing: Sharing::Each, .. } => u64::from(self.targets),
            _ => 1,
        }
    }

    fn numbers(&self, pool: u32) -> Numbers {
        let pools = u64::from(self.targets * self.pools);
        let pool = u64::from(pool);
        let quota = self.requests.map(|n| n / pools + u64::from(pool < n % pools));
        Numbers { first: pool, step: pools, quota }
    }

    fn source(&self, shard: u32) -> Source {
        match self.pace {
            Pace::Closed { think } => {
                Source::Closed { think, random: Random::part(self.seed, u64::from(shard)) }
            }
            Pace::Open { rate, distribution, sharing } => {
                let &Load { shards, targets, pools, seed, .. } = self;
                let part = Portion::WHOLE;
                let dealt = Dealt { targets, part, pools, shards, shard };
                let span = (START, self.window().end);
                let shape = Shape::constant(Rate::per_second(rate).unwrap());
                let offered = Offered::Drawn { shape, distribution };
                let streams = pacing::arrivals(&offered, sharing, dealt, seed, span);
                let most = self.requests.map(|most| most.div_ceil(streams.len() as u64));
                Source::Open(Streams::new(streams, shards, most))
            }
        }
    }

    /// Checks the invariants of every load.
    pub(super) fn check(&self, run: &Run) {
        self.check_outcomes(run);
        self.check_times(run);
        self.check_answers(run);
        self.check_record(run);
    }

    /// Checks that every intended request has exactly one outcome.
    fn check_outcomes(&self, run: &Run) {
        let mut intended = run.witness.intended.clone();
        let completions = &run.witness.completions;
        let mut ended: Vec<_> = completions.iter().map(|c| (c.of.pool, c.intended)).collect();
        intended.sort();
        ended.sort();
        assert_eq!(intended, ended, "one outcome a request");
        let mut numbers: Vec<_> = completions.iter().map(|c| (c.of.target, c.number)).collect();
        numbers.sort();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "a number a request");
        if let Some(requests) = self.requests {
            let requests = requests.next_multiple_of(self.processes());
            assert!(intended.len() as u64 <= requests, "no more than requested");
        }
        if let Pace::Closed { .. } = self.pace {
            return;
        }
        // In an open loop, outcomes do not influence which requests are sent.
        let early = run.ended.iter().any(|(_, why)| *why != Ended::AsPlanned);
        if self.script.enough.is_none() && !early {
            let mut asked: Vec<_> = (0..self.shards)
                .flat_map(|shard| match self.source(shard) {
                    Source::Open(mut streams) => {
                        std::iter::from_fn(move || streams.next_due(Instant::NEVER, Instant::NEVER))
                            .collect::<Vec<_>>()
                    }
                    Source::Closed { .. } => unreachable!("it is an open loop"),
                })
                .map(|arrival| (arrival.pool, arrival.intended))
                .collect();
            asked.sort();
            assert_eq!(intended, asked, "every request of the schedule was intended");
        }
    }

    /// Checks the order of each request's times.
    fn check_times(&self, run: &Run) {
        let last = run.ended.iter().map(|(at, _)| *at).max().unwrap();
        let perfect = self.call_cost == Nanos::ZERO;
        for completion in &run.witness.completions {
            let &Completion { intended, start, done, outcome, .. } = completion;
            assert!(intended <= done && done <= last, "{completion:?}");
            assert!(outcome != Outcome::Dropped || start.is_none(), "{completion:?}");
            let Some(Start { room, sent, first_byte, .. }) = start else {
                let unsent = [Outcome::Dropped, Outcome::Unfinished, Outcome::Connect];
                assert!(unsent.contains(&outcome), "{completion:?}");
                continue;
            };
            assert!(room.max(intended) <= sent && sent <= done, "{completion:?}");
            assert!(first_byte.is_none_or(|at| sent <= at && at <= done), "{completion:?}");
            assert!(done - sent <= completion.response_time(), "{completion:?}");
            assert!(!outcome.is_answer() || first_byte.is_some(), "{completion:?}");
            if perfect {
                assert_eq!(sent, room.max(intended), "nothing is late: {completion:?}");
            }
            if outcome == Outcome::Timeout {
                assert_eq!(self.limits.overdue, Overdue::Cut);
                assert!(self.limits.timeout <= done - sent, "{completion:?}");
                assert!(!perfect || done - sent == self.limits.timeout, "{completion:?}");
            }
        }
        if self.limits.overdue == Overdue::Mark {
            let starts =
                run.witness.completions.iter().filter_map(|c| Some((c.start?.sent, c.done)));
            let longer =
                |least: Nanos| starts.clone().filter(|(s, d)| least <= *d - *s).count() as u64;
            let timeout = self.limits.timeout;
            // One that was sent again may have been overdue before, too.
            let bounds = longer(timeout + Nanos(1))..=longer(timeout) + run.witness.sent_again;
            assert!(bounds.contains(&run.witness.overdue), "each is counted once");
        } else {
            assert_eq!(run.witness.overdue, 0);
        }
    }

    /// Checks that each response is the one that the server sent to this request, at the right
    /// time.
    fn check_answers(&self, run: &Run) {
        let seen: HashMap<_, _> = run.truths.iter().flat_map(|truth| &truth.seen).collect();
        for completion in &run.witness.completions {
            let &Completion { of, number, start, done, outcome, status, answers, .. } = completion;
            assert_ne!(outcome, Outcome::Check, "the response to another request: {completion:?}");
            if outcome != Outcome::Ok && outcome != Outcome::Status {
                assert!(status == 0 || outcome != Outcome::Dropped, "{completion:?}");
                continue;
            }
            if status == GREETING {
                // The generator cannot know that it was not meant as the response; what it sent behind
                // it, on a connection that was to be closed, is sent again.
                let answered = |part| seen[&(of.target, number, part)].answered.is_some();
                assert!(!(0..self.batch).all(answered), "{completion:?}");
                continue;
            }
            assert_eq!(answers, self.batch, "{completion:?}");
            let keys = (0..self.batch).map(|part| (of.target, number, part));
            let each: Vec<_> = keys
                .map(|key| seen[&key].answered.unwrap_or_else(|| panic!("{completion:?}")))
                .collect();
            let (answered, _) = each.iter().max().unwrap();
            assert!(*answered <= done, "{completion:?} {each:?}");
            assert!(each.iter().any(|(_, known)| *known == status), "{completion:?} {each:?}");
            let failed = each.iter().any(|(_, status)| 400 <= *status);
            assert_eq!(failed, outcome == Outcome::Status, "{completion:?} {each:?}");
            let perfect = self.call_cost == Nanos::ZERO;
            if perfect {
                assert_eq!(*answered, done, "{completion:?} {each:?}");
            }
            // Requests that are handed over at the end of an iteration leave then; requests that
            // are sent at once leave during the call.
            if (perfect || self.held_back) && self.limits.keep_alive.is_none() {
                let received = seen[&(of.target, number, self.batch - 1)].received;
                assert_eq!(start.unwrap().sent, received, "{completion:?}");
            }
        }
        let bytes: u64 = run.truths.iter().map(|truth| truth.bytes).sum();
        assert_eq!(bytes, run.witness.bytes, "the server received all bytes");
        let ignored = run.truths.iter().flat_map(|truth| &truth.ignored);
        let ignored = ignored.filter(|key| !seen.contains_key(key)).count();
        assert_eq!((seen.len() + ignored) as u64, run.witness.sent * u64::from(self.batch));
    }

    /// Checks that the record matches the requests, and that its parts sum up to it.
    fn check_record(&self, run: &Run) {
        let window = self.window();
        let counting = || run.witness.completions.iter().filter(|c| window.contains(c.intended));
        for (target, part) in (0..).zip(&run.recorded.parts) {
            Computed::of(counting().filter(|c| c.of.target == target)).check(part);
        }
        let whole = Computed::of(counting());
        let mut total = Part::default();
        run.recorded.parts.iter().for_each(|part| total.add(part));
        whole.check(&total);

        let window = || run.recorded.series.iter().map(|(_, interval)| interval);
        let completed = window().map(|interval| interval.completed).sum::<u64>();
        assert_eq!(completed, total.completed_inside, "responses count when they arrive");
        let series = || window().chain([&run.recorded.drained]);
        let sum = |figure: fn(&Interval) -> u64| series().map(figure).sum::<u64>();
        assert_eq!(sum(|i| i.intended), total.intended, "the intervals sum up to the total");
        assert_eq!(sum(|i| i.sent), total.sent);
        assert_eq!(sum(|i| i.failed()), total.failed());
        let joined = |figure: fn(&Interval) -> &Sparse| {
            let mut histogram = Histogram::new();
            series().for_each(|interval| figure(interval).add_to(&mut histogram));
            buckets(&histogram)
        };
        assert_eq!(joined(|i| &i.response), buckets(&total.response), "bucket by bucket");
        assert_eq!(joined(|i| &i.service), buckets(&total.service), "bucket by bucket");
        assert_eq!(joined(|i| &i.lateness), buckets(&total.lateness), "bucket by bucket");

        let mut segments = Group::default();
        run.recorded.segments.iter().for_each(|group| segments.add(group));
        assert_eq!(segments.outcomes, total.outcomes, "the segments sum up to the total");
        assert_eq!(buckets(&segments.response), buckets(&total.response));
        let mut labels = Group::default();
        run.recorded.labels.iter().for_each(|group| labels.add(group));
        let labelled = Computed::of(counting().filter(|c| c.label != Label::NONE));
        assert_eq!(labels.outcomes, labelled.outcomes, "the labels sum up to the labelled");
        assert_eq!(buckets(&labels.response), buckets(&labelled.response));
    }
}

/// The expected contents of a record, computed from the requests themselves.
#[derive(Default)]
struct Computed {
    outcomes: [u64; Outcome::ALL.len()],
    answers: u64,
    response: Histogram,
    service: Histogram,
    start_delay: Histogram,
    lateness: Histogram,
    backlog: Histogram,
    first_byte: Histogram,
}

impl Computed {
    fn of<'a>(completions: impl Iterator<Item = &'a Completion>) -> Computed {
        let mut computed = Computed::default();
        for &Completion { intended, start, done, outcome, answers, .. } in completions {
            computed.outcomes[outcome as usize] += 1;
            computed.answers += u64::from(answers);
            use Outcome::{Check, Ok, Status, Timeout, Unfinished};
            let is_timed = matches!(outcome, Ok | Status | Check | Timeout | Unfinished);
            if is_timed {
                computed.response.record(done - intended);
            }
            let Some(Start { room, sent, first_byte, .. }) = start else { continue };
            if is_timed {
                computed.service.record(done - sent);
            }
            computed.start_delay.record(sent - intended);
            computed.lateness.record(sent - room.max(intended));
            computed.backlog.record(room.max(intended) - intended);
            first_byte.into_iter().for_each(|at| computed.first_byte.record(at - sent));
        }
        computed
    }

    fn check(&self, part: &Part) {
        assert_eq!(part.outcomes.iter().sum::<u64>(), part.intended, "one outcome a request");
        assert_eq!((part.outcomes, part.answers), (self.outcomes, self.answers));
        for (recorded, computed) in [
            (&part.response, &self.response),
            (&part.service, &self.service),
            (&part.start_delay, &self.start_delay),
            (&part.lateness, &self.lateness),
            (&part.backlog_delay, &self.backlog),
            (&part.first_byte, &self.first_byte),
        ] {
            assert_eq!(buckets(recorded), buckets(computed), "the record matches the requests");
        }
    }
}

fn buckets(histogram: &Histogram) -> Vec<(Nanos, u64)> {
    histogram.buckets().collect()
}
