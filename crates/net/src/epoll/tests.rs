//! Tests of what only epoll has; the rest is in `contract`.

use super::*;

const LOOPBACK: &str = "127.0.0.1:0";

/// Waits for an event, at most ten seconds, and returns it as text.
fn event(io: &mut Epoll) -> String {
    let end = clock::now() + Nanos::from_secs(10);
    loop {
        if let Some(event) = io.next_event() {
            return format!("{event:?}");
        }
        if end <= io.wait(end) && io.ready.is_empty() {
            return "nothing".into();
        }
    }
}

#[test]
fn a_listener_reports_connects_and_closes() {
    let mut server = Epoll::new(Timer::Sleep).unwrap();
    let address = server.listen(LOOPBACK.parse().unwrap()).unwrap().address;
    let mut client = Epoll::new(Timer::Sleep).unwrap();
    let id = client.connect(&address.into());
    assert_eq!(event(&mut client), format!("Connected({id:?})"));
    client.send(id, b"hello");
    assert_eq!(event(&mut server), "Accepted(ConnectionId(1))");
    assert_eq!(event(&mut server), "Received(ConnectionId(1), [104, 101, 108, 108, 111])");
    server.send(ConnectionId(1), b"!");
    assert_eq!(event(&mut client), format!("Received({id:?}, [33])"));
    client.close(id);
    assert_eq!(event(&mut server), "Closed(ConnectionId(1), ByPeer)");
}

#[test]
fn timestamps_show_how_long_an_answer_waited_to_be_read() {
    let mut server = Epoll::new(Timer::Sleep).unwrap();
    let address = server.listen(LOOPBACK.parse().unwrap()).unwrap().address;
    let mut client = match Epoll::new(Timer::Sleep).unwrap().with_kernel_timestamps() {
        Ok(client) => client,
        // Where the kernel refuses it, the refusal has to have a code; nothing can be measured.
        Err(error) => return assert!(error.raw_os_error().is_some(), "{error}"),
    };
    let id = client.connect(&address.into());
    event(&mut client);
    client.send(id, b"hello");
    event(&mut server);
    event(&mut server);
    // The kernel takes a moment to begin stamping.
    let pause = Nanos::from_millis(20);
    let stamped = (0..100).any(|_| {
        server.send(ConnectionId(1), b"!");
        clock::sleep_until(clock::now() + pause);
        assert_eq!(event(&mut client), format!("Received({id:?}, [33])"));
        client.receive_delays().unwrap().count() == 2
    });
    assert!(stamped, "two of a hundred are stamped");
    let delays = client.receive_delays().unwrap();
    // Minus a little, since two clocks are not read at the same moment.
    let least = pause.saturating_sub(Nanos::from_millis(1));
    assert!(least <= delays.min().unwrap(), "{:?}", delays.min());
    assert!(delays.max().unwrap() < Nanos::from_secs(10), "{:?}", delays.max());
    client.count_receive_delays(Instant::NEVER, Instant::NEVER);
    server.send(ConnectionId(1), b"!");
    event(&mut client);
    assert_eq!(client.receive_delays().unwrap().count(), 0, "it does not count yet");
}

#[test]
fn a_listener_learns_when_the_kernel_received_late_read_bytes() {
    let mut server = match Epoll::new(Timer::Sleep).unwrap().with_kernel_timestamps() {
        Ok(server) => server,
        Err(error) => return assert!(error.raw_os_error().is_some(), "{error}"),
    };
    let address = server.listen(LOOPBACK.parse().unwrap()).unwrap().address;
    let mut client = Epoll::new(Timer::Sleep).unwrap();
    let id = client.connect(&address.into());
    event(&mut client);
    assert_eq!(event(&mut server), "Accepted(ConnectionId(1))");
    // The kernel takes a moment to begin stamping.
    let stamped = (0..100).find_map(|_| {
        let sent = clock::now();
        client.send(id, b"?");
        clock::sleep_until(sent + Nanos::from_millis(20));
        server.wait(clock::now() + Nanos::from_secs(10));
        let (event, stamp) = server.next_stamped().unwrap();
        assert!(matches!(event, Event::Received(..)), "{event:?}");
        stamp.map(|stamp| (sent, stamp, clock::now()))
    });
    let (sent, stamp, read) = stamped.expect("one of a hundred is stamped");
    // Plus or minus a little, since two clocks are not read at the same moment.
    let little = Nanos::from_millis(1);
    assert!(sent <= stamp + little, "{sent:?}, {stamp:?}");
    assert!(Nanos::from_millis(10) < read.saturating_since(stamp), "{stamp:?}, {read:?}");
}

/// A listener's connection: the server's id, the client, and the client's id.
fn connected(server: &mut Epoll) -> (ConnectionId, Epoll, ConnectionId) {
    let address = server.listen(LOOPBACK.parse().unwrap()).unwrap().address;
    let mut client = Epoll::new(Timer::Sleep).unwrap();
    let id = client.connect(&address.into());
    assert_eq!(event(&mut client), format!("Connected({id:?})"));
    assert_eq!(event(server), "Accepted(ConnectionId(1))");
    (ConnectionId(1), client, id)
}

/// Waits for a moment in which nothing happens.
fn expect_nothing(io: &mut Epoll) {
    let end = clock::now() + Nanos::from_millis(30);
    while io.wait(end) < end {
        assert_eq!(io.next_event(), None);
    }
    assert_eq!(io.next_event(), None);
}

#[test]
fn a_paused_connection_is_not_read_and_still_sends() {
    let mut server = Epoll::new(Timer::Sleep).unwrap();
    let (own, mut client, id) = connected(&mut server);
    server.pause(own);
    client.send(id, b"hello");
    expect_nothing(&mut server);
    server.send(own, b"!");
    assert_eq!(event(&mut client), format!("Received({id:?}, [33])"));
    server.resume(own);
    assert_eq!(event(&mut server), format!("Received({own:?}, [104, 101, 108, 108, 111])"));
    server.pause(own);
    client.close(id);
    expect_nothing(&mut server);
    server.resume(own);
    assert_eq!(event(&mut server), format!("Closed({own:?}, ByPeer)"));
}

#[test]
fn what_a_paused_connection_could_not_send_leaves_when_the_peer_reads() {
    let mut server = Epoll::new(Timer::Sleep).unwrap();
    let (own, mut client, id) = connected(&mut server);
    server.pause(own);
    let much = vec![7; 20_000_000];
    server.send(own, &much);
    assert!(!server.is_flushed(own), "no socket takes so much at once");
    assert!((1..much.len()).contains(&server.unsent(own)));
    let mut received = 0;
    while received < much.len() {
        client.wait(clock::now() + Nanos::from_millis(1));
        while let Some(event) = client.next_event() {
            let Event::Received(_, bytes) = event else { panic!("{event:?}") };
            received += bytes.len();
        }
        server.wait(clock::now() + Nanos::from_millis(1));
        assert_eq!(server.next_event(), None);
    }
    assert!(server.is_flushed(own) && server.unsent(own) == 0);
    client.send(id, b"!");
    server.resume(own);
    assert_eq!(event(&mut server), format!("Received({own:?}, [33])"));
}

#[test]
fn a_connection_that_is_given_away_goes_on_elsewhere() {
    let mut server = Epoll::new(Timer::Sleep).unwrap();
    let (own, mut client, id) = connected(&mut server);
    client.send(id, b"hello");
    let connection = server.give_away(own);
    expect_nothing(&mut server);
    let mut other = Epoll::new(Timer::Sleep).unwrap();
    let own = other.adopt(connection).unwrap();
    assert_eq!(event(&mut other), format!("Received({own:?}, [104, 101, 108, 108, 111])"));
    other.send(own, b"!");
    assert_eq!(event(&mut client), format!("Received({id:?}, [33])"));
    client.send(id, b"?");
    drop(server);
    assert_eq!(event(&mut other), format!("Received({own:?}, [63])"));
}

#[test]
fn a_connection_that_has_ended_sending_is_still_read() {
    let mut server = Epoll::new(Timer::Sleep).unwrap();
    let (own, mut client, id) = connected(&mut server);
    client.send(id, b"hello");
    server.end_sending(own);
    assert_eq!(event(&mut client), format!("Closed({id:?}, ByPeer)"));
    assert_eq!(event(&mut server), format!("Received({own:?}, [104, 101, 108, 108, 111])"));
    assert_eq!(event(&mut server), format!("Closed({own:?}, ByPeer)"));
}

#[test]
fn another_thread_ends_a_wait() {
    let mut io = Epoll::new(Timer::Sleep).unwrap();
    let waker = io.waker().unwrap();
    for _ in 0..3 {
        let end = clock::now() + Nanos::from_secs(10);
        let thread = std::thread::spawn({
            let waker = waker.clone();
            move || waker.wake()
        });
        while io.next_event().is_none() && io.wait(end) < end && io.ready.is_empty() {}
        assert!(clock::now() < end);
        thread.join().unwrap();
        io.wait(clock::now());
    }
}
