//! What is kept of what happened.

use std::sync::mpsc::SyncSender;

use ::measure::series::{Merge, Series, Sparse};
use ::measure::{Histogram, Instant, Nanos};

use crate::driver::Outcome;

#[cfg(test)]
mod tests;

/// Everything the shard knows about one request that has come to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Completion {
    pub target: u32,
    pub intended: Instant,
    /// `None` if it was never sent.
    pub start: Option<Start>,
    pub done: Instant,
    pub outcome: Outcome,
    pub status: u16,
}

/// When a request left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Start {
    /// From when on its connection had room for it.
    pub room: Instant,
    /// When its first byte was handed to the kernel.
    pub sent: Instant,
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

/// What to do with what happened.
pub trait Observer {
    /// A request's intended time has come.
    fn intended(&mut self, target: u32, intended: Instant);
    fn sent(&mut self, target: u32, intended: Instant, sent: Instant, bytes: usize);
    fn received(&mut self, target: u32, now: Instant, bytes: usize);
    fn completed(&mut self, completion: &Completion);
    fn connected(&mut self, target: u32, now: Instant, took: Nanos);
    fn disconnected(&mut self, target: u32, now: Instant);
    /// A turn of the loop is over: what is outstanding, what waits, and how long the turn waited
    /// and worked.
    fn turn(&mut self, now: Instant, turn: Turn);
}

/// One turn of a shard's loop.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Turn {
    pub outstanding: usize,
    pub backlog: usize,
    pub waited: Nanos,
    pub worked: Nanos,
}

/// The time in which requests count: those whose intended time falls into [start, end).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Answers by status, of requests that count.
    pub statuses: Statuses,
    /// Answers that arrived inside the window, whenever they were intended.
    pub completed_inside: u64,
    /// Those of them that were good, and in time if the load has an SLO.
    pub good_inside: u64,
    pub response: Histogram,
    pub service: Histogram,
    pub start_delay: Histogram,
    pub lateness: Histogram,
    pub backlog_delay: Histogram,
    pub connect: Histogram,
}

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
        self.outcome(Outcome::Ok) + self.outcome(Outcome::Status)
    }

    /// Requests with any outcome but `ok`.
    pub fn failed(&self) -> u64 {
        self.outcomes.iter().sum::<u64>() - self.outcome(Outcome::Ok)
    }

    pub fn add(&mut self, other: &Part) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.reconnects += other.reconnects;
        self.completed_inside += other.completed_inside;
        self.good_inside += other.good_inside;
        add_each(&mut self.outcomes, &other.outcomes);
        add_each(&mut self.statuses.0, &other.statuses.0);
        for (into, from) in [
            (&mut self.response, &other.response),
            (&mut self.service, &other.service),
            (&mut self.start_delay, &other.start_delay),
            (&mut self.lateness, &other.lateness),
            (&mut self.backlog_delay, &other.backlog_delay),
            (&mut self.connect, &other.connect),
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

/// What happened in one interval, to requests that count; summed up, the intervals are the totals.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    pub intended: u64,
    pub sent: u64,
    pub completed: u64,
    pub failed: u64,
    pub response: Sparse,
    pub lateness: Sparse,
    pub outstanding_max: u64,
    pub backlog_max: u64,
    pub waited: Nanos,
}

impl Merge for Interval {
    fn merge(&mut self, other: Interval) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.response.merge(other.response);
        self.lateness.merge(other.lateness);
        self.outstanding_max += other.outstanding_max;
        self.backlog_max += other.backlog_max;
        self.waited += other.waited;
    }
}

/// An interval of one shard as it ends, for whoever watches.
#[derive(Clone, Debug)]
pub struct Live {
    pub end: Instant,
    pub interval: Interval,
}

/// The observer of a measurement: totals by target, and a series over time.
#[derive(Debug)]
pub struct Recorder {
    window: Window,
    slo: Option<Nanos>,
    parts: Vec<Part>,
    series: Series<Interval>,
    interval: Nanos,
    /// The interval that is being recorded, and its histograms.
    current: Interval,
    current_end: Instant,
    response: Histogram,
    lateness: Histogram,
    live: Option<SyncSender<Live>>,
    turn_max: Nanos,
    waited: Nanos,
}

/// What a recorder has at the end.
#[derive(Debug)]
pub struct Recorded {
    pub parts: Vec<Part>,
    pub series: Series<Interval>,
    /// The longest that a turn worked inside the window.
    pub turn_max: Nanos,
    /// How long the shard waited inside the window.
    pub waited: Nanos,
}

impl Recorder {
    /// `live` gets each interval as it ends, from the beginning of the load; where nobody takes
    /// them in time they are lost to the watcher, never to the measurement.
    pub fn new(targets: usize, interval: Nanos, live: Option<SyncSender<Live>>) -> Recorder {
        Recorder {
            window: Window { start: Instant::NEVER, end: Instant::NEVER },
            slo: None,
            parts: vec![Part::default(); targets],
            series: Series::new(Instant::NEVER, interval),
            interval,
            current: Interval::default(),
            current_end: Instant::NEVER,
            response: Histogram::new(),
            lateness: Histogram::new(),
            live,
            turn_max: Nanos::ZERO,
            waited: Nanos::ZERO,
        }
    }

    /// The load begins. The intervals are laid so that one of them begins with the window.
    pub fn begin(&mut self, start: Instant, window: Window) {
        let first = Nanos((window.start - start).0 % self.interval.0);
        let first = if first == Nanos::ZERO { self.interval } else { first };
        self.window = window;
        self.series = Series::new(window.start, self.interval);
        self.current_end = start + first;
    }

    /// Answers slower than this are no goodput.
    pub fn with_slo(self, slo: Option<Nanos>) -> Recorder {
        Recorder { slo, ..self }
    }

    pub fn finish(mut self, now: Instant) -> Recorded {
        self.end_interval(now);
        Recorded {
            parts: self.parts,
            series: self.series,
            turn_max: self.turn_max,
            waited: self.waited,
        }
    }

    fn part(&mut self, target: u32) -> &mut Part {
        &mut self.parts[target as usize]
    }

    /// Moves the interval that is over into the series.
    fn end_interval(&mut self, now: Instant) {
        let begun = Instant(self.current_end.0.saturating_sub(self.interval.0));
        let mut interval = std::mem::take(&mut self.current);
        interval.response = Sparse::of(&self.response);
        interval.lateness = Sparse::of(&self.lateness);
        self.response.clear();
        self.lateness.clear();
        if let Some(live) = &self.live {
            // A full queue means that the watcher is slow, and that is no affair of ours.
            let _ = live.try_send(Live { end: self.current_end, interval: interval.clone() });
        }
        // A turn may straddle the beginning of the window; what counts is kept all the same.
        let counts = interval.intended + interval.sent + interval.completed + interval.failed;
        if self.window.start <= begun || 0 < counts {
            self.series.at(begun).merge(interval);
        }
        while self.current_end <= now {
            self.current_end = self.current_end + self.interval;
        }
    }
}

impl Observer for Recorder {
    fn intended(&mut self, target: u32, intended: Instant) {
        if self.window.contains(intended) {
            self.part(target).intended += 1;
            self.current.intended += 1;
        }
    }

    fn sent(&mut self, target: u32, intended: Instant, sent: Instant, bytes: usize) {
        if self.window.contains(intended) {
            self.part(target).sent += 1;
            self.current.sent += 1;
        }
        if self.window.contains(sent) {
            self.part(target).bytes_sent += bytes as u64;
        }
    }

    fn received(&mut self, target: u32, now: Instant, bytes: usize) {
        if self.window.contains(now) {
            self.part(target).bytes_received += bytes as u64;
        }
    }

    fn completed(&mut self, completion: &Completion) {
        let &Completion { target, intended, start, done, outcome, status } = completion;
        let response = completion.response_time();
        let answered = matches!(outcome, Outcome::Ok | Outcome::Status);
        let good = outcome == Outcome::Ok && self.slo.is_none_or(|slo| response <= slo);
        let (counts, inside) = (self.window.contains(intended), self.window.contains(done));
        let part = &mut self.parts[target as usize];
        if inside {
            part.completed_inside += u64::from(answered);
            part.good_inside += u64::from(good);
        }
        if !counts {
            return;
        }
        part.outcomes[outcome as usize] += 1;
        if answered {
            part.statuses.0[usize::from(status)] += 1;
            self.current.completed += 1;
        }
        self.current.failed += u64::from(outcome != Outcome::Ok);
        // A request that failed at once tells nothing of how long an answer takes; one that was
        // given up tells that it takes longer.
        if answered || matches!(outcome, Outcome::Timeout | Outcome::Unfinished) {
            part.response.record(response);
            self.response.record(response);
            if let Some(start) = start {
                part.service.record(done - start.sent);
            }
        }
        if let Some(start) = start {
            let lateness = start.lateness(intended);
            part.start_delay.record(start.sent - intended);
            part.lateness.record(lateness);
            part.backlog_delay.record(start.backlog_delay(intended));
            self.lateness.record(lateness);
        }
    }

    fn connected(&mut self, target: u32, _now: Instant, took: Nanos) {
        self.part(target).connect.record(took);
    }

    fn disconnected(&mut self, target: u32, now: Instant) {
        if self.window.contains(now) {
            self.part(target).reconnects += 1;
        }
    }

    fn turn(&mut self, now: Instant, turn: Turn) {
        self.current.outstanding_max = self.current.outstanding_max.max(turn.outstanding as u64);
        self.current.backlog_max = self.current.backlog_max.max(turn.backlog as u64);
        self.current.waited += turn.waited;
        if self.window.contains(now) {
            self.turn_max = self.turn_max.max(turn.worked);
            self.waited += turn.waited;
        }
        if self.current_end <= now {
            self.end_interval(now);
        }
    }
}
