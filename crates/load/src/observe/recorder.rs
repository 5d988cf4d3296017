//! The observer of a measurement: from events to figures.

use std::sync::mpsc::SyncSender;

use ::measure::series::{Merge, Series};
use ::measure::{Balance, Instant, Nanos};

use super::figures::is_timed;
use super::intervals::{Buffer, IntervalWriter, Kept};
use super::{
    Completion, Group, Interval, Live, MOST_LABELS, Observer, Of, Part, SessionEnd, StepCompletion,
    Turn, Window,
};
use crate::driver::{Handshake, Label, Outcome};

/// The observer of a measurement: totals by target, and a series over time.
#[derive(Debug)]
pub struct Recorder {
    window: Window,
    slo: Option<Nanos>,
    parts: Vec<Part>,
    /// The figures by label, up to the highest label that has occurred.
    labels: Vec<Group>,
    /// The figures by segment of the shape, each with its end after the beginning of the measurement.
    segments: Vec<(Instant, Group)>,
    balance: Balance,
    sessions: Balance,
    interval: Nanos,
    /// The interval that is being recorded.
    current: Buffer,
    /// The receiver of each interval that has ended.
    interval_writer: IntervalWriter,
    turn_max: Nanos,
    waited: Nanos,
    scripted: Nanos,
}

/// The figures of a whole load.
#[derive(Debug)]
pub struct Recorded {
    pub parts: Vec<Part>,
    /// The figures by label; a label that did not occur is empty or absent.
    pub labels: Vec<Group>,
    /// The figures by segment of the load's shape.
    pub segments: Vec<Group>,
    /// The arrivals and answers over time, from the beginning of the window.
    pub balance: Balance,
    /// The same of sessions: those that began, and those that ended whether or not they were complete.
    pub sessions: Balance,
    /// The end of the window, which may be earlier than planned.
    pub window_end: Instant,
    /// The intervals of the window; the last one ends with it.
    pub series: Series<Interval>,
    /// The figures of the time after the window.
    pub drained: Interval,
    /// The longest work of one turn inside the window.
    pub turn_max: Nanos,
    /// The time that the shard waited inside the window.
    pub waited: Nanos,
    /// The time that it spent in scripts inside the window.
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
        self.sessions.add(other.sessions);
        self.window_end = self.window_end.max(other.window_end);
        self.series.add(other.series);
        self.drained.merge(other.drained);
        self.turn_max = self.turn_max.max(other.turn_max);
        // The load is judged by its busiest shard.
        self.waited = self.waited.min(other.waited);
        self.scripted = self.scripted.max(other.scripted);
    }
}

impl Recorder {
    /// Makes a recorder that sends each ended interval to `live`, from the beginning of the load on. A
    /// watcher that is too slow misses intervals; the measurement keeps them.
    pub fn new(targets: usize, interval: Nanos, live: Option<SyncSender<Live>>) -> Recorder {
        Recorder {
            window: Window { start: Instant::NEVER, end: Instant::NEVER },
            slo: None,
            parts: vec![Part::default(); targets],
            labels: Vec::new(),
            segments: Vec::new(),
            balance: Balance::new(Instant::NEVER),
            sessions: Balance::new(Instant::NEVER),
            interval,
            current: Buffer { end: Instant::NEVER, ..Buffer::default() },
            interval_writer: IntervalWriter::begin(interval, live),
            turn_max: Nanos::ZERO,
            waited: Nanos::ZERO,
            scripted: Nanos::ZERO,
        }
    }

    /// Records the segments of a shape apart; `ends` are the times after the beginning of the measurement.
    pub fn with_segments(self, ends: &[Nanos]) -> Recorder {
        let segments = ends.iter().map(|&end| (Instant(0) + end, Group::default())).collect();
        Recorder { segments, ..self }
    }

    /// Counts only answers within this limit as goodput.
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
            sessions: self.sessions,
            window_end: self.window.end,
            series,
            drained,
            turn_max: self.turn_max,
            waited: self.waited,
            scripted: self.scripted,
        }
    }

    /// Ends the current interval if it is over at `now`, and begins the one that `now` falls into.
    #[inline]
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

    /// Returns the end of the interval that begins at `begin`. One interval ends where the window begins, and
    /// one where it ends.
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
        self.sessions = Balance::new(window.start);
        (self.current.begin, self.current.end) = (start, self.end_of(start));
    }

    fn cut(&mut self, now: Instant) {
        self.go_on_to(now);
        self.window.end = self.window.end.min(now);
        self.current.end = self.current.end.min(now);
    }

    #[inline]
    fn intended(&mut self, of: Of, intended: Instant) {
        self.go_on_to(intended);
        self.balance.arrived(intended);
        if self.window.contains(intended) {
            self.part(of).intended += 1;
            self.current.figures.intended += 1;
        }
    }

    #[inline]
    fn sent(&mut self, of: Of, intended: Instant, sent: Instant, bytes: usize) {
        if self.window.contains(intended) {
            self.part(of).sent += 1;
            self.current.figures.sent += 1;
        }
        if self.window.contains(sent) {
            self.part(of).bytes_sent += bytes as u64;
        }
    }

    fn sent_again(&mut self, of: Of, sent: Instant, bytes: usize) {
        if self.window.contains(sent) {
            self.part(of).sent_again += 1;
            self.part(of).bytes_sent += bytes as u64;
        }
    }

    fn redirected(&mut self, of: Of, intended: Instant, now: Instant, bytes: usize) {
        if self.window.contains(intended) {
            self.part(of).redirected += 1;
        }
        if self.window.contains(now) {
            self.part(of).bytes_sent += bytes as u64;
        }
    }

    #[inline]
    fn received(&mut self, of: Of, now: Instant, bytes: usize) {
        if self.window.contains(now) {
            self.part(of).bytes_received += bytes as u64;
        }
    }

    fn step_completed(&mut self, step: &StepCompletion) {
        let &StepCompletion { of, intended, label, done, outcome, .. } = step;
        let operations = u64::from(step.operations);
        let (counts, inside) = (self.window.contains(intended), self.window.contains(done));
        self.go_on_to(done);
        if outcome.is_answer() {
            self.current.figures.operations += operations;
            let operations = if inside { operations } else { 0 };
            let part = self.part(of);
            part.operations_inside += operations;
            part.ok_operations_inside += if outcome == Outcome::Ok { operations } else { 0 };
        }
        if counts {
            self.part(of).operations[outcome as usize] += operations;
        }
        if let Some(group) = self.label(label).filter(|_| counts) {
            group.count_step(step);
        }
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        let &Completion { of, intended, start, done, outcome, .. } = completion;
        let response = completion.response_time();
        let answered = outcome.is_answer();
        let ok = outcome == Outcome::Ok;
        let good = ok && self.slo.is_none_or(|slo| response <= slo);
        let Window { start: begin, end } = self.window;
        let (counts, inside) = (self.window.contains(intended), self.window.contains(done));
        self.go_on_to(done);
        if answered {
            self.current.figures.completed += 1;
        }
        if !outcome.is_given_up() && done < self.window.end {
            self.balance.answered(done);
        }
        let part = self.part(of);
        part.in_progress += done.min(end).saturating_since(intended.max(begin));
        if inside {
            part.completed_inside += u64::from(answered);
            part.ok_inside += u64::from(ok);
            part.good_inside += u64::from(good);
        }
        if !counts {
            // A label that occurs in the warm-up has its memory allocated there.
            self.label(completion.label);
            return;
        }
        part.count(completion);
        let current = &mut self.current;
        current.figures.outcomes[outcome as usize] += 1;
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
        current.labels.count(completion, response);
        if let Some(group) = self.label(completion.label) {
            group.count(completion, response, service);
        }
        if let Some(group) = self.segment(intended) {
            group.count(completion, response, service);
        }
    }

    fn session_begun(&mut self, of: Of, intended: Instant) {
        self.sessions.arrived(intended);
        let counts = self.window.contains(intended);
        // In a warm-up, too, so that the memory is there when it counts.
        let sessions = self.part(of).sessions.get_or_insert_default();
        sessions.started += u64::from(counts);
    }

    fn session_ended(&mut self, end: &SessionEnd) {
        // One that a timeout ended is not in progress any more.
        if end.outcome != Outcome::Unfinished && end.done < self.window.end {
            self.sessions.answered(end.done);
        }
        if self.window.contains(end.intended) {
            self.part(end.of).sessions.get_or_insert_default().count(end);
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

    fn greeted(&mut self, of: Of, took: Nanos) {
        self.part(of).greeting.record(took);
    }

    fn disconnected(&mut self, of: Of, now: Instant) {
        if self.window.contains(now) {
            self.part(of).reconnects += 1;
        }
    }

    fn turn(&mut self, now: Instant, turn: Turn) {
        let figures = &mut self.current.figures;
        figures.outstanding_max = figures.outstanding_max.max(turn.outstanding as u64);
        let length = turn.waited + turn.worked;
        figures.outstanding_time += length * turn.outstanding as u64;
        figures.unconnected_time += length * turn.unconnected as u64;
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

impl Recorder {
    #[inline]
    fn part(&mut self, of: Of) -> &mut Part {
        &mut self.parts[of.target as usize]
    }

    #[inline]
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

    #[inline]
    fn segment(&mut self, intended: Instant) -> Option<&mut Group> {
        let since = Instant(0) + (intended - self.window.start);
        let index = self.segments.partition_point(|(end, _)| *end <= since);
        self.segments.get_mut(index).map(|(_, group)| group)
    }
}
