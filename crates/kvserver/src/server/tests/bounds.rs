//! Peers that are slow, that do not read, and that are many.

use super::*;
use crate::bounds::{MOST_CONNECTIONS, MOST_WAITING};

#[test]
fn a_peer_that_does_not_read_is_not_read_and_gets_all_replies_later() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    client.sized(&[upsert(b"long", &vec![7; 100_000])]);
    let batches = 100;
    let writer = client.socket.try_clone().unwrap();
    let first = client.next;
    let thread = std::thread::spawn(move || {
        let mut writer = writer;
        for batch in 0..batches {
            writer.write_all(&sized(first + 10 * batch, &[read(b"long"); 10])).unwrap();
        }
    });
    while server.counts(0).of(Counted::Paused) == 0 {
        std::thread::yield_now();
    }
    // Another client is served meanwhile.
    let mut other = Client::greet(&server, &HELLO);
    for sum in 1..100 {
        assert_eq!(other.fixed(&[ADD_1]).1, [sum]);
    }
    // Only what fits into the buffers of both sockets was executed, and what may wait.
    let executed = server.counts(0).operations(Opcode::Read, Status::Ok);
    assert!(executed < 10 * batches, "{executed}");
    let mut received = 0;
    while received < 10 * batches {
        match client.receive() {
            Told::Reply(serial, statuses, values) => {
                assert_eq!(serial, first + received);
                assert!(values.iter().all(|value| value.len() == 100_000));
                received += statuses.len() as u64;
            }
            other => panic!("{other:?}"),
        }
    }
    thread.join().unwrap();
}

#[test]
fn a_batch_of_more_than_may_wait_has_several_replies() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    let value = vec![7; 1 << 20];
    client.sized(&[upsert(b"long", &value)]);
    let (statuses, values) = client.sized(&[read(b"long"); 20]);
    assert_eq!(statuses, [Status::Ok; 20]);
    assert!(values.iter().all(|read| *read == value));
    assert!(20 * value.len() > 10 * MOST_WAITING);
    // It is read again afterwards.
    assert_eq!(client.sized(&[read(b"none")]).0, [Status::NotFound]);
}

#[test]
fn connections_leave_files_to_the_store() {
    assert_eq!(connections(20_000, 2), Some(MOST_CONNECTIONS));
    assert_eq!(connections(1024, 2), Some(380));
    assert_eq!(connections(u64::MAX, 1), Some(MOST_CONNECTIONS));
    assert_eq!([connections(22, 8), connections(0, 1)], [None, None]);
}

#[test]
fn connections_beyond_the_bound_take_the_place_of_those_without_a_session() {
    net::process::raise_open_files();
    let server = serve(1);
    let mut witness = Client::greet(&server, &HELLO);
    let mut clients = Vec::new();
    while clients.len() < MOST_CONNECTIONS - 1 {
        clients.push(TcpStream::connect(server.address()).expect("two descriptors are free"));
    }
    while server.counts(0).of(Counted::Accepted) < MOST_CONNECTIONS as u64 {
        std::thread::yield_now();
    }
    // The oldest of those that have no session makes room, and who greets is served.
    Client::greet(&server, &HELLO).fixed(&[ADD_1]);
    let mut refused = Client::of(clients.remove(0));
    assert_eq!(refused.receive(), Told::Error(Code::Busy, 0));
    assert_eq!(refused.receive(), Told::Ended);
    assert_eq!(server.counts(0).of(Counted::Refused), 1);
    witness.fixed(&[ADD_1]);
    drop(clients);
    while server.counts(0).of(Counted::Closed) < MOST_CONNECTIONS as u64 - 1 {
        std::thread::yield_now();
    }
    Client::greet(&server, &HELLO).fixed(&[ADD_1]);
}

#[test]
fn a_greeting_that_is_not_complete_in_time_is_ended() {
    let server = serve(1);
    let hello = greeting(&HELLO);
    let mut slow: Vec<_> = [0, 1, 40]
        .map(|sent| {
            let mut client = Client::connect(&server);
            client.send(&hello[..sent]);
            client
        })
        .into();
    let mut witness = Client::greet(&server, &HELLO);
    for client in &mut slow {
        assert_eq!(client.receive(), Told::Error(Code::TooSlow, 0));
        assert_eq!(client.receive(), Told::Ended);
    }
    assert_eq!(server.counts(0).of(Counted::TooSlow), 3);
    // A connection with a session may be idle for any time.
    witness.fixed(&[ADD_1]);
}

#[test]
fn what_idle_connections_have_begun_to_send_is_bounded() {
    let server = serve(1);
    let mut frame = fixed(1, &[ADD_1]);
    frame[4..8].copy_from_slice(&(2u32 << 20).to_le_bytes());
    frame.resize((2 << 20) - 8, 0);
    // 100 MiB of beginnings of frames.
    let mut clients: Vec<_> = (0..50).map(|_| Client::greet(&server, &HELLO)).collect();
    for client in &mut clients {
        let _ = client.socket.write_all(&frame);
    }
    while server.counts(0).of(Counted::HeldTooMuch) == 0 {
        std::thread::yield_now();
    }
    Client::greet(&server, &HELLO).fixed(&[ADD_1]);
}
