//! Servers on loopback, and clients that read and write frames.

mod bounds;
mod checkpoints;
mod cold;
mod refusals;
mod sessions;
mod witness;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use wire::kv::{
    Answer, Body, Checksums, Code, Completion, Decoder, Frame, Hello, Item, Kind, Opcode, Opening,
    Status, encode_hello, encode_item, encode_request_fixed,
};

use super::*;
use crate::counts::Counted;
use crate::session::VIEW;

fn options(shards: usize) -> Options {
    let address = "127.0.0.1:0".parse().unwrap();
    let connections = MOST_CONNECTIONS;
    let (token, folder, pinned) = (None, None, None);
    Options { address, id: 1, shards, connections, seed: 0, token, folder, pinned }
}

fn store() -> Store {
    let sizes =
        kv::Options { buckets: 4096, memory: 32 << 20, page: 4 << 20, ..kv::Options::default() };
    Store::open(sizes, &mut kv::storage::Nowhere).unwrap()
}

fn serve(shards: usize) -> Server {
    Server::start(options(shards), store()).unwrap()
}

/// Serves a store of this size whose files are in a folder.
fn serve_sized(folder: &Path, sizes: kv::Options, shards: usize) -> Server {
    let mut io = Epoll::new(Timer::Sleep).unwrap();
    let mut files = Folder::new(io.folder(folder).unwrap());
    let store = Store::open(sizes, &mut files.on(&mut io)).unwrap();
    let options = Options { folder: Some(folder.to_owned()), ..options(shards) };
    Server::start(options, store).unwrap()
}

const HELLO: Hello = Hello {
    versions: (1, 1),
    checksums: Checksums::On,
    pipeline: 4,
    shard: None,
    session: None,
    position: None,
};

/// A frame that was received.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Told {
    Welcome {
        session: u64,
        executed: u64,
        shard: u16,
        wants_proof: bool,
        nonce: [u8; 16],
    },
    /// Serial, statuses and values.
    Fixed(u64, Vec<u8>, Vec<u64>),
    /// Serial, statuses and values.
    Reply(u64, Vec<Status>, Vec<Vec<u8>>),
    WrongView(u32, u64),
    /// Serials, statuses and values.
    Completions(Vec<(u64, Status, Vec<u8>)>),
    Report(String),
    /// Through and except.
    Durable(u64, Vec<u64>),
    Error(Code, u32),
    Ended,
}

fn told(frame: &Frame<'_>) -> Told {
    let serial = frame.header.serial;
    match frame.body {
        Body::Welcome(welcome) => Told::Welcome {
            session: welcome.session,
            executed: welcome.executed,
            shard: welcome.shard,
            wants_proof: welcome.wants_proof,
            nonce: welcome.nonce,
        },
        Body::ReplyFixed(reply) => {
            Told::Fixed(serial, reply.statuses.to_vec(), reply.values().collect())
        }
        Body::Reply(answers) => {
            let (statuses, values) =
                answers.map(|Answer { status, value }| (status, value.to_vec())).unzip();
            Told::Reply(serial, statuses, values)
        }
        Body::Completions(completions) => {
            let told = |done: Completion<'_>| {
                (done.serial, done.answer.status, done.answer.value.to_vec())
            };
            Told::Completions(completions.map(told).collect())
        }
        Body::WrongView(_) => Told::WrongView(frame.header.view, serial),
        Body::Durable(durable) => {
            Told::Durable(durable.through, durable.except.serials().collect())
        }
        Body::Report(text) => Told::Report(text.to_owned()),
        Body::Error(error) => Told::Error(error.code, error.offset),
        _ => panic!("{frame:?}"),
    }
}

/// A client that blocks.
struct Client {
    socket: TcpStream,
    decoder: Decoder,
    received: Vec<u8>,
    /// The session, and the next serial.
    session: u64,
    next: u64,
}

impl Client {
    fn connect(server: &Server) -> Client {
        Client::of(TcpStream::connect(server.address()).unwrap())
    }

    fn of(socket: TcpStream) -> Client {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { socket, decoder: Decoder::default(), received: Vec::new(), session: 0, next: 1 }
    }

    /// Connects, and begins or resumes a session.
    fn greet(server: &Server, hello: &Hello) -> Client {
        let mut client = Client::connect(server);
        client.send(&greeting(hello));
        match client.receive() {
            Told::Welcome { session, executed, .. } => {
                (client.session, client.next) = (session, executed + 1);
                client
            }
            other => panic!("{other:?}"),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    fn receive(&mut self) -> Told {
        loop {
            let mut bytes = &self.received[..];
            let found = self.decoder.next(&mut bytes).unwrap().map(|frame| told(&frame));
            let taken = self.received.len() - bytes.len();
            self.received.drain(..taken);
            if let Some(found) = found {
                return found;
            }
            let mut buffer = [0; 65_536];
            match self.socket.read(&mut buffer) {
                Ok(0) => return Told::Ended,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Sends a batch of the session.
    fn begin(&mut self, ops: &[(Opcode, u64, Option<u64>)]) {
        let frame = fixed(self.next, ops);
        self.next += ops.len() as u64;
        self.send(&frame);
    }

    /// Sends a batch, and returns the statuses and values of its reply.
    fn fixed(&mut self, ops: &[(Opcode, u64, Option<u64>)]) -> (Vec<u8>, Vec<u64>) {
        let serial = self.next;
        self.begin(ops);
        match self.receive() {
            Told::Fixed(of, statuses, values) if of == serial => (statuses, values),
            other => panic!("{other:?}"),
        }
    }

    /// Sends a batch of additions, and returns the sums, also of those that were pending.
    fn sums(&mut self, ops: &[(Opcode, u64, Option<u64>)]) -> Vec<u64> {
        let first = self.next;
        let mut sums = vec![None; ops.len()];
        self.begin(ops);
        while sums.iter().any(Option::is_none) {
            match self.receive() {
                Told::Fixed(serial, statuses, values) => {
                    assert_eq!(serial, first);
                    let mut values = values.into_iter();
                    for (sum, status) in sums.iter_mut().zip(statuses) {
                        *sum = if status == 0 { values.next() } else { *sum };
                    }
                }
                Told::Completions(completions) => {
                    for (serial, status, value) in completions {
                        assert_eq!(status, Status::Ok);
                        let sum = u64::from_le_bytes(value.try_into().unwrap());
                        assert_eq!(sums[(serial - first) as usize].replace(sum), None);
                    }
                }
                Told::Durable(..) => {}
                other => panic!("{other:?}"),
            }
        }
        sums.into_iter().flatten().collect()
    }

    /// Sends a batch, and returns the statuses and values of all its replies.
    fn sized(&mut self, items: &[Item<'_>]) -> (Vec<Status>, Vec<Vec<u8>>) {
        let frame = sized(self.next, items);
        self.send(&frame);
        let (mut statuses, mut values) = (Vec::new(), Vec::new());
        while statuses.len() < items.len() {
            match self.receive() {
                Told::Reply(serial, more, of) if serial == self.next => {
                    self.next += more.len() as u64;
                    statuses.extend(more);
                    values.extend(of);
                }
                other => panic!("{other:?}"),
            }
        }
        (statuses, values)
    }
}

fn greeting(hello: &Hello) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_hello(hello, &mut bytes);
    bytes
}

fn fixed(serial: u64, ops: &[(Opcode, u64, Option<u64>)]) -> Vec<u8> {
    let opcodes: Vec<u8> = ops.iter().map(|(opcode, ..)| *opcode as u8).collect();
    let keys: Vec<u64> = ops.iter().map(|(_, key, _)| *key).collect();
    let values: Vec<u64> = ops.iter().filter_map(|(.., value)| *value).collect();
    let mut bytes = Vec::new();
    encode_request_fixed((VIEW, serial), &opcodes, &keys, &values, Checksums::On, &mut bytes);
    bytes
}

fn sized(serial: u64, items: &[Item<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let frame = Opening::begin(Kind::Request, VIEW, serial, Checksums::On, &mut bytes);
    items.iter().for_each(|item| encode_item(item, &mut bytes));
    frame.finish(items.len(), &mut bytes);
    bytes
}

fn read(key: &[u8]) -> Item<'_> {
    Item { opcode: Opcode::Read, offset: 0, length: 0, key, value: b"" }
}

fn upsert<'a>(key: &'a [u8], value: &'a [u8]) -> Item<'a> {
    Item { opcode: Opcode::Upsert, value, ..read(key) }
}

const ADD_1: (Opcode, u64, Option<u64>) = (Opcode::Add, 1, Some(1));

#[test]
fn batches_are_executed_in_order_and_counted() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    let ops = [
        (Opcode::Add, 1, Some(5)),
        (Opcode::Read, 1, None),
        (Opcode::Read, 2, None),
        (Opcode::Upsert, 2, Some(7)),
        (Opcode::Delete, 1, None),
    ];
    assert_eq!(client.fixed(&ops), (vec![0, 0, 1, 0, 0], vec![5, 5]));
    // The same keys in the other form.
    let two = 2u64.to_le_bytes();
    let (statuses, values) = client.sized(&[read(&two), upsert(b"name", b"value"), read(b"name")]);
    assert_eq!(statuses, [Status::Ok; 3]);
    assert_eq!(values, [7u64.to_le_bytes().to_vec(), vec![], b"value".to_vec()]);
    let counts = server.counts(0);
    assert_eq!((counts.of(Counted::Batches), counts.of(Counted::Accepted)), (2, 1));
    assert_eq!(counts.operations(Opcode::Read, Status::Ok), 3);
    assert_eq!(counts.operations(Opcode::Read, Status::NotFound), 1);
    assert_eq!(counts.operations(Opcode::Delete, Status::Ok), 1);
}

#[test]
fn the_additions_of_many_clients_are_each_executed_once() {
    let server = serve(2);
    let additions = [ADD_1; 100];
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut client = Client::greet(&server, &HELLO);
            std::thread::spawn(move || {
                (0..50).flat_map(|_| client.fixed(&additions).1).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut sums: Vec<u64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    sums.sort_unstable();
    assert!(sums.into_iter().eq(1..=20_000));
}

#[test]
fn a_pipeline_is_answered_in_order() {
    let server = serve(1);
    let mut client = Client::greet(&server, &HELLO);
    for _ in 0..50 {
        (0..4).for_each(|_| client.begin(&[ADD_1; 1925]));
        for batch in 0..4 {
            let serial = client.next - (4 - batch) * 1925;
            let Told::Fixed(of, statuses, values) = client.receive() else { panic!() };
            assert_eq!((of, statuses.len(), values[0]), (serial, 1925, serial));
        }
    }
}

#[test]
fn a_connection_goes_to_the_shard_that_it_asks_for() {
    let server = serve(3);
    for shard in [0, 1, 2, 5] {
        let mut client = Client::connect(&server);
        // What is sent behind the HELLO goes with it.
        let hello = greeting(&Hello { shard: Some(shard), ..HELLO });
        client.send(&[hello, fixed(1, &[ADD_1])].concat());
        let Told::Welcome { shard: owner, .. } = client.receive() else { panic!() };
        assert_eq!(u32::from(owner), shard % 3);
        assert!(matches!(client.receive(), Told::Fixed(1, ..)));
        assert_eq!(
            server.counts(shard as usize % 3).of(Counted::Batches),
            1 + u64::from(shard == 5)
        );
    }
}

#[test]
fn without_a_wish_connections_are_spread() {
    let server = serve(2);
    let clients: Vec<_> = (0..6).map(|_| Client::greet(&server, &HELLO)).collect();
    let open = |shard: usize| {
        let counts = server.counts(shard);
        counts.of(Counted::Accepted) - counts.of(Counted::Closed)
    };
    assert_eq!((open(0), open(1)), (3, 3));
    drop(clients);
}

#[test]
fn an_operator_reads_the_statistics() {
    let server = serve(2);
    let mut client = Client::greet(&server, &HELLO);
    client.fixed(&[ADD_1; 3]);
    let text = crate::operator::ask(server.address(), wire::kv::Verb::Stats, None).unwrap();
    assert!(text.contains("\"operations\":{\"ADD.OK\":3}"), "{text}");
}

#[test]
fn what_became_of_pinned_interrupts_is_part_of_the_statistics() {
    let pinned = Some("{\"wanted\":1}".to_owned());
    let server = Server::start(Options { pinned, ..options(1) }, store()).unwrap();
    let text = server.statistics();
    assert!(text.ends_with("},\"pin_irq\":{\"wanted\":1}}"), "{text}");
    assert!(!serve(1).statistics().contains("pin_irq"));
}

#[test]
fn an_operator_doubles_the_index_while_clients_add() {
    let server = serve(2);
    let is_growing = |text: &str| text.contains("\"growing\":true");
    let stats = || crate::operator::ask(server.address(), wire::kv::Verb::Stats, None).unwrap();
    assert!(stats().contains("\"index\":{\"buckets\":4096,\"growing\":false,"), "{}", stats());
    let mut client = Client::greet(&server, &HELLO);
    let ops: Vec<_> = (0..1000).map(|key| (Opcode::Add, key, Some(1))).collect();
    client.sums(&ops);
    let answer = crate::operator::ask(server.address(), wire::kv::Verb::Grow, None).unwrap();
    assert_eq!(answer, "{\"schema\":\"benchwright.kv-grow/1\"}");
    let mut rounds = 1;
    while rounds < 3 || is_growing(&stats()) {
        rounds += 1;
        assert_eq!(client.sums(&ops), vec![rounds; 1000]);
    }
    assert!(stats().contains("\"buckets\":8192,\"growing\":false"), "{}", stats());
    (0..5).for_each(|_| {
        crate::operator::ask(server.address(), wire::kv::Verb::Grow, None).unwrap();
        // Another one may be asked for at once: the smallest slices are doubled.
        while is_growing(&stats()) {}
    });
    let refused = crate::operator::ask(server.address(), wire::kv::Verb::Grow, None).unwrap_err();
    assert!(refused.to_string().starts_with("the server refuses"), "{refused}");
    assert_eq!(client.sums(&ops), vec![rounds + 1; 1000]);
}

#[test]
fn a_server_that_ends_answers_what_it_has_read_and_says_goodbye() {
    let server = serve(2);
    let mut client = Client::greet(&server, &HELLO);
    client.fixed(&[ADD_1; 3]);
    assert!(server.end());
    assert_eq!(client.receive(), Told::Error(Code::Ending, 0));
    assert_eq!(client.receive(), Told::Ended);
}
