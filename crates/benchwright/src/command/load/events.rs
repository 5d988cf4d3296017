//! The events of a load: their senders' notes, a receiver in a thread of its own, and the join.
//!
//! All notes have their memory before the load begins. What finds no room is counted, and then the
//! document says that its counts are too small.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use load::Outcome;
use load::measurement::Plan;
use load::observe::{Completion, Observer, Window};
use load::pacing::Pacing;
use load::receiver::{How, Notes, Receiver, Refusal};
use measure::{Bytes, Nanos};
use net::clock;
use results::events::{Events, Received, Sent, join};

use crate::cli::{EventMode, Load};
use crate::output::Failure;

#[cfg(test)]
mod tests;

/// The most events whose notes get memory: 3.2 GB, if they are all used.
const MOST_EVENTS: u64 = 50_000_000;

/// The arrivals that a receiver has room for, for each event.
const ARRIVALS_OF_EACH: u64 = 2;

/// The time without an arrival after which no more duplicates are awaited.
const QUIET: Nanos = Nanos::from_millis(100);

/// The interval at which the arrivals are compared with the events that were sent.
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(5);

/// The events of a load, as its command line asks for them.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) mode: load::events::Mode,
    pub(crate) kind: String,
    pub(crate) size: usize,
    /// The source of the events of each target; no other load has the same.
    pub(crate) sources: Vec<String>,
}

impl Wanted {
    /// Returns the events of a load; `None` if its requests are others.
    pub(crate) fn of(arguments: &Load, targets: usize) -> Result<Option<Wanted>, Failure> {
        let Some(mode) = arguments.events else { return Ok(None) };
        let Bytes(size) = arguments.event_size;
        if !(2..=MOST_SIZE).contains(&size) {
            return Err(Failure::question(format!(
                "--event-size {} is not possible: the data is a JSON string, from 2 bytes to 1 MiB",
                Bytes(size)
            )));
        }
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"\\%".contains(c);
        let kind = arguments.event_type.clone();
        if kind.is_empty() || !kind.chars().all(is_plain) {
            return Err(Failure::question(format!(
                "--event-type `{kind}` is not a type; write letters, digits, dots and hyphens"
            )));
        }
        let base = format!("/benchwright/{}-{:x}", std::process::id(), clock::now().0);
        let sources = match targets {
            1 => vec![base],
            several => (1..=several).map(|target| format!("{base}/{target}")).collect(),
        };
        let mode = match mode {
            EventMode::Binary => load::events::Mode::Binary,
            EventMode::Structured => load::events::Mode::Structured,
        };
        Ok(Some(Wanted { mode, kind, size: size as usize, sources }))
    }
}

/// The most bytes of an event's data.
const MOST_SIZE: u64 = 1 << 20;

/// A receiver that runs during a load.
pub(crate) struct Receiving {
    sources: Vec<String>,
    /// The events that notes have room for.
    most: u64,
    within: Nanos,
    stop: Arc<AtomicBool>,
    progress: Arc<Progress>,
    thread: JoinHandle<Notebook>,
}

impl Receiving {
    /// Starts the receiver that the command line asks for, if any.
    pub(crate) fn begin(
        arguments: &Load,
        wanted: Option<&Wanted>,
        plan: &Plan,
    ) -> Result<Option<Receiving>, Failure> {
        let (Some(address), Some(wanted)) = (arguments.receive, wanted) else { return Ok(None) };
        let refusal = arguments.receive_refuse.map(|FirstArrivals(refusal)| refusal);
        let most = most_events(plan);
        let progress = Arc::new(Progress::default());
        let notes = Notebook::new(&wanted.sources, most, Arc::clone(&progress));
        let receiver = Receiver::listen(address, refusal).map_err(|error| {
            Failure::question(format!(
                "--receive {address}: {error}\n  give an address of this machine, with a free port"
            ))
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("receiver".to_owned());
        let serve = move || receiver.serve(notes, &stopped);
        let thread = thread
            .spawn(serve)
            .map_err(|error| Failure::no_answer(format!("the receiver has no thread: {error}")))?;
        let (sources, within) = (wanted.sources.clone(), arguments.receive_within);
        Ok(Some(Receiving { sources, most, within, stop, progress, thread }))
    }

    /// Returns the ledger of each shard.
    pub(crate) fn ledgers(receiving: Option<&Receiving>, shards: usize) -> Vec<Option<Ledger>> {
        let of_each = |receiving: &Receiving| receiving.most.div_ceil(shards as u64);
        let ledger = || receiving.map(|all| Ledger::new(of_each(all), all.sources.len()));
        (0..shards).map(|_| ledger()).collect()
    }

    /// Waits for the events that have not arrived, ends the receiver, and joins the notes.
    pub(crate) fn finish(self, ledgers: Vec<Ledger>, window: Window) -> Events {
        let mut senders: Vec<Vec<Sent>> = self.sources.iter().map(|_| Vec::new()).collect();
        let mut unnoted = 0;
        for ledger in ledgers {
            unnoted += ledger.unnoted;
            for (all, part) in senders.iter_mut().zip(ledger.sent) {
                if all.is_empty() { *all = part } else { all.extend(part) }
            }
        }
        let sent = senders.iter().map(|sender| sender.len() as u64).sum();
        self.wait_for(sent);
        self.stop.store(true, Ordering::Relaxed);
        let notes = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let Notebook { mut received, unknown, unnoted: unheard, .. } = notes;
        let mut events = join(&mut senders, &mut received, |intended| window.contains(intended));
        events.source = self.sources.join(" ");
        events.unknown += unknown;
        events.unnoted = unnoted + unheard;
        events
    }

    /// Waits until so many events have arrived and nothing more arrives, within the time for that.
    fn wait_for(&self, sent: u64) {
        let deadline = clock::now() + self.within;
        while clock::now() < deadline {
            let last = measure::Instant(self.progress.last.load(Ordering::Relaxed));
            let is_quiet = QUIET < clock::now().saturating_since(last);
            if sent <= self.progress.events.load(Ordering::Relaxed) && is_quiet {
                return;
            }
            clock::sleep_until(clock::now() + BETWEEN_LOOKS);
        }
    }
}

/// Returns the number of events to have room for: those that the plan intends, and some more.
fn most_events(plan: &Plan) -> u64 {
    let Pacing::Open { load, .. } = &plan.pacing else { unreachable!("events need an open loop") };
    let end = plan.warm_up + plan.measure;
    let seconds = |length: Nanos| length.as_secs_f64();
    let warm_up = load.mean_rate(Nanos::ZERO, plan.warm_up) * seconds(plan.warm_up);
    let measured = load.mean_rate(plan.warm_up, end) * seconds(plan.measure);
    let intended = (warm_up + measured) * f64::from(plan.targets);
    // Random arrivals deviate by far less.
    ((intended * 1.1) as u64 + 10_000).min(MOST_EVENTS)
}

/// The notes of one shard's events.
pub(crate) struct Ledger {
    /// Those of each target.
    sent: Vec<Vec<Sent>>,
    room: u64,
    unnoted: u64,
}

impl Ledger {
    fn new(room: u64, targets: usize) -> Ledger {
        let of_each = room.div_ceil(targets as u64) as usize;
        let sent = (0..targets).map(|_| Vec::with_capacity(of_each)).collect();
        Ledger { sent, room: of_each as u64, unnoted: 0 }
    }
}

impl Observer for Ledger {
    fn completed(&mut self, completion: &Completion) {
        // What was never sent is no event.
        let Some(start) = completion.start else { return };
        let of_target = &mut self.sent[completion.of.target as usize];
        if self.room <= of_target.len() as u64 {
            self.unnoted += 1;
            return;
        }
        let is_accepted =
            completion.outcome == Outcome::Ok && (200..300).contains(&completion.status);
        let times = (completion.intended, start.sent, completion.done);
        of_target.push(Sent::new(completion.number, is_accepted, times));
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
struct Identity {
    source: String,
    id: String,
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
        let identity: Identity = serde_json::from_slice(document).ok()?;
        Some(self.note(identity.source.as_bytes(), identity.id.as_bytes(), at))
    }
}

/// Returns the number that an id of ours is.
fn number(id: &[u8]) -> Option<u64> {
    let is_plain = id.iter().all(u8::is_ascii_digit) && (id == b"0" || !id.starts_with(b"0"));
    std::str::from_utf8(id).ok().filter(|_| is_plain)?.parse().ok()
}

/// The treatment of the first arrivals of each event, as written: `503:2`, `close:1`, `hang:1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FirstArrivals(pub(crate) Refusal);

impl FromStr for FirstArrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<FirstArrivals, String> {
        let wrong = || {
            format!(
                "`{text}` is not a treatment of first arrivals; write 503:2 (a status, and how many \
                 arrivals of each event get it), close:1 or hang:1"
            )
        };
        let (how, times) = text.split_once(':').ok_or_else(wrong)?;
        let times =
            times.parse().ok().filter(|times| (1..=250).contains(times)).ok_or_else(wrong)?;
        let how = match how {
            "close" => How::Close,
            "hang" => How::Hang,
            status => {
                let status = status.parse().ok().filter(|status| (200..600).contains(status));
                How::Status(status.ok_or_else(wrong)?)
            }
        };
        Ok(FirstArrivals(Refusal { how, times }))
    }
}

/// Returns what the fate of the events says about the channel.
pub(crate) fn findings(events: &Events) -> Vec<String> {
    let counted = |count: u64, what: &str| {
        (0 < count).then(|| format!("{} of {} events {what}", count, events.sent))
    };
    [
        counted(events.lost, "were accepted and did not arrive"),
        counted(events.duplicated, "arrived more than once"),
        counted(events.delivered_though_refused, "arrived though they were refused"),
    ]
    .into_iter()
    .flatten()
    .chain(timer(events))
    .collect()
}

/// Describes the timer that the delivery waits for, if its times show one.
fn timer(events: &Events) -> Option<String> {
    let times = events.delivery_time.as_ref()?;
    let timer = events.timer()?;
    Some(format!(
        "the delivery times are flat to {}: a timer. Their percentiles are those of the timer, however \
         well they repeat: the p50 is {}, and without the timer everything takes {}",
        timer.nominal(),
        times.p50(),
        timer.constant
    ))
}

/// Returns what weakens the counts.
pub(crate) fn warning(events: &Events) -> Option<String> {
    (0 < events.unnoted).then(|| {
        format!(
            "{} events or arrivals found no memory, so the counts of events are too small; measure \
             for a shorter time",
            events.unnoted
        )
    })
}
