//! What is kept of what happened.

use std::collections::BTreeMap;
use std::sync::mpsc::SyncSender;

use ::measure::series::{Merge, Series, Sparse};
use ::measure::{Balance, Histogram, Instant, Nanos};

use self::intervals::{Buffer, IntervalWriter, Kept};
use crate::driver::{Handshake, Label, Outcome, Slot};

mod intervals;
#[cfg(test)]
mod tests;

/// Whose request it is: a pool is one workload's part of a target.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Of {
    /// Over all shards.
    pub pool: u32,
    pub target: u32,
}

/// Everything the shard knows about one request that has come to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Completion {
    pub of: Of,
    pub intended: Instant,
    /// The arrival's place in the sequence that all shards walk.
    pub number: u64,
    pub label: Label,
    /// `None` if it was never sent.
    pub start: Option<Start>,
    pub done: Instant,
    pub outcome: Outcome,
    pub status: u16,
    /// Answers that arrived: several to requests that were pipelined together.
    pub answers: u32,
    /// How many of them had a status that says failure.
    pub bad: u32,
    /// Of their bodies.
    pub bytes: u64,
    /// What was wrong, beyond the outcome.
    pub why: &'static str,
}

/// How a request left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Start {
    /// From when on its connection had room for it.
    pub room: Instant,
    /// When its first byte was handed to the kernel, or when it began to have a connection opened.
    pub sent: Instant,
    /// When the first byte of its answer was there.
    pub first_byte: Option<Instant>,
    /// The connection that carried it, by its place in the pool.
    pub connection: Slot,
}

impl Completion {
    /// What a user of the system waits: from the moment the request was meant to start.
    pub fn response_time(&self) -> Nanos {
        self.done - self.intended
    }
}

impl Start {
    /// The target's part of the delay: until a connection had room.
    pub fn backlog_delay(&self, intended: Instant) -> Nanos {
        self.room.saturating_since(intended)
    }

    /// Our part of the delay: a request whose time had come and whose connection had room.
    pub fn lateness(&self, intended: Instant) -> Nanos {
        self.sent - self.room.max(intended)
    }
}

/// What to do with what happened; an observer says only what it keeps.
pub trait Observer {
    /// The load begins.
    fn begin(&mut self, _start: Instant, _window: Window) {}
    /// A request's intended time has come.
    fn intended(&mut self, _of: Of, _intended: Instant) {}
    fn sent(&mut self, _of: Of, _intended: Instant, _sent: Instant, _bytes: usize) {}
    fn received(&mut self, _of: Of, _now: Instant, _bytes: usize) {}
    fn completed(&mut self, _completion: &Completion) {}
    /// A request has taken longer than its timeout, and is awaited all the same.
    fn overdue(&mut self, _of: Of, _intended: Instant) {}
    fn connected(&mut self, _of: Of, _now: Instant, _took: Nanos) {}
    /// A connection can be used, so long after the network had connected it.
    fn secured(&mut self, _of: Of, _took: Nanos, _handshake: Handshake) {}
    fn disconnected(&mut self, _of: Of, _now: Instant) {}
    /// A turn of the loop is over.
    fn turn(&mut self, _now: Instant, _turn: Turn) {}
    /// The load is over.
    fn end(&mut self, _now: Instant) {}
}

impl Observer for () {}

/// Tells whoever is there.
impl<A: Observer> Observer for Option<A> {
    fn begin(&mut self, start: Instant, window: Window) {
        self.iter_mut().for_each(|a| a.begin(start, window));
    }

    fn end(&mut self, now: Instant) {
        self.iter_mut().for_each(|a| a.end(now));
    }

    fn intended(&mut self, of: Of, intended: Instant) {
        self.iter_mut().for_each(|a| a.intended(of, intended));
    }

    fn sent(&mut self, of: Of, intended: Instant, sent: Instant, bytes: usize) {
        self.iter_mut().for_each(|a| a.sent(of, intended, sent, bytes));
    }

    fn received(&mut self, of: Of, now: Instant, bytes: usize) {
        self.iter_mut().for_each(|a| a.received(of, now, bytes));
    }

    fn completed(&mut self, completion: &Completion) {
        self.iter_mut().for_each(|a| a.completed(completion));
    }

    fn overdue(&mut self, of: Of, intended: Instant) {
        self.iter_mut().for_each(|a| a.overdue(of, intended));
    }

    fn connected(&mut self, of: Of, now: Instant, took: Nanos) {
        self.iter_mut().for_each(|a| a.connected(of, now, took));
    }

    fn secured(&mut self, of: Of, took: Nanos, handshake: Handshake) {
        self.iter_mut().for_each(|a| a.secured(of, took, handshake));
    }

    fn disconnected(&mut self, of: Of, now: Instant) {
        self.iter_mut().for_each(|a| a.disconnected(of, now));
    }

    fn turn(&mut self, now: Instant, turn: Turn) {
        self.iter_mut().for_each(|a| a.turn(now, turn));
    }
}

/// Tells both.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn begin(&mut self, start: Instant, window: Window) {
        self.0.begin(start, window);
        self.1.begin(start, window);
    }

    fn end(&mut self, now: Instant) {
        self.0.end(now);
        self.1.end(now);
    }

    fn intended(&mut self, of: Of, intended: Instant) {
        self.0.intended(of, intended);
        self.1.intended(of, intended);
    }

    fn sent(&mut self, of: Of, intended: Instant, sent: Instant, bytes: usize) {
        self.0.sent(of, intended, sent, bytes);
        self.1.sent(of, intended, sent, bytes);
    }

    fn received(&mut self, of: Of, now: Instant, bytes: usize) {
        self.0.received(of, now, bytes);
        self.1.received(of, now, bytes);
    }

    fn completed(&mut self, completion: &Completion) {
        self.0.completed(completion);
        self.1.completed(completion);
    }

    fn overdue(&mut self, of: Of, intended: Instant) {
        self.0.overdue(of, intended);
        self.1.overdue(of, intended);
    }

    fn connected(&mut self, of: Of, now: Instant, took: Nanos) {
        self.0.connected(of, now, took);
        self.1.connected(of, now, took);
    }

    fn secured(&mut self, of: Of, took: Nanos, handshake: Handshake) {
        self.0.secured(of, took, handshake);
        self.1.secured(of, took, handshake);
    }

    fn disconnected(&mut self, of: Of, now: Instant) {
        self.0.disconnected(of, now);
        self.1.disconnected(of, now);
    }

    fn turn(&mut self, now: Instant, turn: Turn) {
        self.0.turn(now, turn);
        self.1.turn(now, turn);
    }
}

/// One turn of a shard's loop: what is outstanding, what waits, and where the time went.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Turn {
    pub outstanding: usize,
    pub backlog: usize,
    pub waited: Nanos,
    pub worked: Nanos,
    /// The part of the work that was done in scripts.
    pub scripted: Nanos,
}

/// The time in which requests count: those whose intended time falls into [start, end).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Window {
    pub start: Instant,
    pub end: Instant,
}

impl Window {
    pub fn contains(&self, at: Instant) -> bool {
        self.start <= at && at < self.end
    }

    pub fn length(&self) -> Nanos {
        self.end - self.start
    }
}

/// The figures of one target, of one shard or of all.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub intended: u64,
    pub sent: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub reconnects: u64,
    /// Answers, of which several may belong to one request where they were pipelined together.
    pub answers: u64,
    /// Answers with a status that says failure.
    pub bad_answers: u64,
    /// Requests that took longer than the timeout and were awaited all the same.
    pub overdue: u64,
    pub outcomes: [u64; Outcome::ALL.len()],
    /// What was wrong with failed requests, where the outcome does not say it all.
    pub reasons: BTreeMap<(Outcome, &'static str), u64>,
    /// Answers by status, of requests that count.
    pub statuses: Statuses,
    /// Answers that arrived inside the window, whenever they were intended.
    pub completed_inside: u64,
    /// Those of them that were good, and in time if the load has an SLO.
    pub good_inside: u64,
    pub response: Histogram,
    /// The part of `response` that failed.
    pub failed_response: Histogram,
    /// The response time of each of the same requests, less its own lateness.
    pub less_lateness: Histogram,
    pub service: Histogram,
    pub start_delay: Histogram,
    pub lateness: Histogram,
    pub backlog_delay: Histogram,
    pub connect: Histogram,
    /// Of the TLS handshakes, which begin when the network has connected.
    pub handshake: Histogram,
    /// How many handshakes resumed an earlier session, and what they agreed on: version and cipher.
    pub resumed: u64,
    pub agreed: BTreeMap<(&'static str, &'static str), u64>,
    /// From `sent` to the first byte of the answer.
    pub first_byte: Histogram,
}

/// The figures of the requests with one label, or of one segment of a load's shape.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub outcomes: [u64; Outcome::ALL.len()],
    pub response: Histogram,
    pub service: Histogram,
}

impl Group {
    pub fn add(&mut self, other: &Group) {
        add_each(&mut self.outcomes, &other.outcomes);
        self.response.add(&other.response);
        self.service.add(&other.service);
    }
}

/// Labels beyond so many are counted with the unlabelled: each takes most of a megabyte.
pub const MOST_LABELS: usize = 64;

/// A count for each status from 0 to 999.
#[derive(Clone, Debug)]
pub struct Statuses(Vec<u64>);

impl Default for Statuses {
    fn default() -> Statuses {
        Statuses(vec![0; 1000])
    }
}

impl Statuses {
    /// The statuses that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        (0u16..).zip(self.0.iter().copied()).filter(|&(_, count)| 0 < count)
    }
}

impl Part {
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Requests that were answered, well or not.
    pub fn completed(&self) -> u64 {
        Outcome::ALL.iter().filter(|o| o.is_answer()).map(|&o| self.outcome(o)).sum()
    }

    /// Of the answers inside the window, at most as many as were intended in it: what of the offer was
    /// sustained. What a warm-up left in the backlog would else count as more than was offered.
    pub fn sustained_inside(&self) -> u64 {
        self.completed_inside.min(self.intended)
    }

    /// Requests with any outcome but `ok`: those that are unfinished or were dropped, too.
    pub fn failed(&self) -> u64 {
        self.outcomes.iter().sum::<u64>() - self.outcome(Outcome::Ok)
    }

    pub fn add(&mut self, other: &Part) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.reconnects += other.reconnects;
        self.answers += other.answers;
        self.bad_answers += other.bad_answers;
        self.overdue += other.overdue;
        for (&reason, count) in &other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        self.resumed += other.resumed;
        for (&agreed, count) in &other.agreed {
            *self.agreed.entry(agreed).or_default() += count;
        }
        self.completed_inside += other.completed_inside;
        self.good_inside += other.good_inside;
        add_each(&mut self.outcomes, &other.outcomes);
        add_each(&mut self.statuses.0, &other.statuses.0);
        for (into, from) in [
            (&mut self.response, &other.response),
            (&mut self.failed_response, &other.failed_response),
            (&mut self.less_lateness, &other.less_lateness),
            (&mut self.service, &other.service),
            (&mut self.start_delay, &other.start_delay),
            (&mut self.lateness, &other.lateness),
            (&mut self.backlog_delay, &other.backlog_delay),
            (&mut self.connect, &other.connect),
            (&mut self.handshake, &other.handshake),
            (&mut self.first_byte, &other.first_byte),
        ] {
            into.add(from);
        }
    }
}

fn add_each(into: &mut [u64], from: &[u64]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into += from;
    }
}

/// What happened in one interval. But for `completed` it tells of the requests that count, and summed up
/// the intervals and the drain are the totals.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    pub intended: u64,
    pub sent: u64,
    /// Requests that were answered in it, whenever they were intended: summed up, those of the window
    /// are the answers inside it.
    pub completed: u64,
    pub failed: u64,
    pub response: Sparse,
    pub service: Sparse,
    pub lateness: Sparse,
    pub outstanding_max: u64,
    pub backlog_max: u64,
    pub waited: Nanos,
    pub worked: Nanos,
    pub scripted: Nanos,
    /// The share of the busiest shard that was neither waiting nor spinning.
    pub busy: f64,
}

impl Merge for Interval {
    fn merge(&mut self, other: Interval) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.response.merge(other.response);
        self.service.merge(other.service);
        self.lateness.merge(other.lateness);
        self.outstanding_max += other.outstanding_max;
        self.backlog_max += other.backlog_max;
        self.waited += other.waited;
        self.worked += other.worked;
        self.scripted += other.scripted;
        self.busy = self.busy.max(other.busy);
    }
}

/// An interval of one shard as it ends, for whoever watches.
#[derive(Clone, Debug)]
pub struct Live {
    pub begin: Instant,
    pub end: Instant,
    pub window: Window,
    pub interval: Interval,
}

/// The observer of a measurement: totals by target, and a series over time.
#[derive(Debug)]
pub struct Recorder {
    window: Window,
    slo: Option<Nanos>,
    parts: Vec<Part>,
    /// By label, as far as they have occurred.
    labels: Vec<Group>,
    /// By segment of the shape, with its end as if the measurement began at zero.
    segments: Vec<(Instant, Group)>,
    balance: Balance,
    interval: Nanos,
    /// The interval that is being recorded.
    current: Buffer,
    /// Where intervals go as they end.
    interval_writer: IntervalWriter,
    turn_max: Nanos,
    waited: Nanos,
    scripted: Nanos,
}

/// What a recorder has at the end.
#[derive(Debug)]
pub struct Recorded {
    pub parts: Vec<Part>,
    /// By label; those that did not occur are empty or absent.
    pub labels: Vec<Group>,
    /// By segment of the load's shape.
    pub segments: Vec<Group>,
    /// Arrivals and answers over time, from the beginning of the window.
    pub balance: Balance,
    /// Of the window; its last interval ends with it.
    pub series: Series<Interval>,
    /// What happened after the window.
    pub drained: Interval,
    /// The longest that a turn worked inside the window.
    pub turn_max: Nanos,
    /// How long the shard waited inside the window.
    pub waited: Nanos,
    /// How long it was in scripts inside the window.
    pub scripted: Nanos,
}

impl Recorded {
    pub fn add(&mut self, other: Recorded) {
        for (into, part) in self.parts.iter_mut().zip(&other.parts) {
            into.add(part);
        }
        if self.labels.len() < other.labels.len() {
            self.labels.resize_with(other.labels.len(), Group::default);
        }
        for (into, group) in self.labels.iter_mut().zip(&other.labels) {
            into.add(group);
        }
        for (into, group) in self.segments.iter_mut().zip(&other.segments) {
            into.add(group);
        }
        self.balance.add(other.balance);
        self.series.add(other.series);
        self.drained.merge(other.drained);
        self.turn_max = self.turn_max.max(other.turn_max);
        // The busiest shard is the one to be judged.
        self.waited = self.waited.min(other.waited);
        self.scripted = self.scripted.max(other.scripted);
    }
}

impl Recorder {
    /// `live` gets each interval as it ends, from the beginning of the load; where nobody takes
    /// them in time they are lost to the watcher, never to the measurement.
    pub fn new(targets: usize, interval: Nanos, live: Option<SyncSender<Live>>) -> Recorder {
        Recorder {
            window: Window { start: Instant::NEVER, end: Instant::NEVER },
            slo: None,
            parts: vec![Part::default(); targets],
            labels: Vec::new(),
            segments: Vec::new(),
            balance: Balance::new(Instant::NEVER),
            interval,
            current: Buffer { end: Instant::NEVER, ..Buffer::default() },
            interval_writer: IntervalWriter::begin(interval, live),
            turn_max: Nanos::ZERO,
            waited: Nanos::ZERO,
            scripted: Nanos::ZERO,
        }
    }

    /// Keeps the segments of a shape apart, which end so long after the measurement began.
    pub fn with_segments(self, ends: &[Nanos]) -> Recorder {
        let segments = ends.iter().map(|&end| (Instant(0) + end, Group::default())).collect();
        Recorder { segments, ..self }
    }

    /// Answers slower than this are no goodput.
    pub fn with_slo(self, slo: Option<Nanos>) -> Recorder {
        Recorder { slo, ..self }
    }

    pub fn finish(mut self, now: Instant) -> Recorded {
        self.current.end = self.current.end.min(now).max(self.current.begin);
        self.end_interval(now);
        let Kept { series, drained } = self.interval_writer.end().unwrap_or_else(|| Kept {
            series: Series::new(self.window.start, self.interval),
            drained: Interval::default(),
        });
        Recorded {
            parts: self.parts,
            labels: self.labels,
            segments: self.segments.into_iter().map(|(_, group)| group).collect(),
            balance: self.balance,
            series,
            drained,
            turn_max: self.turn_max,
            waited: self.waited,
            scripted: self.scripted,
        }
    }

    /// Has the interval kept if it is over by then, and begins the one that it falls into.
    fn go_on_to(&mut self, now: Instant) {
        if self.current.end <= now {
            self.end_interval(now);
        }
    }

    fn end_interval(&mut self, now: Instant) {
        let (mut begin, mut end) = (self.current.end, self.end_of(self.current.end));
        while end <= now {
            (begin, end) = (end, self.end_of(end));
        }
        self.current.window = self.window;
        self.interval_writer.turn_over(&mut self.current);
        (self.current.begin, self.current.end) = (begin, end);
    }

    /// The end of the interval that begins then: one ends with the beginning of the window, and one with
    /// its end.
    fn end_of(&self, begin: Instant) -> Instant {
        let Window { start, end } = self.window;
        let whole = begin + self.interval;
        match begin {
            _ if begin < start => match Nanos((start - begin).0 % self.interval.0) {
                Nanos::ZERO => whole,
                first => begin + first,
            },
            _ if begin < end => whole.min(end),
            _ => whole,
        }
    }
}

impl Observer for Recorder {
    fn begin(&mut self, start: Instant, window: Window) {
        self.window = window;
        self.balance = Balance::new(window.start);
        (self.current.begin, self.current.end) = (start, self.end_of(start));
    }

    fn intended(&mut self, of: Of, intended: Instant) {
        self.go_on_to(intended);
        self.balance.arrived(intended);
        if self.window.contains(intended) {
            self.part(of).intended += 1;
            self.current.figures.intended += 1;
        }
    }

    fn sent(&mut self, of: Of, intended: Instant, sent: Instant, bytes: usize) {
        if self.window.contains(intended) {
            self.part(of).sent += 1;
            self.current.figures.sent += 1;
        }
        if self.window.contains(sent) {
            self.part(of).bytes_sent += bytes as u64;
        }
    }

    fn received(&mut self, of: Of, now: Instant, bytes: usize) {
        if self.window.contains(now) {
            self.part(of).bytes_received += bytes as u64;
        }
    }

    fn completed(&mut self, completion: &Completion) {
        let &Completion { of, intended, start, done, outcome, .. } = completion;
        let response = completion.response_time();
        let answered = outcome.is_answer();
        let good = outcome == Outcome::Ok && self.slo.is_none_or(|slo| response <= slo);
        let (counts, inside) = (self.window.contains(intended), self.window.contains(done));
        self.go_on_to(done);
        if answered {
            self.current.figures.completed += 1;
            if done < self.window.end {
                self.balance.answered(done);
            }
        }
        let part = self.part(of);
        if inside {
            part.completed_inside += u64::from(answered);
            part.good_inside += u64::from(good);
        }
        if !counts {
            // What a label takes is made in the warm-up, if it occurs there.
            self.label(completion.label);
            return;
        }
        part.count(completion);
        let current = &mut self.current;
        current.figures.failed += u64::from(outcome != Outcome::Ok);
        let timed = is_timed(outcome);
        if timed {
            current.response.record(response);
        }
        if let Some(start) = start {
            current.lateness.record(start.lateness(intended));
        }
        let service = start.filter(|_| timed).map(|start| done - start.sent);
        service.into_iter().for_each(|time| current.service.record(time));
        let response = Some(response).filter(|_| timed);
        if let Some(group) = self.label(completion.label) {
            group.count(outcome, response, service);
        }
        if let Some(group) = self.segment(intended) {
            group.count(outcome, response, service);
        }
    }

    fn overdue(&mut self, of: Of, intended: Instant) {
        if self.window.contains(intended) {
            self.part(of).overdue += 1;
        }
    }

    fn connected(&mut self, of: Of, _now: Instant, took: Nanos) {
        self.part(of).connect.record(took);
    }

    fn secured(&mut self, of: Of, took: Nanos, handshake: Handshake) {
        let part = self.part(of);
        part.handshake.record(took);
        part.resumed += u64::from(handshake.resumed);
        *part.agreed.entry((handshake.version, handshake.cipher)).or_default() += 1;
    }

    fn disconnected(&mut self, of: Of, now: Instant) {
        if self.window.contains(now) {
            self.part(of).reconnects += 1;
        }
    }

    fn turn(&mut self, now: Instant, turn: Turn) {
        let figures = &mut self.current.figures;
        figures.outstanding_max = figures.outstanding_max.max(turn.outstanding as u64);
        figures.backlog_max = figures.backlog_max.max(turn.backlog as u64);
        figures.waited += turn.waited;
        figures.worked += turn.worked;
        figures.scripted += turn.scripted;
        if self.window.contains(now) {
            self.turn_max = self.turn_max.max(turn.worked);
            self.waited += turn.waited;
            self.scripted += turn.scripted;
        }
        self.go_on_to(now);
    }
}

/// A request that failed at once tells nothing of how long an answer takes; one that was given up
/// tells that it takes longer.
fn is_timed(outcome: Outcome) -> bool {
    outcome.is_answer() || matches!(outcome, Outcome::Timeout | Outcome::Unfinished)
}

impl Part {
    fn count(&mut self, completion: &Completion) {
        let &Completion { intended, start, done, outcome, status, why, .. } = completion;
        self.outcomes[outcome as usize] += 1;
        self.answers += u64::from(completion.answers);
        self.bad_answers += u64::from(completion.bad);
        if outcome.is_answer() {
            self.statuses.0[usize::from(status)] += 1;
        }
        if !why.is_empty() {
            *self.reasons.entry((outcome, why)).or_default() += 1;
        }
        if is_timed(outcome) {
            let response = completion.response_time();
            let lateness = start.map_or(Nanos::ZERO, |start| start.lateness(intended));
            self.response.record(response);
            self.less_lateness.record(response.saturating_sub(lateness));
            if outcome != Outcome::Ok {
                self.failed_response.record(response);
            }
        }
        let Some(start) = start else { return };
        if is_timed(outcome) {
            self.service.record(done - start.sent);
        }
        if let Some(first_byte) = start.first_byte {
            self.first_byte.record(first_byte - start.sent);
        }
        self.start_delay.record(start.sent - intended);
        self.lateness.record(start.lateness(intended));
        self.backlog_delay.record(start.backlog_delay(intended));
    }
}

impl Group {
    fn count(&mut self, outcome: Outcome, response: Option<Nanos>, service: Option<Nanos>) {
        self.outcomes[outcome as usize] += 1;
        response.into_iter().for_each(|time| self.response.record(time));
        service.into_iter().for_each(|time| self.service.record(time));
    }
}

impl Recorder {
    fn part(&mut self, of: Of) -> &mut Part {
        &mut self.parts[of.target as usize]
    }

    fn label(&mut self, label: Label) -> Option<&mut Group> {
        let index = usize::from(label.0);
        if MOST_LABELS <= index {
            return None;
        }
        if self.labels.len() <= index {
            self.labels.resize_with(index + 1, Group::default);
        }
        Some(&mut self.labels[index])
    }

    fn segment(&mut self, intended: Instant) -> Option<&mut Group> {
        let since = Instant(0) + (intended - self.window.start);
        let index = self.segments.partition_point(|(end, _)| *end <= since);
        self.segments.get_mut(index).map(|(_, group)| group)
    }
}
