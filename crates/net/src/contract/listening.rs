//! The contract of listening. Both ends of each connection are on the same implementation.

use std::collections::BTreeMap;

use super::*;
use crate::Listener;

macro_rules! contract {
    ($($test:ident)*) => {
        mod over_epoll {
            $(#[test] fn $test() { super::$test(super::epoll(Timer::Sleep)) })*
            use super::Timer;
        }
        mod over_uring {
            $(#[test] fn $test() { super::$test(super::uring(stringify!($test), Timer::Sleep)) })*
            use super::Timer;
        }
        mod over_simulation {
            $(#[test] fn $test() { super::$test(Some(super::simulation())) })*
        }
        mod over_a_simulation_that_holds_back {
            $(#[test] fn $test() { super::$test(Some(super::simulation().holding_back())) })*
        }
    };
}

contract! {
    a_listener_reports_connections_and_what_they_send
    all_that_connect_at_once_are_accepted
    much_goes_both_ways_in_order
    every_listener_accepts
    a_connection_that_has_left_is_accepted_and_then_closed
    a_connection_can_be_closed_when_it_is_accepted
    a_closed_listener_refuses_and_its_connections_go_on
    what_waits_when_the_listener_is_closed_is_not_accepted
    an_address_has_one_listener
    what_is_sent_before_the_connection_is_open_arrives
    no_event_follows_a_close
    a_wait_without_events_lasts_until_its_time
}

fn listen_on(io: &mut impl Io) -> Listener {
    let listener = io.listen(LOOPBACK.parse().unwrap()).unwrap();
    assert_ne!(listener.address.port(), 0);
    listener
}

/// A connection to a listener: its own end, and the accepted one.
fn connected_to(io: &mut impl Io, listener: Listener) -> (ConnectionId, ConnectionId) {
    let id = io.connect(&listener.address.into());
    match (next(io), next(io)) {
        (Told::Connected(own), Told::Accepted(other))
        | (Told::Accepted(other), Told::Connected(own))
            if own == id =>
        {
            (own, other)
        }
        others => panic!("{others:?}"),
    }
}

fn a_listener_reports_connections_and_what_they_send(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let (client, server) = connected_to(&mut io, listener);
    for _ in 0..3 {
        io.send(client, b"hello");
        assert_eq!(bytes(&mut io, server, 5), b"hello");
        io.send(server, b"!");
        assert_eq!(next(&mut io), Told::Received(client, b"!".to_vec()));
        assert!(io.is_flushed(client) && io.is_flushed(server));
    }
    io.send(client, b"so long");
    io.close(client);
    assert_eq!(bytes(&mut io, server, 7), b"so long");
    assert_eq!(next(&mut io), Told::Closed(server, Closed::ByPeer));
    expect_nothing(&mut io);
}

fn all_that_connect_at_once_are_accepted(io: Option<impl Io>) {
    const COUNT: usize = 500;
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let clients: Vec<_> = (0..COUNT).map(|_| io.connect(&listener.address.into())).collect();
    let (mut connected, mut servers) = (Vec::new(), Vec::new());
    while connected.len() < COUNT || servers.len() < COUNT {
        match next(&mut io) {
            Told::Connected(id) => connected.push(id),
            Told::Accepted(id) => servers.push(id),
            other => panic!("{other:?}"),
        }
    }
    connected.sort();
    assert!(connected == clients && servers.iter().all(|id| !clients.contains(id)));
    // Each accepted connection is the other end of one of them.
    for &id in &clients {
        io.send(id, &id.0.to_le_bytes());
    }
    let mut received: BTreeMap<ConnectionId, Vec<u8>> = BTreeMap::new();
    while received.values().map(Vec::len).sum::<usize>() < 4 * COUNT {
        match next(&mut io) {
            Told::Received(id, bytes) => received.entry(id).or_default().extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    let mut sent: Vec<_> = clients.iter().map(|id| id.0.to_le_bytes().to_vec()).collect();
    let mut arrived: Vec<_> = received.values().cloned().collect();
    sent.sort();
    arrived.sort();
    assert_eq!(sent, arrived);
    servers.sort();
    assert!(received.keys().eq(&servers));
}

fn much_goes_both_ways_in_order(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let (client, server) = connected_to(&mut io, listener);
    let much: Vec<u8> =
        (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    io.send(client, &much);
    let (mut there, mut back) = (Vec::new(), Vec::new());
    while back.len() < much.len() {
        match next(&mut io) {
            Told::Received(id, bytes) if id == server => {
                io.send(server, &bytes);
                there.extend(bytes);
            }
            Told::Received(id, bytes) if id == client => back.extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    assert!(there == much && back == much);
}

fn every_listener_accepts(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listeners = [listen_on(&mut io), listen_on(&mut io)];
    assert_ne!(listeners[0].address, listeners[1].address);
    for listener in listeners.into_iter().chain(listeners) {
        let (client, server) = connected_to(&mut io, listener);
        io.close(server);
        assert_eq!(next(&mut io), Told::Closed(client, Closed::ByPeer));
    }
}

fn a_connection_that_has_left_is_accepted_and_then_closed(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let client = io.connect(&listener.address.into());
    io.close(client);
    let Told::Accepted(server) = next(&mut io) else { panic!("it is accepted") };
    assert_eq!(next(&mut io), Told::Closed(server, Closed::ByPeer));
    expect_nothing(&mut io);
}

fn a_connection_can_be_closed_when_it_is_accepted(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    for _ in 0..3 {
        let client = io.connect(&listener.address.into());
        let (mut accepted, mut closed) = (0, 0);
        while closed == 0 {
            match next(&mut io) {
                Told::Accepted(id) => {
                    accepted += 1;
                    io.close(id);
                }
                Told::Closed(id, Closed::ByPeer) if id == client => closed += 1,
                Told::Connected(id) if id == client => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(accepted, 1);
    }
    expect_nothing(&mut io);
}

fn a_closed_listener_refuses_and_its_connections_go_on(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let (client, server) = connected_to(&mut io, listener);
    io.close(listener.id);
    let refused = io.connect(&listener.address.into());
    assert_eq!(next(&mut io), Told::Closed(refused, Closed::Refused));
    io.send(server, b"still here");
    assert_eq!(bytes(&mut io, client, 10), b"still here");
    expect_nothing(&mut io);
    assert_eq!(listen_on(&mut io).id, listener.id, "its id is used again");
}

fn what_waits_when_the_listener_is_closed_is_not_accepted(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let client = io.connect(&listener.address.into());
    io.close(listener.id);
    loop {
        match next(&mut io) {
            // Its end of the connection may have been open for a moment.
            Told::Connected(id) => assert_eq!(id, client),
            Told::Closed(id, _) => break assert_eq!(id, client),
            other => panic!("{other:?}"),
        }
    }
    expect_nothing(&mut io);
}

fn an_address_has_one_listener(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let again = io.listen(listener.address);
    assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    connected_to(&mut io, listener);
}

fn what_is_sent_before_the_connection_is_open_arrives(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let client = io.connect(&listener.address.into());
    io.send(client, b"hel");
    io.send(client, b"lo");
    let (mut connected, mut accepted, mut received) = (0, 0, Vec::new());
    while received.len() < 5 || connected == 0 {
        match next(&mut io) {
            Told::Connected(id) if id == client => connected += 1,
            Told::Accepted(_) => accepted += 1,
            Told::Received(_, bytes) if accepted == 1 => received.extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(received, b"hello");
    expect_nothing(&mut io);
}

fn no_event_follows_a_close(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    let listener = listen_on(&mut io);
    let (client, server) = connected_to(&mut io, listener);
    io.send(client, b"hello");
    // The bytes are found, but their event is not taken.
    let end = io.now() + LONG;
    assert!(io.wait(end) < end);
    io.close(server);
    // A reset, if a kernel knows that the bytes were not read.
    assert!(matches!(next(&mut io), Told::Closed(id, _) if id == client));
    expect_nothing(&mut io);
}

fn a_wait_without_events_lasts_until_its_time(io: Option<impl Io>) {
    let Some(mut io) = io else { return };
    listen_on(&mut io);
    for wait in [Nanos::ZERO, Nanos::from_micros(30), Nanos::from_millis(5)] {
        let until = io.now() + wait;
        let mut now = io.wait(until);
        while now < until {
            // A signal may end it early.
            now = io.wait(until);
        }
        assert!(until <= now && until <= io.now());
        assert_eq!(io.next_event(), None);
    }
}
