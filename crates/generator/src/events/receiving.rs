//! A receiver in a thread of the load's own process, and the join at its end.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use load::measurement::Plan;
use load::observe::Window;
use load::receiver::{Notes, Receiver};
use measure::Nanos;
use net::clock;
use results::events::{Events, Received, join};
use results::notes::number;

use super::ledger::{Gathered, most_events};
use super::{EventOptions, clocks};
use crate::options::{FirstArrivals, Load};
use console::output::Failure;

#[cfg(test)]
mod tests;

/// The arrivals that a receiver has room for, for each event.
const ARRIVALS_OF_EACH: u64 = 2;

/// The time without an arrival after which no more duplicates are awaited.
const QUIET: Nanos = Nanos::from_millis(100);

/// The longest time that the events on their way are awaited once the load is interrupted.
const ON_THEIR_WAY: Nanos = Nanos::SECOND;

/// The interval at which the arrivals are compared with the events that were sent.
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(5);

/// A receiver that runs during a load.
pub(crate) struct Receiving {
    sources: Vec<String>,
    within: Nanos,
    stop: Arc<AtomicBool>,
    progress: Arc<Progress>,
    thread: JoinHandle<Notebook>,
}

/// The fate of the events.
pub(crate) struct Delivery {
    pub(crate) events: Events,
    /// True if an interruption ended the wait for them.
    pub(crate) is_cut_short: bool,
}

impl Receiving {
    /// Starts the receiver that the command line asks for, if any.
    pub(crate) fn begin(
        arguments: &Load,
        wanted: Option<&EventOptions>,
        plan: &Plan,
    ) -> Result<Option<Receiving>, Failure> {
        let (Some(address), Some(wanted)) = (arguments.receive, wanted) else { return Ok(None) };
        let refusal = arguments.receive_refuse.map(|FirstArrivals(refusal)| refusal);
        let most = most_events(plan);
        let progress = Arc::new(Progress::default());
        let notes = Notebook::new(&wanted.sources, most, Arc::clone(&progress));
        let receiver = Receiver::listen(address, clocks::name().as_deref(), refusal).map_err(|error| {
            Failure::question(format!(
                "--receive {address}: {error}\n  give an address of this machine, with a free port"
            ))
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = spawn(move || receiver.serve(notes, &stopped))?;
        let (sources, within) = (wanted.sources.clone(), arguments.receive_within);
        Ok(Some(Receiving { sources, within, stop, progress, thread }))
    }

    /// Waits for the events that have not arrived, ends the receiver, and joins the notes.
    pub(crate) fn finish(
        self,
        sent: Gathered,
        window: Window,
        interrupted: &AtomicBool,
    ) -> Delivery {
        let Gathered { mut senders, unnoted } = sent;
        let sent = senders.iter().map(|sender| sender.len() as u64).sum();
        let is_cut_short = !self.wait_for(sent, interrupted);
        let until = clock::now();
        self.stop.store(true, Ordering::Relaxed);
        let notes = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let Notebook { mut received, unknown, unnoted: unheard, .. } = notes;
        let counts = |_, intended| window.contains(intended);
        let mut events = join(&mut senders, &mut received, until, counts).events;
        events.source = self.sources.join(" ");
        events.unknown += unknown;
        events.unnoted = unnoted + unheard;
        Delivery { events, is_cut_short }
    }

    /// Waits until so many events have arrived and nothing more arrives, within the time for that. An interruption
    /// leaves time only for those on their way; returns false if that cut the wait short.
    fn wait_for(&self, sent: u64, interrupted: &AtomicBool) -> bool {
        let mut deadline = clock::now() + self.within;
        let mut is_cut_short = false;
        while clock::now() < deadline {
            let last = measure::Instant(self.progress.last.load(Ordering::Relaxed));
            let is_quiet = QUIET < clock::now().saturating_since(last);
            if sent <= self.progress.events.load(Ordering::Relaxed) && is_quiet {
                return true;
            }
            let soon = clock::now() + ON_THEIR_WAY;
            if interrupted.load(Ordering::Relaxed) && soon < deadline {
                (deadline, is_cut_short) = (soon, true);
            }
            clock::sleep_until(clock::now() + BETWEEN_LOOKS);
        }
        !is_cut_short
    }
}

/// The arrivals so far, for whoever waits for them.
#[derive(Debug, Default)]
struct Progress {
    /// The different events that have arrived.
    events: AtomicU64,
    /// The time of the last arrival.
    last: AtomicU64,
}

/// The notes of a receiver.
struct Notebook {
    sources: Vec<Box<[u8]>>,
    received: Vec<Received>,
    /// The arrivals of each event so far, up to 255, by source and number.
    seen: Vec<Vec<u8>>,
    /// The arrivals of events that are none of this load's.
    unknown: u64,
    unnoted: u64,
    progress: Arc<Progress>,
}

/// The two attributes that name an event.
#[derive(serde::Deserialize)]
struct Identity<'a> {
    #[serde(borrow)]
    source: Cow<'a, str>,
    #[serde(borrow)]
    id: Cow<'a, str>,
}

/// Returns the source and the id of an event in structured mode; `None` if it is not one.
pub(crate) fn identity(document: &[u8]) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let Identity { source, id } = serde_json::from_slice(document).ok()?;
    (!source.is_empty() && !id.is_empty()).then_some((source, id))
}

/// Starts the thread of a receiver.
pub(crate) fn spawn<T: Send + 'static>(
    serve: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    let thread = std::thread::Builder::new().name("receiver".to_owned());
    let failed = |error| {
        let remedy = "raise the limit of processes (`ulimit -u`)";
        Failure::no_answer(format!("the receiver has no thread: {error}; {remedy}"))
    };
    thread.spawn(serve).map_err(failed)
}

impl Notebook {
    fn new(sources: &[String], most: u64, progress: Arc<Progress>) -> Notebook {
        Notebook {
            sources: sources.iter().map(|source| source.as_bytes().into()).collect(),
            received: Vec::with_capacity((ARRIVALS_OF_EACH * most) as usize),
            seen: sources.iter().map(|_| vec![0; most as usize]).collect(),
            unknown: 0,
            unnoted: 0,
            progress,
        }
    }
}

impl Notes for Notebook {
    fn note(&mut self, source: &[u8], id: &[u8], at: measure::Instant) -> u64 {
        self.progress.last.store(at.0, Ordering::Relaxed);
        let sender = self.sources.iter().position(|known| **known == *source);
        let (Some(sender), Some(number)) = (sender, number(id)) else {
            self.unknown += 1;
            return u64::MAX;
        };
        let seen = self.seen[sender].get_mut(number as usize);
        let (Some(seen), true) = (seen, self.received.len() < self.received.capacity()) else {
            self.unnoted += 1;
            return u64::MAX;
        };
        let before = u64::from(*seen);
        *seen = seen.saturating_add(1);
        if before == 0 {
            self.progress.events.fetch_add(1, Ordering::Relaxed);
        }
        let order = self.received.len() as u32;
        self.received.push(Received { number, at, order, sender: sender as u16 });
        before
    }

    fn note_structured(&mut self, document: &[u8], at: measure::Instant) -> Option<u64> {
        let (source, id) = identity(document)?;
        Some(self.note(source.as_bytes(), id.as_bytes(), at))
    }
}
