use super::*;

/// Echoes what it receives a microsecond later, and closes the connection a second later. The
/// network takes each send after a millisecond.
struct Echo;

impl Peer for Echo {
    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        effects.push((now + Nanos::SECOND, Effect::Closed(connection, Closed::ByPeer)));
        effects.push((now + Nanos::from_micros(1), Effect::Bytes(connection, bytes.to_vec())));
    }

    fn taken(&mut self, _connection: ConnectionId, _bytes: &[u8], now: Instant) -> Instant {
        now + Nanos::from_millis(1)
    }
}

fn connected() -> (Simulation<Echo>, ConnectionId) {
    let mut world = Simulation::new(Echo);
    let to: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
    let id = world.connect(&to.into());
    world.wait(Instant::NEVER);
    assert_eq!(world.next_event(), Some(Event::Connected(id)));
    (world, id)
}

#[test]
fn effects_come_at_their_time_and_not_before() {
    let (mut world, id) = connected();
    world.send(id, b"hello");
    assert_eq!(world.next_event(), None);
    assert_eq!(world.wait(Instant(10)), Instant(10));
    assert_eq!(world.next_event(), None);
    assert_eq!(world.wait(Instant::NEVER), Instant(1_000));
    assert_eq!(world.next_event(), Some(Event::Received(id, b"hello")));
    assert!(!world.is_flushed(id));
    assert_eq!(world.wait(Instant::NEVER), Instant(1_000_000_000));
    assert!(world.is_flushed(id));
    assert_eq!(world.next_event(), Some(Event::Closed(id, Closed::ByPeer)));
}

#[test]
fn effects_on_a_closed_connection_do_not_reach_the_next_with_its_id() {
    let (mut world, id) = connected();
    world.send(id, b"hello");
    world.close(id);
    let to: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
    assert_eq!(world.connect(&to.into()), id);
    world.wait(Instant::NEVER);
    assert_eq!(world.next_event(), Some(Event::Connected(id)));
    assert_eq!(world.wait(Instant(2_000_000_000)), Instant(1_000));
    assert_eq!(world.next_event(), None);
}

#[test]
fn calls_take_their_cost() {
    let mut world = Simulation::new(Echo).with_call_cost(Nanos(7));
    assert_eq!((world.now(), world.now()), (Instant(7), Instant(14)));
    assert_eq!(world.wait(Instant(10)), Instant(14));
}
