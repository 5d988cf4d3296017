//! What every form of [`Io`] over real sockets keeps: one list of tests, run over each.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;

use measure::{Instant, Nanos};

use crate::io::{Address, Closed, ConnectionId, Endpoint, Event, Io};
use crate::{Epoll, Timer, Uring, clock, socket};

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
    what_a_turn_sends_arrives_in_order_whichever_the_connections
    what_the_kernel_does_not_take_at_once_is_sent_later
    much_is_received_in_order_however_slowly_it_is_taken
    many_are_received_from_at_once
    all_that_was_sent_before_a_close_arrives_and_then_the_end
    who_closes_in_order_is_told_after_what_he_sent
    a_reset_is_told_as_such
    a_connection_that_broke_takes_nothing_more_and_is_told
    a_connection_that_breaks_with_bytes_to_send_broke_while_writing
    what_was_sent_a_while_ago_has_left_when_the_clock_is_read
    a_refused_connection_is_told_as_such
    what_this_machine_cannot_connect_is_no_fault_of_the_peer
    a_socket_in_the_file_system_is_as_good
    a_connection_comes_from_the_source_that_was_asked_for
    nothing_follows_a_close_and_the_name_is_used_again
    an_attempt_can_be_given_up
    what_is_dropped_closes_its_connections
    waiting_ends_in_time_with_every_timer
    an_event_ends_the_waiting
}

const LOOPBACK: &str = "127.0.0.1:0";
/// Long enough for a machine that stands still for a while.
const LONG: Nanos = Nanos::from_secs(10);

fn epoll(timer: Timer) -> Option<Epoll> {
    Some(Epoll::new(timer).unwrap())
}

/// Where the kernel refuses it, the test says that it was skipped.
pub(crate) fn uring(test: &str, timer: Timer) -> Option<Uring> {
    Uring::new(timer).map_err(|refusal| skip(test, &format!("io_uring: {refusal}"))).ok()
}

pub(crate) fn skip(test: &str, needs: &str) {
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "skipped: {test}: needs {needs}").unwrap();
    }
}

/// What an event was, without what it lends.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Told {
    Connected(ConnectionId),
    Received(ConnectionId, Vec<u8>),
    Closed(ConnectionId, Closed),
    Nothing,
}

/// The next event, at the latest when `end` has come.
pub(crate) fn next_until(io: &mut impl Io, end: Instant) -> Told {
    loop {
        if let Some(event) = io.next_event() {
            return match event {
                Event::Connected(id) => Told::Connected(id),
                Event::Received(id, bytes) => Told::Received(id, bytes.to_vec()),
                Event::Closed(id, how) => Told::Closed(id, how),
                Event::Accepted(_) => unreachable!("nobody listens"),
            };
        }
        if end <= io.now() {
            return Told::Nothing;
        }
        io.wait(end);
    }
}

pub(crate) fn next(io: &mut impl Io) -> Told {
    next_until(io, clock::now() + LONG)
}

/// Nothing comes for a while.
fn expect_nothing(io: &mut impl Io) {
    assert_eq!(next_until(io, clock::now() + Nanos::from_millis(30)), Told::Nothing);
}

/// All bytes of a connection, at least so many.
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

/// The other end of the next connection. It does not wait for ever, so that a test fails.
fn accept(listener: &TcpListener) -> TcpStream {
    let peer = listener.accept().unwrap().0;
    peer.set_read_timeout(Some(LONG.into())).unwrap();
    peer.set_write_timeout(Some(LONG.into())).unwrap();
    peer
}

/// Ends a connection as a process does that dies with bytes unread.
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
        let mut heard = [0; 5];
        peer.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
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
    let mut heard = [0; 5];
    peer.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"hello");
}

fn what_a_turn_sends_arrives_in_order_whichever_the_connections<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    // More than any queue holds at once.
    let mut peers: Vec<_> = (0..300).map(|_| connected(&mut io)).collect();
    for round in 0..10u8 {
        for (id, _) in &peers {
            io.send(*id, &[round; 100]);
        }
    }
    io.wait(clock::now());
    let expected: Vec<u8> = (0..10).flat_map(|round| [round; 100]).collect();
    for (id, peer) in &mut peers {
        let mut heard = vec![0; expected.len()];
        peer.read_exact(&mut heard).unwrap();
        assert_eq!(heard, expected);
        assert!(io.is_flushed(*id));
    }
}

fn what_the_kernel_does_not_take_at_once_is_sent_later<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    // Each byte differs from its neighbours, so that no other order has the same bytes.
    let much: Vec<u8> =
        (0..20_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (first, rest) = much.split_at(5_000_000);
    io.send(id, first);
    io.wait(clock::now());
    assert!(!io.is_flushed(id), "no kernel takes so much");
    io.send(id, rest);
    let expected = much.clone();
    let reader = std::thread::spawn(move || {
        let mut heard = vec![0; expected.len()];
        peer.read_exact(&mut heard).unwrap();
        assert!(heard == expected, "all of it in its order");
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
    // It fills whatever there is to fill meanwhile.
    clock::sleep_until(clock::now() + Nanos::from_millis(50));
    let mut all = Vec::new();
    let end = clock::now() + LONG * 3;
    while all.len() < much.len() && clock::now() < end {
        io.wait(end);
        while let Some(event) = io.next_event() {
            match event {
                Event::Received(from, bytes) if from == id => all.extend_from_slice(bytes),
                // He is gone once all is sent.
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
        let mut heard: Vec<_> = (0..peers.len()).map(|_| next(&mut io)).collect();
        heard.sort_by_key(|told| format!("{told:?}"));
        let mut expected: Vec<_> =
            peers.iter().map(|(id, _)| Told::Received(*id, vec![round])).collect();
        expected.sort_by_key(|told| format!("{told:?}"));
        assert_eq!(heard, expected);
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
    // Whoever takes the socket's number may not get its bytes.
    let (other, mut stranger) = connected(&mut io);
    expect_nothing(&mut io);
    let mut heard = Vec::new();
    peer.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, b"hello");
    io.close(other);
    io.wait(clock::now());
    heard.clear();
    stranger.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, b"");
}

fn who_closes_in_order_is_told_after_what_he_sent<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    peer.write_all(b"so long").unwrap();
    // He may still listen.
    peer.shutdown(Shutdown::Write).unwrap();
    assert_eq!(bytes(&mut io, id, 7), b"so long");
    assert_eq!(next(&mut io), Told::Closed(id, Closed::ByPeer));
    expect_nothing(&mut io);
}

fn a_reset_is_told_as_such<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, peer) = connected(&mut io);
    reset(peer);
    assert_eq!(next(&mut io), Told::Closed(id, Closed::Reset));
    expect_nothing(&mut io);
}

fn a_connection_that_broke_takes_nothing_more_and_is_told<I: Io>(
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
    // The next use of the name knows nothing of it.
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
    let mut heard = [0; 5];
    peer.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"hello");
}

fn a_refused_connection_is_told_as_such<I: Io>(open: impl Fn(Timer) -> Option<I>) {
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

fn what_this_machine_cannot_connect_is_no_fault_of_the_peer<I: Io>(
    open: impl Fn(Timer) -> Option<I>,
) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (_listener, address) = listen();
    // An address of nobody (RFC 5737).
    let source = Some("192.0.2.1".parse().unwrap());
    let id = io.connect(&Endpoint { source, ..address.clone() });
    assert_eq!(next(&mut io), Told::Closed(id, Closed::Exhausted));
    let id = io.connect(&address);
    assert_eq!(next(&mut io), Told::Connected(id));
}

fn a_socket_in_the_file_system_is_as_good<I: Io>(open: impl Fn(Timer) -> Option<I>) {
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
    let mut heard = [0; 5];
    peer.read_exact(&mut heard).unwrap();
    peer.write_all(&heard).unwrap();
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

fn nothing_follows_a_close_and_the_name_is_used_again<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (id, mut peer) = connected(&mut io);
    // It is there, it was even found; but nobody has taken it yet.
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
    // He hears of the end at once: a reset, as what he sent was not read.
    assert!(!matches!(peer.read(&mut [0; 9]), Ok(1..)));
    expect_nothing(&mut io);
}

fn an_attempt_can_be_given_up<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (listener, address) = listen();
    let id = io.connect(&address);
    io.close(id);
    // The second one is given up after the kernel has heard of it.
    assert_eq!(io.connect(&address), id);
    io.wait(clock::now());
    io.close(id);
    expect_nothing(&mut io);
    for _ in 0..2 {
        let mut peer = accept(&listener);
        assert_eq!(peer.read(&mut [0; 9]).unwrap(), 0);
    }
}

fn what_is_dropped_closes_its_connections<I: Io>(open: impl Fn(Timer) -> Option<I>) {
    let Some(mut io) = open(Timer::Sleep) else { return };
    let (_, mut peer) = connected(&mut io);
    drop(io);
    assert_eq!(peer.read(&mut [0; 9]).unwrap(), 0);
}

/// Only by bounds that a stalled machine cannot break: it is never early.
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
        // What is sent leaves before the sleep, or there would be no answer.
        assert_eq!(next(&mut io), Told::Received(id, b"!".to_vec()));
        answers.join().unwrap();
    }
}

#[test]
fn an_error_says_who_is_to_blame_for_it() {
    for (error, how) in [
        (libc::EMFILE, Closed::Exhausted),
        (libc::EADDRNOTAVAIL, Closed::Exhausted),
        (libc::ECONNREFUSED, Closed::Refused),
        (libc::ETIMEDOUT, Closed::Unreachable),
    ] {
        assert_eq!(socket::why_not_connected(error), how);
    }
}
