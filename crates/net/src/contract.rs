//! The contract of every implementation of [`Io`] and [`crate::Files`]: lists of tests, run on each.
//! The list here needs real sockets at the far end. Those of the modules need nothing but the
//! implementation, so the simulation passes them, too.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;

use measure::{Instant, Nanos};

use crate::io::{Address, Closed, ConnectionId, Endpoint, Event, Io};
use crate::simulation::{Effect, Peer};
use crate::{Epoll, Simulation, Timer, Uring, clock, socket};

mod files;
mod listening;

macro_rules! contract {
    ($($test:ident)*) => {
        mod over_epoll {
            $(#[test] fn $test() { super::$test(super::epoll) })*
        }
        mod over_uring {
            $(#[test] fn $test() { super::$test(|timer| super::uring(stringify!($test), timer)) })*
        }
    };
}

contract! {
    bytes_go_there_and_back
    what_is_sent_before_the_connection_is_open_is_sent_then
    the_bytes_of_a_turn_arrive_in_order_on_every_connection
    what_the_kernel_does_not_take_at_once_is_sent_later
    much_is_received_in_order_however_slowly_it_is_taken
    many_are_received_from_at_once
    all_that_was_sent_before_a_close_arrives_and_then_the_end
    an_orderly_close_is_reported_after_the_bytes_before_it
    a_reset_is_reported_as_such
    a_broken_connection_takes_no_more_bytes_and_is_reported
    a_connection_that_breaks_with_bytes_to_send_broke_while_writing
    what_was_sent_a_while_ago_has_left_when_the_clock_is_read
    a_refused_connection_is_reported_as_such
    a_local_failure_to_connect_is_not_blamed_on_the_peer
    a_unix_socket_works_as_well
    a_connection_comes_from_the_source_that_was_asked_for
    no_event_follows_a_close_and_the_id_is_used_again
    a_connection_attempt_can_be_cancelled
    dropping_it_closes_its_connections
    waiting_ends_in_time_with_every_timer
    an_event_ends_the_waiting
}

const LOOPBACK: &str = "127.0.0.1:0";
/// Long enough for a machine that pauses for a while.
const LONG: Nanos = Nanos::from_secs(10);

fn epoll(timer: Timer) -> Option<Epoll> {
    Some(Epoll::new(timer).unwrap())
}

/// Opens a ring. If the kernel refuses io_uring, the test is recorded as skipped.
pub(crate) fn uring(test: &str, timer: Timer) -> Option<Uring> {
    Uring::new(timer).map_err(|refusal| skip(test, &format!("io_uring: {refusal}"))).ok()
}

/// A simulation without a far end: all its connections lead back to itself.
fn simulation() -> Simulation<Nobody> {
    Simulation::new(Nobody)
}

/// A far end where nobody listens.
#[derive(Debug)]
struct Nobody;

impl Peer for Nobody {
    fn connect(
        &mut self,
        connection: ConnectionId,
        _attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        effects.push((now, Effect::Closed(connection, Closed::Refused)));
    }

    fn receive(
        &mut self,
        _connection: ConnectionId,
        _bytes: &[u8],
        _now: Instant,
        _effects: &mut Vec<(Instant, Effect)>,
    ) {
        unreachable!("no connection is ever open")
    }
}

pub(crate) fn skip(test: &str, needs: &str) {
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "skipped: {test}: needs {needs}").unwrap();
    }
}

/// An event with a copy of its bytes.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Told {
    Connected(ConnectionId),
    Accepted(ConnectionId),
    Received(ConnectionId, Vec<u8>),
    Closed(ConnectionId, Closed),
    Nothing,
}

/// The next event, or `Nothing` once `end` has passed.
pub(crate) fn next_until(io: &mut impl Io, end: Instant) -> Told {
    loop {
        if let Some(event) = io.next_event() {
            return match event {
                Event::Connected(id) => Told::Connected(id),
                Event::Received(id, bytes) => Told::Received(id, bytes.to_vec()),
                Event::Closed(id, how) => Told::Closed(id, how),
                Event::Accepted(id) => Told::Accepted(id),
            };
        }
        if end <= io.now() {
            return Told::Nothing;
        }
        io.wait(end);
    }
}

pub(crate) fn next(io: &mut impl Io) -> Told {
    let end = io.now() + LONG;
    next_until(io, end)
}

/// Checks that no event comes for a while.
fn expect_nothing(io: &mut impl Io) {
    let end = io.now() + Nanos::from_millis(30);
    assert_eq!(next_until(io, end), Told::Nothing);
}

/// Receives at least `count` bytes of a connection.
fn bytes(io: &mut impl Io, id: ConnectionId, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < count {
        match next(io) {
            Told::Received(from, bytes) if from == id => all.extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    all
}

pub(crate) fn listen() -> (TcpListener, Endpoint) {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address.into())
}

/// An open connection, and its other end.
pub(crate) fn connected(io: &mut impl Io) -> (ConnectionId, TcpStream) {
    let (listener, address) = listen();
    let id = io.connect(&address);
    assert_eq!(next(io), Told::Connected(id));
    (id, accept(&listener))
}

/// Accepts the next connection. Its timeouts make a test fail instead of blocking for ever.
fn accept(listener: &TcpListener) -> TcpStream {
    let peer = listener.accept().unwrap().0;
    peer.set_read_timeout(Some(LONG.into())).unwrap();
    peer.set_write_timeout(Some(LONG.into())).unwrap();
    peer
}

/// Resets a connection, as happens when a process dies with unread bytes.
pub(crate) fn reset(stream: TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: `linger` is valid for its size.
    let result = unsafe {
        let length = size_of::<libc::linger>() as libc::socklen_t;
        let option = (&raw const linger).cast();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&stream);
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, option, length)
    };
    assert_eq!(result, 0);
}

fn bytes_go_there_and_back<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Hybrid) else { return };
    let (id, mut peer) = connected(&mut io);
    for _ in 0..3 {
        io.send(id, b"hello");
        io.wait(clock::now());
        let mut received = [0; 5];
        peer.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"hello");
        assert!(io.is_flushed(id));
        peer.write_all(b"!").unwrap();
        assert_eq!(next(&mut io), Told::Received(id, b"!".to_vec()));
    }
}

fn what_is_sent_before_the_connection_is_open_is_sent_then<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (listener, address) = listen();
    let id = io.connect(&address);
    io.send(id, b"hel");
    io.send(id, b"lo");
    assert!(!io.is_flushed(id));
    assert_eq!(next(&mut io), Told::Connected(id));
    let mut peer = accept(&listener);
    expect_nothing(&mut io);
    assert!(io.is_flushed(id));
    let mut received = [0; 5];
    peer.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"hello");
}

fn the_bytes_of_a_turn_arrive_in_order_on_every_connection<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    // More than fits into any queue at once.
    let mut peers: Vec<_> = (0..300).map(|_| connected(&mut io)).collect();
    for round in 0..10u8 {
        for (id, _) in &peers {
            io.send(*id, &[round; 100]);
        }
    }
    io.wait(clock::now());
    let expected: Vec<u8> = (0..10).flat_map(|round| [round; 100]).collect();
    for (id, peer) in &mut peers {
        let mut received = vec![0; expected.len()];
        peer.read_exact(&mut received).unwrap();
        assert_eq!(received, expected);
        assert!(io.is_flushed(*id));
    }
}

fn what_the_kernel_does_not_take_at_once_is_sent_later<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    // Each byte differs from its neighbours, so that any other order gives other bytes.
    let much: Vec<u8> =
        (0..20_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (first, rest) = much.split_at(5_000_000);
    io.send(id, first);
    io.wait(clock::now());
    assert!(!io.is_flushed(id), "no kernel takes so much at once");
    io.send(id, rest);
    let expected = much.clone();
    let reader = std::thread::spawn(move || {
        let mut received = vec![0; expected.len()];
        peer.read_exact(&mut received).unwrap();
        assert!(received == expected, "all bytes in order");
        peer
    });
    let end = clock::now() + LONG * 3;
    while !io.is_flushed(id) && clock::now() < end {
        io.wait(clock::now() + Nanos::from_millis(10));
        assert_eq!(io.next_event(), None);
    }
    assert!(io.is_flushed(id));
    reader.join().unwrap();
}

fn much_is_received_in_order_however_slowly_it_is_taken<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    let much: Vec<u8> =
        (0..30_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sent = much.clone();
    let writer = std::thread::spawn(move || peer.write_all(&sent).unwrap());
    // Meanwhile the writer fills all buffers on the way.
    clock::sleep_until(clock::now() + Nanos::from_millis(50));
    let mut all = Vec::new();
    let end = clock::now() + LONG * 3;
    while all.len() < much.len() && clock::now() < end {
        io.wait(end);
        while let Some(event) = io.next_event() {
            match event {
                Event::Received(from, bytes) if from == id => all.extend_from_slice(bytes),
                // The peer closes once it has sent everything.
                Event::Closed(from, Closed::ByPeer) => {
                    assert_eq!((from, all.len()), (id, much.len()));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(all == much, "{} of {} bytes", all.len(), much.len());
    writer.join().unwrap();
}

fn many_are_received_from_at_once<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let mut peers: Vec<_> = (0..1_000).map(|_| connected(&mut io)).collect();
    for round in 0..3u8 {
        for (_, peer) in &mut peers {
            peer.write_all(&[round]).unwrap();
        }
        let mut received: Vec<_> = (0..peers.len()).map(|_| next(&mut io)).collect();
        received.sort_by_key(|told| format!("{told:?}"));
        let mut expected: Vec<_> =
            peers.iter().map(|(id, _)| Told::Received(*id, vec![round])).collect();
        expected.sort_by_key(|told| format!("{told:?}"));
        assert_eq!(received, expected);
    }
    expect_nothing(&mut io);
}

fn all_that_was_sent_before_a_close_arrives_and_then_the_end<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    io.send(id, b"hello");
    io.close(id);
    // The socket's number is used again; the new connection must not get these bytes.
    let (other, mut stranger) = connected(&mut io);
    expect_nothing(&mut io);
    let mut received = Vec::new();
    peer.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"hello");
    io.close(other);
    io.wait(clock::now());
    received.clear();
    stranger.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"");
}

fn an_orderly_close_is_reported_after_the_bytes_before_it<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    peer.write_all(b"so long").unwrap();
    // The peer may still read.
    peer.shutdown(Shutdown::Write).unwrap();
    assert_eq!(bytes(&mut io, id, 7), b"so long");
    assert_eq!(next(&mut io), Told::Closed(id, Closed::ByPeer));
    expect_nothing(&mut io);
}

fn a_reset_is_reported_as_such<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, peer) = connected(&mut io);
    reset(peer);
    assert_eq!(next(&mut io), Told::Closed(id, Closed::Reset));
    expect_nothing(&mut io);
}

fn a_broken_connection_takes_no_more_bytes_and_is_reported<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, peer) = connected(&mut io);
    reset(peer);
    clock::sleep_until(clock::now() + Nanos::from_millis(30));
    io.send(id, b"hello");
    io.send(id, b"again");
    assert_eq!(next(&mut io), Told::Closed(id, Closed::WhileWriting));
    expect_nothing(&mut io);
    // The next use of the id is not affected.
    let (_, peer) = connected(&mut io);
    drop(peer);
    assert_eq!(next(&mut io), Told::Closed(id, Closed::ByPeer));
}

fn a_connection_that_breaks_with_bytes_to_send_broke_while_writing<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, peer) = connected(&mut io);
    io.send(id, &vec![0; 20_000_000]);
    io.wait(clock::now());
    reset(peer);
    assert_eq!(next(&mut io), Told::Closed(id, Closed::WhileWriting));
    expect_nothing(&mut io);
}

fn what_was_sent_a_while_ago_has_left_when_the_clock_is_read<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    io.send(id, b"hello");
    clock::sleep_until(clock::now() + Nanos::from_millis(1));
    io.now();
    let mut received = [0; 5];
    peer.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"hello");
}

fn a_refused_connection_is_reported_as_such<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (listener, address) = listen();
    drop(listener);
    let id = io.connect(&address);
    assert_eq!(next(&mut io), Told::Closed(id, Closed::Refused));
    let nowhere = Endpoint { address: Address::Unix("/nowhere/at/all".into()), source: None };
    let id = io.connect(&nowhere);
    assert_eq!(next(&mut io), Told::Closed(id, Closed::Refused));
    expect_nothing(&mut io);
}

fn a_local_failure_to_connect_is_not_blamed_on_the_peer<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (_listener, address) = listen();
    // An address that no machine has (RFC 5737).
    let source = Some("192.0.2.1".parse().unwrap());
    let id = io.connect(&Endpoint { source, ..address.clone() });
    assert_eq!(next(&mut io), Told::Closed(id, Closed::Exhausted));
    let id = io.connect(&address);
    assert_eq!(next(&mut io), Told::Connected(id));
}

fn a_unix_socket_works_as_well<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let name = format!("benchwright-{}-{:p}", std::process::id(), &raw const io);
    let path = std::env::temp_dir().join(name);
    let listener = UnixListener::bind(&path).unwrap();
    let id = io.connect(&Endpoint { address: Address::Unix(path.clone()), source: None });
    assert_eq!(next(&mut io), Told::Connected(id));
    let mut peer = listener.accept().unwrap().0;
    std::fs::remove_file(path).unwrap();
    io.send(id, b"hello");
    io.wait(clock::now());
    let mut received = [0; 5];
    peer.read_exact(&mut received).unwrap();
    peer.write_all(&received).unwrap();
    assert_eq!(next(&mut io), Told::Received(id, b"hello".to_vec()));
    drop(peer);
    assert_eq!(next(&mut io), Told::Closed(id, Closed::ByPeer));
}

fn a_connection_comes_from_the_source_that_was_asked_for<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (listener, address) = listen();
    let source = Some("127.0.0.9".parse().unwrap());
    let id = io.connect(&Endpoint { source, ..address });
    assert_eq!(next(&mut io), Told::Connected(id));
    let from: SocketAddr = listener.accept().unwrap().1;
    assert_eq!(Some(from.ip()), source);
}

fn no_event_follows_a_close_and_the_id_is_used_again<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    // The bytes have arrived and `wait` has found them, but their event was not taken yet.
    peer.write_all(b"old").unwrap();
    clock::sleep_until(clock::now() + Nanos::from_millis(20));
    io.wait(clock::now() + LONG);
    io.close(id);
    assert_eq!(io.next_event(), None);
    let (listener, address) = listen();
    assert_eq!(io.connect(&address), id);
    assert_eq!(next(&mut io), Told::Connected(id));
    let mut new = accept(&listener);
    new.write_all(b"new").unwrap();
    assert_eq!(next(&mut io), Told::Received(id, b"new".to_vec()));
    // The peer sees the end at once: a reset, because its bytes were not read.
    assert!(!matches!(peer.read(&mut [0; 9]), Ok(1..)));
    expect_nothing(&mut io);
}

fn a_connection_attempt_can_be_cancelled<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (listener, address) = listen();
    let id = io.connect(&address);
    io.close(id);
    // The second attempt is cancelled after it was handed to the kernel.
    assert_eq!(io.connect(&address), id);
    io.wait(clock::now());
    io.close(id);
    expect_nothing(&mut io);
    for _ in 0..2 {
        let mut peer = accept(&listener);
        assert_eq!(peer.read(&mut [0; 9]).unwrap(), 0);
    }
}

fn dropping_it_closes_its_connections<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (_, mut peer) = connected(&mut io);
    drop(io);
    assert_eq!(peer.read(&mut [0; 9]).unwrap(), 0);
}

/// Uses only a bound that a stalled machine cannot break: a wait never ends early.
fn waiting_ends_in_time_with_every_timer<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    for timer in [Timer::Sleep, Timer::Hybrid, Timer::Spin] {
        let Some(mut io) = open(timer) else { return };
        for wait in [Nanos::ZERO, Nanos::from_micros(30), Nanos::from_millis(5)] {
            let until = io.now() + wait;
            let mut now = io.wait(until);
            while now < until {
                now = io.wait(until);
            }
            assert!(until <= now && until <= io.now());
        }
    }
}

fn an_event_ends_the_waiting<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    for timer in [Timer::Sleep, Timer::Hybrid, Timer::Spin] {
        let Some(mut io) = open(timer) else { return };
        let (id, mut peer) = connected(&mut io);
        io.send(id, b"?");
        let answers = std::thread::spawn(move || {
            peer.read_exact(&mut [0]).unwrap();
            clock::sleep_until(clock::now() + Nanos::from_millis(20));
            peer.write_all(b"!").unwrap();
            peer
        });
        // The request must leave before the sleep, or no answer would come.
        assert_eq!(next(&mut io), Told::Received(id, b"!".to_vec()));
        answers.join().unwrap();
    }
}

#[test]
fn an_error_shows_which_side_is_to_blame() {
    for (error, how) in [
        (libc::EMFILE, Closed::Exhausted),
        (libc::EADDRNOTAVAIL, Closed::Exhausted),
        (libc::ECONNREFUSED, Closed::Refused),
        (libc::ETIMEDOUT, Closed::Unreachable),
    ] {
        assert_eq!(socket::why_not_connected(error), how);
    }
}
