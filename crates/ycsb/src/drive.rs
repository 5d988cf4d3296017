//! A loop that executes operations whose durations are known when they begin: what the binding `basic` needs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::{Instant, Nanos};

use crate::measurements::{Ended, Measurements, Name, Status};
use crate::settings::Settings;
use crate::status::State;
use crate::stream::Stream;
use crate::workload::{Kind, Operation};

#[cfg(test)]
mod tests;

/// The source of time.
pub trait Clock {
    fn now(&mut self) -> Instant;
    fn sleep_until(&mut self, until: Instant);
}

/// The executor of operations.
pub trait Binding {
    type Error;

    /// Begins an operation, or the part of a read-modify-write with this name, and returns the time that it takes.
    fn begin(
        &mut self,
        stream: &mut Stream,
        name: Name,
        operation: &Operation,
    ) -> Result<Nanos, Self::Error>;

    /// Does what is left when all operations have ended.
    fn close(&mut self) -> Result<(), Self::Error>;
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Ran {
    pub run_time: Nanos,
    pub measurements: Measurements,
    pub is_interrupted: bool,
    /// The operations that were due and had not ended when the run did. They are in no figure.
    pub unfinished: u64,
    /// The longest time for which one of these that never began had waited.
    pub late: Nanos,
}

/// The longest sleep: an interruption is looked for as often.
const NAP: Nanos = Nanos::from_millis(100);

/// Executes the operations of a stream: in a closed loop with as many outstanding as there are threads, or at the
/// target's rate. `tell` gets the state at the interval of status lines, and at the end.
pub fn drive<B: Binding>(
    stream: &mut Stream,
    settings: &Settings,
    binding: &mut B,
    clock: &mut impl Clock,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(State),
) -> Result<Ran, B::Error> {
    let start = clock.now();
    let slots = settings.threads as usize;
    let mut running = Running {
        settings,
        start,
        measurements: Measurements::new(settings.terms.clone()),
        flights: vec![None; slots],
        free: (0..slots).rev().collect(),
        ends: BinaryHeap::with_capacity(slots),
        arrived: 0,
    };
    let end = settings.longest.map_or(Instant::NEVER, |longest| start + longest);
    let mut next_status = settings.status.map_or(Instant::NEVER, |interval| start + interval);
    // The time from which on no operation begins.
    let mut over = None;
    loop {
        let now = clock.now();
        if end <= now && over.is_none() && !stop.load(Ordering::Relaxed) {
            // What was due before and found a slot free is not late because this loop is.
            running.admit(stream, binding, clock, (now, end))?;
        }
        running.complete(stream, binding, clock, now)?;
        let is_over = stop.load(Ordering::Relaxed) || end <= now || stream.has_ended();
        match is_over {
            true => _ = over.get_or_insert(now.min(end)),
            false => running.admit(stream, binding, clock, (now, end))?,
        }
        if running.ends.is_empty() && (is_over || stream.has_ended()) {
            break;
        }
        if let Some(interval) = settings.status
            && next_status <= now
        {
            tell(running.state(now));
            next_status = next_status + interval;
        }
        let next_end = running.ends.peek().map_or(Instant::NEVER, |Reverse((end, _))| *end);
        let next_arrival = match is_over || running.free.is_empty() {
            true => Instant::NEVER,
            false => running.next_arrival(now),
        };
        clock.sleep_until(next_end.min(next_arrival).min(next_status).min(now + NAP));
    }
    let finished = clock.now();
    binding.close()?;
    let closing = clock.now() - finished;
    let end = finished - start;
    for _ in 0..settings.threads {
        running.record(Name::Cleanup, Status::Ok, end, (closing, closing));
    }
    if settings.status.is_some() {
        tell(running.state(finished));
    }
    let is_interrupted = stop.load(Ordering::Relaxed);
    let (unfinished, late) = running.waiting(over.unwrap_or(finished), finished);
    Ok(Ran { run_time: end, measurements: running.measurements, is_interrupted, unfinished, late })
}

/// An operation that has begun.
#[derive(Clone, Copy, Debug)]
struct Flight {
    operation: Operation,
    intended: Instant,
    begun: Instant,
    /// The operation, or the part of a read-modify-write that is executed.
    name: Name,
    /// The beginning of that part.
    sent: Instant,
}

struct Running<'a> {
    settings: &'a Settings,
    start: Instant,
    measurements: Measurements,
    /// The operations that are outstanding, each in its slot.
    flights: Vec<Option<Flight>>,
    free: Vec<usize>,
    /// The ends of the operations, with their slots.
    ends: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The operations that have begun.
    arrived: u64,
}

impl Running<'_> {
    /// Begins operations as long as one is due and a slot is free. What has to wait keeps its intended time, and
    /// nothing begins that is intended for the end or later.
    fn admit<B: Binding>(
        &mut self,
        stream: &mut Stream,
        binding: &mut B,
        clock: &mut impl Clock,
        (now, end): (Instant, Instant),
    ) -> Result<(), B::Error> {
        let mut time = now;
        // Operations that end at once let each other in: the caller looks at the time in between.
        for _ in 0..self.flights.len() {
            let intended = self.next_arrival(time);
            let is_due = intended <= time && intended < end;
            let Some(slot) = self.free.last().copied().filter(|_| is_due) else { break };
            let Some(operation) = stream.next() else { break };
            self.free.pop();
            self.arrived += 1;
            let name = match operation.kind {
                Kind::ReadModifyWrite => Name::Read,
                kind => Name::from(kind),
            };
            let flight = Flight { operation, intended, begun: time, name, sent: time };
            self.begin(stream, binding, slot, flight)?;
            time = clock.now();
        }
        Ok(())
    }

    fn begin<B: Binding>(
        &mut self,
        stream: &mut Stream,
        binding: &mut B,
        slot: usize,
        flight: Flight,
    ) -> Result<(), B::Error> {
        let takes = binding.begin(stream, flight.name, &flight.operation)?;
        self.flights[slot] = Some(flight);
        self.ends.push(Reverse((flight.sent + takes, slot)));
        Ok(())
    }

    /// Ends the operations whose time has come.
    fn complete<B: Binding>(
        &mut self,
        stream: &mut Stream,
        binding: &mut B,
        clock: &mut impl Clock,
        now: Instant,
    ) -> Result<(), B::Error> {
        while let Some(Reverse((end, slot))) = self.ends.peek().copied()
            && end <= now
        {
            self.ends.pop();
            let flight = self.flights[slot].take().expect("an operation that ends has begun");
            let now = clock.now();
            let at = now - self.start;
            let response = now - flight.intended;
            self.record(flight.name, Status::Ok, at, (now - flight.sent, response));
            let operation = flight.operation;
            if operation.kind == Kind::ReadModifyWrite && flight.name == Name::Read {
                let update = Flight { name: Name::Update, sent: now, ..flight };
                self.begin(stream, binding, slot, update)?;
                continue;
            }
            if operation.kind == Kind::ReadModifyWrite {
                self.record(Name::ReadModifyWrite, Status::Ok, at, (now - flight.begun, response));
            }
            if operation.kind == Kind::Insert {
                stream.acknowledge(operation.record);
            }
            let reads = matches!(operation.kind, Kind::Read | Kind::ReadModifyWrite);
            if reads && stream.workload().data_integrity {
                // A read of this binding returns nothing that could be compared.
                let none = (Nanos::ZERO, Nanos::ZERO);
                self.record(Name::Verify, Status::Error, at, none);
            }
            self.measurements.operations += 1;
            self.free.push(slot);
        }
        Ok(())
    }

    /// The intended time of the next operation: that of the target's rate, or now.
    fn next_arrival(&self, now: Instant) -> Instant {
        match self.settings.target {
            None => now,
            Some(target) => {
                let after = u128::from(self.arrived) * 1_000_000_000 / u128::from(target);
                self.start + Nanos(after as u64)
            }
        }
    }

    /// Returns the number of operations that were due before a time and have not begun, and for how long the first of
    /// them has waited.
    fn waiting(&self, before: Instant, now: Instant) -> (u64, Nanos) {
        let Some(target) = self.settings.target else { return (0, Nanos::ZERO) };
        let product = u128::from((before - self.start).0) * u128::from(target);
        let due = product.div_ceil(1_000_000_000) as u64;
        let due = due.min(self.settings.operations.unwrap_or(u64::MAX));
        match due.saturating_sub(self.arrived) {
            0 => (0, Nanos::ZERO),
            waiting => (waiting, now - self.next_arrival(now)),
        }
    }

    fn record(
        &mut self,
        name: Name,
        status: Status,
        end: Nanos,
        (service, response): (Nanos, Nanos),
    ) {
        self.measurements.record(&Ended { name, status, end, service, response });
    }

    fn state(&self, now: Instant) -> State {
        let done = self.measurements.operations;
        State {
            elapsed: now - self.start,
            remaining: self.settings.operations.map(|operations| operations.saturating_sub(done)),
            measurements: self.measurements.clone(),
        }
    }
}
