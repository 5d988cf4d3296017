//! The client's side of the toy protocol.

use std::collections::{HashMap, HashSet, VecDeque};

use ::measure::Nanos;
use net::Closed;

use super::{
    ASK, BYE, CANCEL, HELLO, MAP, MISSING, MOVED, Message, Messages, PARTS, PING, PONG, REPLY,
    WELCOME, write,
};
use crate::driver::{
    Asked, Done, Driver, Fault, Label, Lost, Next, Node, Opening, Outcome, Redirect, Reports, Slot,
    Started, Step, Token,
};

pub(super) const ALPN: &[u8] = b"toy";

/// The habits of a client.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    /// The number of keys in a request.
    pub(super) keys: u64,
    /// The number of requests that are sent together: those that are started while the first of them
    /// is held.
    pub(super) batch: usize,
    /// The longest time to hold a request.
    pub(super) linger: Nanos,
    /// The most batches that a connection carries at once, if the server allows as many.
    pub(super) streams: usize,
    /// True if the keys of a request are its operations.
    pub(super) counts: bool,
    /// True if every fourth request reads, and then writes what it has read.
    pub(super) modifies: bool,
    /// The node of each part of the keys; empty if every node has all keys.
    pub(super) map: Vec<u32>,
    /// True if the map follows the servers' answers.
    pub(super) learns: bool,
    /// The users of a closed loop; `None` for as many as its connections carry.
    pub(super) users: Option<usize>,
}

/// The most times that a request is sent elsewhere.
pub(super) const MOST_HOPS: u32 = 5;

impl Default for Habits {
    fn default() -> Habits {
        Habits {
            keys: 1,
            batch: 1,
            linger: Nanos::ZERO,
            streams: 100,
            counts: false,
            modifies: false,
            map: Vec::new(),
            learns: false,
            users: None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Toy {
    habits: Habits,
    lines: Vec<Line>,
    /// The number of times that requests were sent elsewhere, by their numbers.
    hops: HashMap<u64, u32>,
    /// The requests that have read what they are to write.
    half_done: HashSet<Token>,
}

/// One connection.
#[derive(Debug, Default)]
struct Line {
    arrived: Messages,
    /// The most requests that the server allows; none before it says so.
    allowed: Option<usize>,
    asked: VecDeque<Batch>,
    /// The requests that are held.
    held: Vec<Request>,
    next_id: u32,
}

/// Requests that were sent together.
#[derive(Debug)]
struct Batch {
    id: u32,
    requests: Vec<Request>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    token: Token,
    number: u64,
}

pub(super) const READ: Label = Label(0);
pub(super) const UPDATE: Label = Label(1);
pub(super) const BOTH: Label = Label(2);

fn label(number: u64, habits: &Habits) -> Label {
    match habits.modifies {
        false => Label::NONE,
        true if number % 4 == 3 => BOTH,
        true => READ,
    }
}

/// Returns the keys of a request, which are of one part.
pub(super) fn keys(number: u64, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |place| (number * count + place) * PARTS + number % PARTS)
}

impl Toy {
    pub(super) fn new(slots: usize, habits: Habits) -> Toy {
        let lines = (0..slots).map(|_| Line::default()).collect();
        Toy { habits, lines, hops: HashMap::new(), half_done: HashSet::new() }
    }

    fn line(&mut self, slot: Slot) -> &mut Line {
        &mut self.lines[slot.0 as usize]
    }
}

impl Driver for Toy {
    fn room(&self, slot: Slot) -> usize {
        let line = &self.lines[slot.0 as usize];
        let most = self.habits.streams.min(line.allowed.unwrap_or(usize::MAX));
        let free = most.saturating_sub(line.asked.len()) * self.habits.batch;
        free.saturating_sub(line.held.len())
    }

    fn opened(&mut self, _slot: Slot, opening: Opening<'_>, reports: &mut Reports) -> Next {
        if opening.alpn.is_some_and(|name| name != ALPN) {
            return Next::Fail(Outcome::Connect, "it does not speak the toy protocol");
        }
        write(&mut reports.wire, HELLO, 0, 0, b"");
        Next::Greeting(None)
    }

    fn start(&mut self, slot: Slot, asked: Asked, reports: &mut Reports) -> Result<Started, Fault> {
        let Habits { keys, batch, linger, .. } = self.habits;
        let Asked { token, number, .. } = asked;
        let line = self.line(slot);
        let earlier = line.held.iter().map(|request| request.token);
        if line.held.len() + 1 < batch {
            reports.held = Some(linger);
        } else {
            reports.sent.extend(earlier);
        }
        line.held.push(Request { token, number });
        if reports.held.is_none() {
            line.send(keys, reports);
        }
        let operations = if self.habits.counts { keys as u32 } else { 0 };
        Ok(Started { label: label(number, &self.habits), operations })
    }

    fn flush(&mut self, slot: Slot, reports: &mut Reports) {
        let keys = self.habits.keys;
        let line = self.line(slot);
        reports.sent.extend(line.held.iter().map(|request| request.token));
        line.send(keys, reports);
    }

    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        let mut next = self.line(slot).state();
        self.line(slot).arrived.0.extend_from_slice(bytes);
        while let Some(message) = self.line(slot).arrived.next() {
            let line = self.line(slot);
            match message.kind {
                WELCOME => {
                    next = if line.allowed.is_none() { Next::Ready(None) } else { next };
                    line.allowed = Some(message.id as usize);
                }
                PING => write(&mut reports.wire, PONG, message.id, 0, b""),
                MAP => {
                    self.habits.map.fill(message.id);
                    reports.is_remapped = true;
                }
                REPLY => self.answered(slot, &message, reports),
                _ => return Ok(Next::Fail(Outcome::Malformed, "an unknown kind")),
            }
        }
        Ok(next)
    }

    /// Gives up a batch of one.
    fn cancel(&mut self, slot: Slot, token: Token, reports: &mut Reports) -> Result<bool, Fault> {
        let asked = &mut self.line(slot).asked;
        let place = asked.iter().position(|batch| batch.requests[0].token == token);
        let Batch { id, .. } = asked.remove(place.expect("it is outstanding")).unwrap();
        write(&mut reports.wire, CANCEL, id, 0, b"");
        self.half_done.remove(&token);
        reports.done.push(done(token, Outcome::Timeout, ""));
        Ok(true)
    }

    fn leaves(&mut self, _slot: Slot, reports: &mut Reports) {
        write(&mut reports.wire, BYE, 0, 0, b"");
    }

    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        let line = std::mem::take(self.line(slot));
        reports.again.extend(line.held.iter().map(|request| request.token));
        for request in line.asked.into_iter().flat_map(|batch| batch.requests) {
            let (outcome, why) = match lost {
                Lost::TooLate(token) if token == request.token => (Outcome::Timeout, ""),
                Lost::By(Closed::WhileWriting) => (Outcome::Write, ""),
                Lost::For(outcome, why) => (outcome, why),
                Lost::By(_) | Lost::ByUs | Lost::TooLate(_) => (Outcome::Reset, ""),
            };
            self.half_done.remove(&request.token);
            reports.done.push(done(request.token, outcome, why));
        }
        Ok(())
    }

    fn is_routed(&self) -> bool {
        !self.habits.map.is_empty()
    }

    fn route(&mut self, number: u64, _label: Label) -> Node {
        Node(self.habits.map[(number % PARTS) as usize])
    }

    fn users(&self) -> Option<usize> {
        self.habits.users
    }

    fn alpn(&self) -> &'static [&'static [u8]] {
        &[ALPN]
    }

    fn outlives_early_responses(&self) -> bool {
        true
    }
}

impl Line {
    /// Sends what is held.
    fn send(&mut self, count: u64, reports: &mut Reports) {
        let requests = std::mem::take(&mut self.held);
        let keys = requests.iter().flat_map(|request| keys(request.number, count));
        let items: Vec<u8> = keys.flat_map(u64::to_le_bytes).collect();
        self.next_id += 1;
        write(&mut reports.wire, ASK, self.next_id, items.len() / 8, &items);
        self.asked.push_back(Batch { id: self.next_id, requests });
    }

    /// Returns the next step if nothing of importance arrives.
    fn state(&self) -> Next {
        if self.allowed.is_some() { Next::Continue } else { Next::Greeting(None) }
    }
}

impl Toy {
    fn answered(&mut self, slot: Slot, reply: &Message, reports: &mut Reports) {
        let count = self.habits.keys as usize;
        let asked = &mut self.line(slot).asked;
        // A reply may cross our cancellation.
        let Some(place) = asked.iter().position(|batch| batch.id == reply.id) else { return };
        let Batch { requests, .. } = asked.remove(place).unwrap();
        for (request, statuses) in requests.into_iter().zip(reply.items.chunks(count)) {
            let Request { token, number } = request;
            reports.begun.push(token);
            if let Some(owner) = statuses[0].checked_sub(MOVED) {
                self.moved(token, number, Node(owner.into()), reports);
                continue;
            }
            let missing = statuses.iter().filter(|status| **status == MISSING).count();
            let outcome = if missing == 0 { Outcome::Ok } else { Outcome::Status };
            let found = (statuses.len() - missing) as u32;
            if self.habits.counts && outcome != Outcome::Ok && 0 < found {
                let (label, outcome) = (Label::NONE, Outcome::Ok);
                reports.steps.push(Step { token, label, outcome, operations: found });
            }
            if label(number, &self.habits) == BOTH {
                let is_read = self.half_done.insert(token);
                let label = if is_read { READ } else { UPDATE };
                reports.steps.push(Step { token, label, outcome, operations: 0 });
                if is_read {
                    // The second half follows on its own.
                    let line = self.line(slot);
                    line.held.push(request);
                    line.send(count as u64, reports);
                    continue;
                }
                self.half_done.remove(&token);
            }
            reports.done.push(done(token, outcome, ""));
        }
    }

    fn moved(&mut self, token: Token, number: u64, to: Node, reports: &mut Reports) {
        if self.habits.learns {
            self.habits.map[(number % PARTS) as usize] = to.0;
        }
        let hops = self.hops.entry(number).or_default();
        *hops += 1;
        match *hops <= MOST_HOPS {
            true => reports.redirected.push(Redirect { token, to }),
            false => reports.done.push(done(token, Outcome::Status, "sent elsewhere too often")),
        }
    }
}

fn done(token: Token, outcome: Outcome, why: &'static str) -> Done {
    let answers = u32::from(outcome.is_answer());
    Done { token, outcome, status: 0, answers, bad: 0, bytes: 0, why }
}
