//! A thread of the server: its event loop, its connections, and its bounds.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use kv::storage::{Folder, Nowhere, Storage};
use measure::{Instant, Nanos};
use net::{Closed, ConnectionId, Epoll, Event, Io, Waker};
use wire::kv::Code;

use crate::bounds::{ENDING, FAREWELL, GREETING, MOST_HELD, MOST_WAITING, STALLED};
use crate::connection::{Connection, Next};
use crate::counts::Counted;
use crate::desk::{Desk, Ended};
use crate::session::Running;
use crate::sessions::Use;

/// The longest single wait, and the time between two looks at what takes too long.
const TICK: Nanos = Nanos::from_millis(100);
/// The wait while operations are pending.
const SOON: Nanos = Nanos::from_micros(100);
/// The largest buffer for replies that is kept for the next ones.
const MOST_REUSED: usize = 4 << 20;

/// The way from other threads to a shard.
pub(crate) struct Mailbox {
    letters: Mutex<Vec<Letter>>,
    waker: Waker,
}

pub(crate) enum Letter {
    /// A connection that has asked for the shard.
    Connection(OwnedFd, Box<Connection>),
    /// Another connection wants to resume the session of this one.
    Release(Use),
}

impl Mailbox {
    pub(crate) fn new(waker: Waker) -> Mailbox {
        Mailbox { letters: Mutex::default(), waker }
    }

    /// Puts a letter in: at most one for each connection of the server, and for each that waits.
    fn put(&self, letter: Letter) {
        self.letters.lock().expect("no thread panics while it holds the lock").push(letter);
        self.waker.wake();
    }

    fn take(&self) -> Vec<Letter> {
        std::mem::take(&mut *self.letters.lock().expect("no thread panics while it holds the lock"))
    }

    pub(crate) fn wake(&self) {
        self.waker.wake();
    }
}

pub(crate) struct Shard {
    pub(crate) io: Epoll,
    /// The listener, which only the first shard has.
    pub(crate) listener: Option<ConnectionId>,
    /// The files of the store; `None` if it is in memory only.
    pub(crate) folder: Option<Folder>,
    /// The session that does the store's work with the files.
    house: kv::Session,
    pub(crate) desk: Desk,
    /// The mailboxes of all shards.
    pub(crate) mailboxes: Arc<Vec<Mailbox>>,
    peers: Vec<Option<Box<Peer>>>,
    open: usize,
    /// Connections that are not read at the moment.
    paused: Vec<ConnectionId>,
    /// Connections with pending operations.
    pending: Vec<ConnectionId>,
    /// Sessions without a connection whose operations are pending.
    #[expect(clippy::vec_box, reason = "a session keeps its box wherever it goes")]
    draining: Vec<Box<Running>>,
    /// The bytes that the connections hold.
    held: usize,
    /// The replies that are being written.
    out: Vec<u8>,
    next_tick: Instant,
    /// The newest checkpoint that the connections were told of.
    told: u64,
}

/// A connection, and what the shard knows of it.
struct Peer {
    connection: Box<Connection>,
    begun: Instant,
    /// The time since which a frame is not complete.
    frame_since: Option<Instant>,
    /// The bytes that were sent and that the network has not taken yet.
    unread: usize,
    /// The time since which the peer has read none of them.
    unread_since: Option<Instant>,
    is_paused: bool,
    /// The time at which ERROR was sent.
    refused: Option<Instant>,
    held: usize,
}

impl Shard {
    pub(crate) fn new(
        io: Epoll,
        listener: Option<ConnectionId>,
        (folder, house): (Option<Folder>, kv::Session),
        desk: Desk,
        mailboxes: Arc<Vec<Mailbox>>,
    ) -> Shard {
        Shard {
            io,
            listener,
            folder,
            house,
            desk,
            mailboxes,
            peers: Vec::new(),
            open: 0,
            paused: Vec::new(),
            pending: Vec::new(),
            draining: Vec::new(),
            held: 0,
            out: Vec::new(),
            next_tick: Instant::default(),
            told: 0,
        }
    }

    /// Serves until `stop`; then answers what was read, takes part in the last checkpoint, and ends.
    pub(crate) fn serve(mut self, stop: &AtomicBool) {
        let ended = Ended(self.desk.shared.clone());
        while !stop.load(Ordering::Relaxed) {
            self.turn();
        }
        self.end();
        drop(ended);
        self.end_with_checkpoint();
    }

    /// Takes part in a last checkpoint of everything, if the store has any.
    fn end_with_checkpoint(&mut self) {
        let shared = self.desk.shared.clone();
        while !shared.last_checkpoint_is_over() {
            let now = self.io.now();
            self.complete(now);
            self.io.wait(now + SOON);
            // Nothing is read any more.
            while self.io.next_event().is_some() {}
        }
    }

    fn turn(&mut self) {
        let is_cut = std::mem::take(&mut self.desk.met_cut) || self.desk.shared.store.is_at_cut();
        let is_growing = self.desk.shared.store.is_growing();
        let is_pending =
            is_cut || is_growing || !self.pending.is_empty() || !self.draining.is_empty();
        let longest = if is_pending { SOON } else { TICK };
        let now = self.io.now();
        let now = self.io.wait(now + longest);
        self.read_letters(now);
        self.read(now);
        self.complete(now);
        self.go_on(now);
        self.send_wishes();
        self.tell_durable(now);
        if self.next_tick <= now {
            self.next_tick = now + TICK;
            self.expire(now);
        }
    }

    fn read(&mut self, now: Instant) {
        loop {
            let (id, next) = match self.io.next_event() {
                None => return,
                Some(Event::Connected(_)) => unreachable!("a server does not connect"),
                Some(Event::Accepted(id)) => {
                    self.accept(id, now);
                    continue;
                }
                Some(Event::Closed(id, how)) => {
                    self.closed(id, how);
                    continue;
                }
                Some(Event::Received(id, bytes)) => {
                    let peer = self.peers[id.0 as usize].as_mut().expect("an open connection");
                    if peer.refused.is_some() {
                        continue;
                    }
                    self.desk.counts().count(Counted::BytesIn, bytes.len());
                    let connection = &mut peer.connection;
                    (id, connection.receive(bytes, peer.unread, &mut self.desk, &mut self.out))
                }
            };
            self.settle(id, next, now);
        }
    }

    fn accept(&mut self, id: ConnectionId, now: Instant) {
        if !self.has_room() {
            self.desk.counts().count(Counted::Refused, 1);
            Connection::new().tell(Code::Busy, &mut self.out);
            self.io.send(id, &self.out);
            self.out.clear();
            self.io.close(id);
            return;
        }
        self.place(id, Box::new(Connection::new()), now);
    }

    /// False if there is no room for another connection. Those without a session have to make some, the
    /// oldest first: otherwise slow greetings could keep everybody else out.
    fn has_room(&mut self) -> bool {
        if self.open < self.desk.shared.connections {
            return true;
        }
        let peers = (0..).zip(&self.peers);
        let without_session = peers.filter_map(|(index, peer)| {
            let peer = peer.as_ref()?;
            let has_none = peer.connection.is_greeting() || peer.refused.is_some();
            has_none.then_some((peer.begun, ConnectionId(index)))
        });
        let Some((_, oldest)) = without_session.min_by_key(|(begun, _)| *begun) else {
            return false;
        };
        self.desk.counts().count(Counted::Refused, 1);
        Connection::new().tell(Code::Busy, &mut self.out);
        self.io.send(oldest, &self.out);
        self.out.clear();
        self.forget(oldest);
        self.io.close(oldest);
        true
    }

    fn place(&mut self, id: ConnectionId, connection: Box<Connection>, now: Instant) {
        let index = id.0 as usize;
        if self.peers.len() <= index {
            self.peers.resize_with(index + 1, || None);
        }
        self.peers[index] = Some(Box::new(Peer {
            connection,
            begun: now,
            frame_since: None,
            unread: 0,
            unread_since: None,
            is_paused: false,
            refused: None,
            held: 0,
        }));
        self.open += 1;
        self.desk.counts().count(Counted::Accepted, 1);
    }

    /// Sends what was written for a connection, and does what follows from its state.
    fn settle(&mut self, id: ConnectionId, next: Next, now: Instant) {
        let peer = self.peers[id.0 as usize].as_mut().expect("an open connection");
        let written = self.out.len();
        if 0 < written {
            self.io.send(id, &self.out);
            self.desk.counts().count(Counted::BytesOut, written);
            self.out.clear();
            if MOST_REUSED < self.out.capacity() {
                self.out = Vec::new();
            }
        }
        peer.sent(written, self.io.unsent(id), now);
        peer.frame_since = match peer.connection.is_within_frame() {
            true => peer.frame_since.or(Some(now)),
            false => None,
        };
        match next {
            Next::Continue => {}
            Next::GoTo(shard) => return self.hand_over(id, shard),
            Next::Refuse => return self.refused(id, now),
        }
        let must_wait = peer.connection.must_wait(peer.unread) || peer.connection.has_more();
        if must_wait != peer.is_paused {
            peer.is_paused = must_wait;
            match must_wait {
                true => {
                    self.desk.counts().count(Counted::Paused, 1);
                    self.io.pause(id);
                    self.paused.push(id);
                }
                false => {
                    self.paused.retain(|other| *other != id);
                    self.io.resume(id);
                }
            }
        }
        let is_pending = peer.connection.session().is_some_and(|session| 0 < session.pending);
        if is_pending && !self.pending.contains(&id) {
            self.pending.push(id);
        }
        self.weigh(id, now);
    }

    /// Counts what a connection holds. If all hold too much, the one that holds most is refused.
    fn weigh(&mut self, id: ConnectionId, now: Instant) {
        let peer = self.peers[id.0 as usize].as_mut().expect("an open connection");
        let holds = peer.connection.held() + peer.unread;
        self.held = self.held - peer.held + holds;
        peer.held = holds;
        if self.held <= MOST_HELD {
            return;
        }
        let held = |index: &usize| self.peers[*index].as_ref().map_or(0, |peer| peer.held);
        let most = (0..self.peers.len()).max_by_key(held).expect("one of them holds something");
        self.desk.counts().count(Counted::HeldTooMuch, 1);
        self.refuse(ConnectionId(most as u32), Code::Busy, now);
    }

    /// Ends a connection with an ERROR.
    fn refuse(&mut self, id: ConnectionId, code: Code, now: Instant) {
        let Some(peer) = self.peers[id.0 as usize].as_mut() else { return };
        if peer.refused.is_some() {
            return;
        }
        peer.connection.tell(code, &mut self.out);
        self.io.send(id, &self.out);
        self.out.clear();
        self.refused(id, now);
    }

    /// Waits for the peer to read the ERROR that was sent: a connection that is closed with unread bytes
    /// is reset, and the ERROR lost.
    fn refused(&mut self, id: ConnectionId, now: Instant) {
        let peer = self.peers[id.0 as usize].as_mut().expect("an open connection");
        peer.refused = Some(now);
        if self.io.is_flushed(id) {
            self.io.end_sending(id);
        }
        self.held -= std::mem::take(&mut peer.held);
        if std::mem::take(&mut peer.is_paused) {
            self.paused.retain(|other| *other != id);
            self.io.resume(id);
        }
        let session = peer.connection.close();
        self.part(session);
    }

    fn closed(&mut self, id: ConnectionId, _: Closed) {
        self.forget(id);
    }

    /// Forgets a connection that is gone.
    fn forget(&mut self, id: ConnectionId) {
        let mut peer = self.peers[id.0 as usize].take().expect("an open connection");
        self.open -= 1;
        self.held -= peer.held;
        self.paused.retain(|other| *other != id);
        self.pending.retain(|other| *other != id);
        self.desk.counts().count(Counted::Closed, 1);
        self.part(peer.connection.close());
    }

    /// Lets a session go whose connection is gone: once nothing of it is pending, another one can
    /// resume it.
    fn part(&mut self, session: Option<Box<Running>>) {
        let Some(mut session) = session else { return };
        session.finish_rest(&mut self.desk.scratch, &self.desk.shared.counts[self.desk.shard]);
        if session.pending > 0 || session.has_rest() {
            self.draining.push(session);
        } else if session.is_operators && session.executed() == 0 {
            self.desk.shared.sessions.end(session.id());
        } else {
            self.desk.shared.sessions.park(session);
        }
    }

    /// Gives a connection to the shard that it has asked for.
    fn hand_over(&mut self, id: ConnectionId, shard: usize) {
        let peer = self.peers[id.0 as usize].take().expect("an open connection");
        self.open -= 1;
        self.held -= peer.held;
        self.paused.retain(|other| *other != id);
        let counts = self.desk.counts();
        counts.count(Counted::HandedOver, 1);
        counts.count(Counted::Closed, 1);
        let socket = self.io.give_away(id);
        self.mailboxes[shard].put(Letter::Connection(socket, peer.connection));
    }

    fn read_letters(&mut self, now: Instant) {
        let own = self.mailboxes.clone();
        for letter in own[self.desk.shard].take() {
            match letter {
                Letter::Connection(socket, connection) => self.adopt(socket, connection, now),
                Letter::Release(used) => self.release(used, now),
            }
        }
    }

    fn adopt(&mut self, socket: OwnedFd, connection: Box<Connection>, now: Instant) {
        // If the kernel has no memory to watch it, it is closed.
        let Ok(id) = self.io.adopt(socket) else { return };
        if !self.has_room() {
            let mut connection = connection;
            self.desk.counts().count(Counted::Refused, 1);
            connection.tell(Code::Busy, &mut self.out);
            self.io.send(id, &self.out);
            self.out.clear();
            return self.io.close(id);
        }
        self.place(id, connection, now);
        let peer = self.peers[id.0 as usize].as_mut().expect("it was placed");
        let next = peer.connection.arrive(&mut self.desk, &mut self.out);
        self.settle(id, next, now);
    }

    /// Ends the connection of a session that another one resumes.
    fn release(&mut self, used: Use, now: Instant) {
        let is_it = |own: &mut Box<Running>| (own.id(), own.turn) == (used.session, used.turn);
        let has = |peer: &mut Option<Box<Peer>>| {
            peer.as_mut().and_then(|peer| peer.connection.session()).is_some_and(is_it)
        };
        if let Some(index) = self.peers.iter_mut().position(has) {
            self.refuse(ConnectionId(index as u32), Code::Resumed, now);
        }
    }

    /// Tells each session what survives a crash, once a checkpoint is durable.
    fn tell_durable(&mut self, now: Instant) {
        let durable = self.desk.shared.store.durable();
        if std::mem::replace(&mut self.told, durable) == durable {
            return;
        }
        for index in 0..self.peers.len() {
            let Some(peer) = self.peers[index].as_mut().filter(|peer| peer.refused.is_none())
            else {
                continue;
            };
            if let Some(session) = peer.connection.session() {
                let (through, except) = session.durable();
                wire::kv::encode_durable(through, &except, session.checksums, &mut self.out);
                self.settle(ConnectionId(index as u32), Next::Continue, now);
            }
        }
    }

    /// Asks other shards for the sessions that connections of this one wait for.
    fn send_wishes(&mut self) {
        for used in self.desk.wanted.drain(..) {
            self.mailboxes[used.shard].put(Letter::Release(used));
        }
    }

    /// Completes what is pending.
    fn complete(&mut self, now: Instant) {
        if self.folder.is_some() || self.desk.shared.store.is_growing() {
            let Shard { io, folder, desk, house, .. } = self;
            with_storage(io, folder, |storage| desk.scratch.work(house, storage));
        }
        for place in (0..self.pending.len()).rev() {
            let id = self.pending[place];
            let peer = self.peers[id.0 as usize].as_mut().expect("an open connection");
            let Some(session) = peer.connection.session() else {
                self.pending.swap_remove(place);
                continue;
            };
            let Desk { scratch, shared, shard, .. } = &mut self.desk;
            let must_wait = MOST_WAITING < peer.unread;
            with_storage(&mut self.io, &mut self.folder, |storage| match must_wait {
                true => session.poll_only(storage, scratch),
                false => session.poll(storage, scratch, &shared.counts[*shard], &mut self.out),
            });
            if session.pending == 0 {
                self.pending.swap_remove(place);
            }
            if must_wait || !self.out.is_empty() {
                self.settle(id, Next::Continue, now);
            }
        }
        for place in (0..self.draining.len()).rev() {
            let Desk { scratch, shared, shard, .. } = &mut self.desk;
            let session = &mut self.draining[place];
            with_storage(&mut self.io, &mut self.folder, |storage| {
                session.poll(storage, scratch, &shared.counts[*shard], &mut self.out);
            });
            self.out.clear();
            session.finish_rest(scratch, &shared.counts[*shard]);
            if session.pending == 0 && !session.has_rest() {
                let session = self.draining.swap_remove(place);
                self.desk.shared.sessions.park(session);
            }
        }
    }

    /// Reads connections again whose replies have left.
    fn go_on(&mut self, now: Instant) {
        for place in (0..self.paused.len()).rev() {
            let Some(&id) = self.paused.get(place) else { continue };
            let peer = self.peers[id.0 as usize].as_mut().expect("an open connection");
            peer.sent(0, self.io.unsent(id), now);
            let connection = &mut peer.connection;
            let may_go_on = connection.is_awaiting() || peer.unread == 0;
            if !may_go_on {
                continue;
            }
            let next = match connection.has_more() {
                true => connection.go_on(peer.unread, &mut self.desk, &mut self.out),
                false => Next::Continue,
            };
            self.settle(id, next, now);
        }
    }

    /// Ends what takes too long.
    fn expire(&mut self, now: Instant) {
        let mut pending = self.draining.iter().map(|session| session.pending).sum::<usize>();
        for index in 0..self.peers.len() {
            let id = ConnectionId(index as u32);
            let Some(peer) = self.peers[index].as_mut() else { continue };
            pending += peer.connection.session().map_or(0, |session| session.pending);
            peer.sent(0, self.io.unsent(id), now);
            let is_over =
                |since: Option<Instant>, most| since.is_some_and(|since| since + most <= now);
            if is_over(peer.refused, FAREWELL) {
                self.forget(id);
                self.io.close(id);
            } else if peer.refused.is_some() {
                continue;
            } else if peer.connection.is_greeting() && peer.begun + GREETING <= now
                || is_over(peer.frame_since, STALLED)
            {
                self.desk.counts().count(Counted::TooSlow, 1);
                self.refuse(id, Code::TooSlow, now);
            } else if is_over(peer.unread_since, STALLED) {
                // An ERROR would not be read either.
                self.desk.counts().count(Counted::TooSlow, 1);
                self.forget(id);
                self.io.close(id);
            }
        }
        self.desk.counts().set_pending(pending);
    }

    /// Stops listening, answers what was read, and says goodbye.
    fn end(&mut self) {
        if let Some(listener) = self.listener.take() {
            self.io.close(listener);
        }
        let until = self.io.now() + ENDING;
        loop {
            let now = self.io.now();
            self.read_letters(now);
            self.complete(now);
            self.go_on(now);
            let is_flushed = |index: usize| self.io.is_flushed(ConnectionId(index as u32));
            let mut open = (0..self.peers.len()).filter(|index| self.peers[*index].is_some());
            let has_more = !self.pending.is_empty() || !self.draining.is_empty();
            if until <= now || !has_more && open.all(is_flushed) {
                break;
            }
            self.io.wait(now + SOON);
            while let Some(event) = self.io.next_event() {
                match event {
                    Event::Closed(id, _) => self.forget(id),
                    // What arrives now is not read: it has no reply, and its session says so.
                    Event::Received(..) | Event::Accepted(_) | Event::Connected(_) => {}
                }
            }
        }
        for index in 0..self.peers.len() {
            let id = ConnectionId(index as u32);
            if self.peers[index].is_some() {
                let now = self.io.now();
                self.refuse(id, Code::Ending, now);
                self.forget(id);
                self.io.close(id);
            }
        }
    }
}

impl Peer {
    /// Notes that bytes were sent, and how many the network has not taken yet.
    fn sent(&mut self, bytes: usize, unsent: usize, now: Instant) {
        let has_read = unsent < self.unread + bytes;
        self.unread = unsent;
        self.unread_since = match unsent {
            0 => None,
            _ if has_read => Some(now),
            _ => self.unread_since.or(Some(now)),
        };
    }
}

/// Hands the storage of a shard to `work`.
fn with_storage(io: &mut Epoll, folder: &mut Option<Folder>, work: impl FnOnce(&mut dyn Storage)) {
    match folder {
        Some(folder) => work(&mut folder.on(io)),
        None => work(&mut Nowhere),
    }
}
