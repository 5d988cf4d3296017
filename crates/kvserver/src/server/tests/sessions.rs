//! Sessions that outlive their connections.

use super::*;

fn resume(server: &Server, session: u64) -> Client {
    Client::greet(server, &Hello { session: Some(session), ..HELLO })
}

#[test]
fn a_repeated_batch_is_answered_and_not_executed_again() {
    let server = serve(2);
    let mut client = Client::greet(&server, &HELLO);
    let session = client.session;
    assert_eq!(client.fixed(&[ADD_1; 2]).1, [1, 2]);
    assert_eq!(client.fixed(&[ADD_1; 3]).1, [3, 4, 5]);
    drop(client);
    let mut client = resume(&server, session);
    assert_eq!((client.session, client.next), (session, 6));
    // Both are repeated: the client has seen neither reply.
    client.next = 1;
    assert_eq!(client.fixed(&[ADD_1; 2]).1, [1, 2]);
    assert_eq!(client.fixed(&[ADD_1; 3]).1, [3, 4, 5]);
    assert_eq!(client.fixed(&[ADD_1; 1]).1, [6]);
    let repeated = |shard: usize| server.counts(shard).of(Counted::Repeated);
    assert_eq!(repeated(0) + repeated(1), 2);
}

#[test]
fn a_connection_that_nobody_ended_makes_way_for_the_next_one() {
    let server = serve(2);
    for shards in [(0, 0), (0, 1), (1, 0)] {
        let mut old = Client::greet(&server, &Hello { shard: Some(shards.0), ..HELLO });
        old.fixed(&[ADD_1]);
        let hello = Hello { session: Some(old.session), shard: Some(shards.1), ..HELLO };
        let mut new = Client::greet(&server, &hello);
        assert_eq!((new.session, new.next), (old.session, 2));
        assert_eq!(old.receive(), Told::Error(Code::Resumed, 0));
        new.fixed(&[ADD_1]);
    }
}

#[test]
fn an_unknown_session_is_never_begun_in_silence() {
    let server = serve(1);
    let mut client = Client::connect(&server);
    client.send(&greeting(&Hello { session: Some(77), ..HELLO }));
    assert_eq!(client.receive(), Told::Error(Code::SessionUnknown, 0));
    assert_eq!(client.receive(), Told::Ended);
}

#[test]
fn a_session_keeps_the_replies_of_its_pipeline() {
    let server = serve(1);
    let mut client = Client::greet(&server, &Hello { pipeline: 2, ..HELLO });
    (0..3).for_each(|_| drop(client.fixed(&[ADD_1])));
    client.next = 2;
    assert_eq!(client.fixed(&[ADD_1]).1, [2]);
    client.next = 1;
    client.begin(&[ADD_1]);
    assert_eq!(client.receive(), Told::Error(Code::ReplyGone, 16));
}

#[test]
fn a_repeated_batch_of_long_values_has_the_same_replies() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    let value = vec![7; 100_000];
    client.sized(&[upsert(b"long", &value)]);
    let reads = [read(b"long"); 5];
    let first = client.sized(&reads);
    assert_eq!(first.1, vec![value; 5]);
    client.next -= 5;
    assert_eq!(client.sized(&reads), first);
}

#[test]
fn a_batch_whose_connection_breaks_is_executed_as_a_whole() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    client.sized(&[upsert(b"long", &vec![7; 1 << 20])]);
    // 40 MiB of values that nobody reads, and an addition behind them.
    let mut items = vec![read(b"long"); 40];
    let one = 1u64.to_le_bytes();
    items.push(Item { opcode: Opcode::Add, value: &one, ..read(b"number") });
    client.send(&sized(2, &items));
    let session = client.session;
    while server.counts(0).of(Counted::Paused) == 0 {
        std::thread::yield_now();
    }
    drop(client);
    let mut client = resume(&server, session);
    assert_eq!(client.next, 43);
    let (_, values) = client.sized(&[read(b"number")]);
    assert_eq!(values, [one.to_vec()]);
}

#[test]
fn checksums_may_change_between_the_connections_of_a_session() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    let session = client.session;
    assert_eq!(client.fixed(&[ADD_1]).1, [1]);
    drop(client);
    let hello = Hello { session: Some(session), checksums: Checksums::Off, ..HELLO };
    let mut client = Client::greet(&server, &hello);
    client.decoder.agree(Checksums::Off);
    let mut frame = fixed(1, &[ADD_1]);
    frame[28..32].fill(0);
    client.send(&frame);
    assert_eq!(client.receive(), Told::Fixed(1, vec![0], vec![1]));
}
