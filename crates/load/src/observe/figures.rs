//! The figures of a load: totals by target, by label and by segment, and those of one interval.

use std::collections::BTreeMap;

use ::measure::series::{Merge, Sparse};
use ::measure::{Histogram, Instant, Nanos};

use super::{Completion, Journeys, StepCompletion, Window};
use crate::driver::Outcome;

/// The figures of one target, of one shard or of all.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub intended: u64,
    pub sent: u64,
    /// The number of times that a request was sent once more: see `Reports::again`.
    pub sent_again: u64,
    /// The number of times that the target has sent a request elsewhere: see `Reports::redirected`.
    pub redirected: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub reconnects: u64,
    /// The number of answers: several may belong to one request where requests were pipelined.
    pub answers: u64,
    /// The number of answers with a status of failure.
    pub bad_answers: u64,
    /// The number of requests that took longer than the timeout and were still awaited.
    pub overdue: u64,
    pub outcomes: [u64; Outcome::ALL.len()],
    /// The number of operations by outcome, of the requests that were sent and carry several.
    pub operations: [u64; Outcome::ALL.len()],
    /// The number of operations that were answered inside the window, whatever their intended time.
    pub operations_inside: u64,
    /// The part of `operations_inside` that was ok.
    pub ok_operations_inside: u64,
    /// The figures of the sessions; absent if requests stand alone.
    pub sessions: Option<Box<Journeys>>,
    pub reasons: Reasons,
    /// The number of answers by status, of requests that count.
    pub statuses: Statuses,
    /// The number of answers that arrived inside the window, whatever their intended time.
    pub completed_inside: u64,
    /// The part of `completed_inside` that was ok.
    pub ok_inside: u64,
    /// The part of `ok_inside` that was within the limit, or all of it if the load has no SLO.
    pub good_inside: u64,
    /// The sum of the times inside the window in which a request was in progress, from its intended start
    /// to its end, whenever it was intended.
    pub in_progress: Nanos,
    pub response: Histogram,
    /// The response times of failed requests; they are also in `response`.
    pub failed_response: Histogram,
    /// The times that unfinished requests had waited; they are also in `response`.
    pub unfinished_response: Histogram,
    /// The response time of each request less its own lateness.
    pub less_lateness: Histogram,
    pub service: Histogram,
    pub start_delay: Histogram,
    pub lateness: Histogram,
    pub backlog_delay: Histogram,
    /// The times that requests waited to be sent with others, of those that did.
    pub batch_delay: Histogram,
    pub connect: Histogram,
    /// The lengths of the TLS handshakes, each from when the network had connected.
    pub handshake: Histogram,
    /// The number of handshakes that resumed an earlier session.
    pub resumed: u64,
    /// The number of handshakes by the version and cipher that they agreed on.
    pub agreed: BTreeMap<(&'static str, &'static str), u64>,
    /// The lengths of the protocol's own handshakes, each from when the connection was established or
    /// secured.
    pub greeting: Histogram,
    /// The times from `sent` to the first byte of the answer.
    pub first_byte: Histogram,
}

/// The figures of the requests with one label, or of one segment of a load's shape.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub outcomes: [u64; Outcome::ALL.len()],
    pub reasons: Reasons,
    /// The number of successes by status.
    pub ok_statuses: Statuses,
    pub response: Histogram,
    pub service: Histogram,
}

impl Group {
    pub fn add(&mut self, other: &Group) {
        add_each(&mut self.outcomes, &other.outcomes);
        self.reasons.add(&other.reasons);
        add_each(&mut self.ok_statuses.0, &other.ok_statuses.0);
        self.response.add(&other.response);
        self.service.add(&other.service);
    }
}

/// The number of failed requests by reason: the status of a response, the rule that it violated, or
/// details of another outcome. A failure that its outcome explains is not counted.
#[derive(Clone, Debug, Default)]
pub struct Reasons(BTreeMap<(Outcome, u16, &'static str), u64>);

impl Reasons {
    /// Returns each reason with its outcome and its count.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, String, u64)> {
        self.0.iter().map(|(&(outcome, status, why), &count)| match outcome {
            Outcome::Status if why.is_empty() => (outcome, status.to_string(), count),
            _ => (outcome, why.to_owned(), count),
        })
    }

    #[inline]
    fn count(&mut self, completion: &Completion) {
        let &Completion { outcome, status, why, .. } = completion;
        let status = if outcome == Outcome::Status { status } else { 0 };
        // The few reasons that there are occur early; then nothing is allocated.
        if outcome != Outcome::Ok && (0 < status || !why.is_empty()) {
            *self.0.entry((outcome, status, why)).or_default() += 1;
        }
    }

    fn add(&mut self, other: &Reasons) {
        for (&reason, count) in &other.0 {
            *self.0.entry(reason).or_default() += count;
        }
    }
}

/// The most labels that are counted apart, since each takes most of a megabyte. Further ones are counted
/// as unlabelled.
pub const MOST_LABELS: usize = 64;

/// The number of answers for each status from 0 to 999.
#[derive(Clone, Debug)]
pub struct Statuses(Vec<u64>);

impl Default for Statuses {
    fn default() -> Statuses {
        Statuses(vec![0; 1000])
    }
}

impl Statuses {
    /// Returns the statuses that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        (0u16..).zip(self.0.iter().copied()).filter(|&(_, count)| 0 < count)
    }
}

impl Part {
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Returns the number of requests that were answered, ok or not.
    pub fn completed(&self) -> u64 {
        Outcome::ALL.iter().filter(|o| o.is_answer()).map(|&o| self.outcome(o)).sum()
    }

    /// Returns the part of the offer that was sustained: the answers inside the window, at most as many as
    /// were intended in it. Else what a warm-up left in the backlog would count as more than the offer.
    pub fn sustained_inside(&self) -> u64 {
        self.completed_inside.min(self.intended)
    }

    /// Returns the number of requests that ended badly.
    pub fn failed(&self) -> u64 {
        Outcome::failures(&self.outcomes)
    }

    pub fn add(&mut self, other: &Part) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.sent_again += other.sent_again;
        self.redirected += other.redirected;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.reconnects += other.reconnects;
        self.answers += other.answers;
        self.bad_answers += other.bad_answers;
        self.overdue += other.overdue;
        if let Some(sessions) = &other.sessions {
            self.sessions.get_or_insert_default().add(sessions);
        }
        self.reasons.add(&other.reasons);
        self.resumed += other.resumed;
        for (&agreed, count) in &other.agreed {
            *self.agreed.entry(agreed).or_default() += count;
        }
        self.completed_inside += other.completed_inside;
        self.ok_inside += other.ok_inside;
        self.good_inside += other.good_inside;
        self.in_progress += other.in_progress;
        add_each(&mut self.outcomes, &other.outcomes);
        add_each(&mut self.operations, &other.operations);
        self.operations_inside += other.operations_inside;
        self.ok_operations_inside += other.ok_operations_inside;
        add_each(&mut self.statuses.0, &other.statuses.0);
        for (into, from) in [
            (&mut self.response, &other.response),
            (&mut self.failed_response, &other.failed_response),
            (&mut self.unfinished_response, &other.unfinished_response),
            (&mut self.less_lateness, &other.less_lateness),
            (&mut self.service, &other.service),
            (&mut self.start_delay, &other.start_delay),
            (&mut self.lateness, &other.lateness),
            (&mut self.backlog_delay, &other.backlog_delay),
            (&mut self.batch_delay, &other.batch_delay),
            (&mut self.connect, &other.connect),
            (&mut self.handshake, &other.handshake),
            (&mut self.greeting, &other.greeting),
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

/// The figures of one interval. All but `completed` and `operations` are of requests that count: the sum over the
/// intervals and the drain is the total.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    pub intended: u64,
    pub sent: u64,
    /// The number of requests that were answered in it, whatever their intended time.
    pub completed: u64,
    /// The number of operations that were answered in it, whatever their intended time.
    pub operations: u64,
    pub outcomes: [u64; Outcome::ALL.len()],
    pub response: Sparse,
    pub service: Sparse,
    pub lateness: Sparse,
    pub outstanding_max: u64,
    /// The sum of the times in which a request was outstanding: over the interval's length, their mean number.
    pub outstanding_time: Nanos,
    /// The sum of the times in which a connection could not be opened.
    pub unconnected_time: Nanos,
    pub backlog_max: u64,
    pub waited: Nanos,
    pub worked: Nanos,
    pub scripted: Nanos,
    /// The share of the busiest shard that was neither waiting nor spinning.
    pub busy: f64,
}

impl Interval {
    /// Returns the number of requests that ended badly.
    pub fn failed(&self) -> u64 {
        Outcome::failures(&self.outcomes)
    }

    /// Returns true if no request ended in it, or was found unfinished.
    pub fn is_empty(&self) -> bool {
        self.completed == 0 && self.outcomes.iter().all(|count| *count == 0)
    }
}

impl Merge for Interval {
    fn merge(&mut self, other: Interval) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.completed += other.completed;
        self.operations += other.operations;
        add_each(&mut self.outcomes, &other.outcomes);
        self.response.merge(other.response);
        self.service.merge(other.service);
        self.lateness.merge(other.lateness);
        self.outstanding_max += other.outstanding_max;
        self.outstanding_time += other.outstanding_time;
        self.unconnected_time += other.unconnected_time;
        self.backlog_max += other.backlog_max;
        self.waited += other.waited;
        self.worked += other.worked;
        self.scripted += other.scripted;
        self.busy = self.busy.max(other.busy);
    }
}

/// The requests with one label that ended in an interval, of those that count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Labelled {
    /// The number of requests that were answered, ok or not.
    pub completed: u64,
    pub failed: u64,
    /// The number of those that have a response time, and the sum of these times.
    pub timed: u64,
    pub time: Nanos,
}

/// The requests of an interval by label. Unlike those of a whole load they have no histograms: for each label and
/// interval, these would take too much memory.
#[derive(Clone, Debug)]
pub struct ByLabel(Vec<Labelled>);

impl Default for ByLabel {
    fn default() -> ByLabel {
        ByLabel(vec![Labelled::default(); MOST_LABELS])
    }
}

impl ByLabel {
    /// Returns the figures of each label, in the order of [`crate::driver::Label`]s from 0 on.
    pub fn iter(&self) -> impl Iterator<Item = &Labelled> {
        self.0.iter()
    }

    pub fn add(&mut self, other: &ByLabel) {
        for (into, from) in self.0.iter_mut().zip(&other.0) {
            into.completed += from.completed;
            into.failed += from.failed;
            into.timed += from.timed;
            into.time += from.time;
        }
    }

    #[inline]
    pub(super) fn count(&mut self, completion: &Completion, response: Option<Nanos>) {
        let Some(label) = self.0.get_mut(usize::from(completion.label.0)) else { return };
        let outcome = completion.outcome;
        label.completed += u64::from(outcome.is_answer());
        label.failed += u64::from(outcome.is_failure());
        label.timed += u64::from(response.is_some());
        label.time += response.unwrap_or_default();
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(Labelled::default());
    }
}

/// An interval of one shard, sent to a watcher when it ends.
#[derive(Clone, Debug)]
pub struct Live {
    pub begin: Instant,
    pub end: Instant,
    pub window: Window,
    pub interval: Interval,
    pub labels: ByLabel,
}

impl Part {
    #[inline]
    pub(super) fn count(&mut self, completion: &Completion) {
        let &Completion { intended, start, done, outcome, status, .. } = completion;
        self.outcomes[outcome as usize] += 1;
        self.answers += u64::from(completion.answers);
        self.bad_answers += u64::from(completion.bad);
        if outcome.is_answer() {
            self.statuses.0[usize::from(status)] += 1;
        }
        self.reasons.count(completion);
        if is_timed(outcome) {
            let response = completion.response_time();
            let lateness = start.map_or(Nanos::ZERO, |start| start.lateness(intended));
            self.response.record(response);
            self.less_lateness.record(response.saturating_sub(lateness));
            match outcome {
                Outcome::Ok => {}
                Outcome::Unfinished => self.unfinished_response.record(response),
                _ => self.failed_response.record(response),
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
        if Nanos::ZERO < start.held {
            self.batch_delay.record(start.held);
        }
    }
}

impl Group {
    /// Counts a step with the label of this group.
    pub(super) fn count_step(&mut self, step: &StepCompletion) {
        self.outcomes[step.outcome as usize] += 1;
        if is_timed(step.outcome) {
            self.response.record(step.done - step.intended);
            self.service.record(step.done - step.begun);
        }
    }

    #[inline]
    pub(super) fn count(
        &mut self,
        completion: &Completion,
        response: Option<Nanos>,
        service: Option<Nanos>,
    ) {
        self.outcomes[completion.outcome as usize] += 1;
        self.reasons.count(completion);
        if completion.outcome == Outcome::Ok {
            self.ok_statuses.0[usize::from(completion.status)] += 1;
        }
        response.into_iter().for_each(|time| self.response.record(time));
        service.into_iter().for_each(|time| self.service.record(time));
    }
}

/// True if the request's time counts as a response time. A request that failed at once does not show how
/// long an answer takes; one that timed out shows that it takes longer.
pub(super) fn is_timed(outcome: Outcome) -> bool {
    outcome.is_answer() || matches!(outcome, Outcome::Timeout | Outcome::Unfinished)
}
