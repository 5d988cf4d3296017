//! The same scenarios over epoll, over io_uring and on virtual time: one golden text with the
//! events of each request in order, without times.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use expect_test::expect_file;
use net::{Endpoint, Epoll, Interface, Sockets, Timer, Uring};

use super::*;

/// The action of the server after it has read a request's head.
#[derive(Clone, Debug)]
enum Act {
    Say(Vec<u8>),
    /// Closes the connection in order.
    Leave,
    /// Closes the connection like a dying process: with unread bytes, of which there have to be
    /// some.
    Break,
}

struct Scenario {
    name: &'static str,
    requests: u64,
    /// The number of requests that may be in progress on the only connection.
    pipeline: usize,
    /// The size of each request's body in bytes.
    body: usize,
    timeout: Nanos,
    keep_alive: Option<u32>,
    /// The server's actions for each request, by its number; `None` if nobody listens.
    far_end: Option<fn(u64) -> Vec<Act>>,
}

const TWO: Scenario = Scenario {
    name: "",
    requests: 2,
    pipeline: 1,
    body: 0,
    timeout: Nanos::from_secs(20),
    keep_alive: None,
    far_end: Some(|_| vec![say(WHOLE)]),
};

const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// More bytes than any kernel accepts at once.
const MUCH: usize = 30_000_000;

fn say(text: &str) -> Act {
    Act::Say(text.as_bytes().to_vec())
}

fn scenarios() -> Vec<Scenario> {
    let of = |name, far_end| Scenario { name, far_end: Some(far_end), ..TWO };
    vec![
        Scenario { name: "an answer", ..TWO },
        of("an answer byte by byte", |_| WHOLE.bytes().map(|byte| Act::Say(vec![byte])).collect()),
        of("a body in chunks, after interim answers", |_| {
            let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n";
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            vec![say(interim), say(head), say("5;a=b\r\nhel"), say("lo\r\n0\r\n"), say("\r\n")]
        }),
        of("a body that ends with the connection", |_| {
            vec![say("HTTP/1.1 200 OK\r\n\r\n"), say("hello"), Act::Leave]
        }),
        of("a body of five million bytes", |_| {
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n".to_vec();
            vec![Act::Say([head, vec![b'x'; 5_000_000]].concat())]
        }),
        of("an answer that says it is the last one", |_| {
            vec![say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")]
        }),
        of("more bytes than were asked for", |_| vec![say(&format!("{WHOLE}and so on"))]),
        of("another protocol", |_| vec![say("SMTP ready\r\n\r\n")]),
        of("a failure that is an answer", |_| {
            vec![say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")]
        }),
        of("closed without an answer", |_| vec![Act::Leave]),
        of("closed in the midst of an answer", |_| {
            vec![say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), Act::Leave]
        }),
        Scenario {
            name: "reset without an answer",
            body: 10_000,
            far_end: Some(|_| vec![Act::Break]),
            ..TWO
        },
        Scenario {
            name: "answers in one packet",
            requests: 4,
            pipeline: 2,
            far_end: Some(|number| match number % 2 {
                0 => Vec::new(),
                _ => vec![say(&[WHOLE, WHOLE].concat())],
            }),
            ..TWO
        },
        Scenario {
            name: "silence",
            timeout: Nanos::from_millis(300),
            far_end: Some(|_| Vec::new()),
            ..TWO
        },
        Scenario { name: "answered before the request was written", body: MUCH, ..TWO },
        Scenario {
            name: "broken while the request is written",
            body: MUCH,
            far_end: Some(|_| vec![Act::Break]),
            ..TWO
        },
        Scenario { name: "a connection for each request", keep_alive: Some(1), ..TWO },
        Scenario { name: "nobody listens", keep_alive: Some(1), far_end: None, ..TWO },
    ]
}

/// An observer that writes down the events in their order.
#[derive(Default)]
struct Story(String);

impl Observer for Story {
    fn sent(&mut self, _of: Of, _intended: Instant, _sent: Instant, bytes: usize) {
        writeln!(self.0, "  sent {bytes} bytes").unwrap();
    }

    fn completed(&mut self, completion: &Completion) {
        let &Completion { number, outcome, status, bytes, why, start, .. } = completion;
        write!(self.0, "  {number}: {}", outcome.name()).unwrap();
        if 0 < status {
            write!(self.0, " {status}, {bytes} bytes").unwrap();
        }
        if !why.is_empty() {
            write!(self.0, ", {why}").unwrap();
        }
        if start.is_some_and(|start| start.first_byte.is_some()) && !outcome.is_answer() {
            write!(self.0, ", after it had begun").unwrap();
        }
        writeln!(self.0).unwrap();
    }

    fn connected(&mut self, _of: Of, _now: Instant, _took: Nanos) {
        writeln!(self.0, "  connected").unwrap();
    }

    fn disconnected(&mut self, _of: Of, _now: Instant) {
        writeln!(self.0, "  disconnected").unwrap();
    }
}

impl Scenario {
    /// Runs a closed loop on one connection and returns the events seen by the client.
    fn story<I: Io>(&self, mut io: I, to: Endpoint) -> String {
        let stop = AtomicBool::new(false);
        let &Scenario { timeout, keep_alive, .. } = self;
        let limits = Limits { timeout, keep_alive, ..LIMITS };
        let start = io.now();
        let mut shard = Shard::new(io, Story::default(), limits, [&stop, &stop]);
        let body = vec![b'x'; self.body];
        let method = if body.is_empty() { "GET" } else { "POST" };
        let driver = Http1::new(1, Static::new(method, "/", &[("Host", "x")], &body));
        let driver = driver.with_pipeline(self.pipeline);
        let numbers = Numbers { first: 0, step: 1, quota: Some(self.requests) };
        shard.add_pool(Of::default(), driver, (vec![to], 1), numbers);
        shard.connect(start + SECOND * 20).unwrap();
        let start = shard.io().now();
        let schedule =
            Schedule { start, overload: start, end: start + SECOND * 60, drain: Nanos::ZERO };
        let mut source = Source::Closed { think: Think::NONE, random: Random::new(1) };
        let (_, ended) = shard.run(&mut source, schedule).unwrap();
        assert_eq!(ended, Ended::AsPlanned, "{}", self.name);
        shard.into_parts().0.0
    }

    fn on_virtual_time(&self) -> String {
        let far_end = Modelled { far_end: self.far_end, served: 0, decoders: HashMap::new() };
        let to: SocketAddr = "127.0.0.1:1".parse().unwrap();
        self.story(Simulation::new(far_end), to.into())
    }

    fn over(&self, io: impl Io) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        match self.far_end {
            Some(far_end) => {
                thread::spawn(move || serve(&listener, far_end));
            }
            None => drop(listener),
        }
        self.story(io, address.into())
    }
}

/// Counts the heads in the bytes from a connection. Bodies are not parsed: a connection with a body
/// is never read beyond its head.
fn heads(decoder: &mut RequestDecoder, bytes: &[u8]) -> u64 {
    let (mut bytes, mut count) = (bytes, 0);
    while let Some(event) = decoder.next(&mut bytes).unwrap() {
        count += u64::from(matches!(event, RequestEvent::Head(_)));
    }
    count
}

/// The server on virtual time.
struct Modelled {
    far_end: Option<fn(u64) -> Vec<Act>>,
    served: u64,
    decoders: HashMap<ConnectionId, RequestDecoder>,
}

impl Peer for Modelled {
    fn connect(
        &mut self,
        connection: ConnectionId,
        _attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        self.decoders.remove(&connection);
        effects.push(match self.far_end {
            Some(_) => (now, Effect::Connected(connection)),
            None => (now, Effect::Closed(connection, Closed::Refused)),
        });
    }

    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        let Some(far_end) = self.far_end else { unreachable!("nobody listens") };
        let mut at = now;
        for _ in 0..heads(self.decoders.entry(connection).or_default(), bytes) {
            for act in far_end(self.served) {
                at = at + SERVICE;
                effects.push(match act {
                    Act::Say(bytes) => (at, Effect::Bytes(connection, bytes)),
                    Act::Leave => (at, Effect::Closed(connection, Closed::ByPeer)),
                    Act::Break if bytes.len() < MUCH => {
                        (at, Effect::Closed(connection, Closed::Reset))
                    }
                    Act::Break => (at, Effect::Closed(connection, Closed::WhileWriting)),
                });
            }
            self.served += 1;
        }
    }

    fn taken(&mut self, _connection: ConnectionId, bytes: &[u8], now: Instant) -> Instant {
        if bytes.len() < MUCH { now } else { now + SECOND }
    }
}

/// Runs the server on real sockets. It ends with the process, and its connections with ours.
fn serve(listener: &TcpListener, far_end: fn(u64) -> Vec<Act>) {
    let served = Arc::new(AtomicU64::new(0));
    for stream in listener.incoming() {
        let served = served.clone();
        thread::spawn(move || converse(stream.unwrap(), far_end, &served));
    }
}

fn converse(mut stream: TcpStream, far_end: fn(u64) -> Vec<Act>, served: &AtomicU64) {
    stream.set_nodelay(true).unwrap();
    let mut decoder = RequestDecoder::default();
    // Small, so that it never reads much of a body.
    let mut bytes = [0; 64];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        let count = heads(&mut decoder, &bytes[..count]);
        for _ in 0..count {
            for act in far_end(served.fetch_add(1, Ordering::Relaxed)) {
                match act {
                    // The client may have gone.
                    Act::Say(bytes) => drop(stream.write_all(&bytes)),
                    // A reset, because there are unread bytes.
                    Act::Leave | Act::Break => return,
                }
            }
        }
    }
}

fn golden(stories: impl Fn(&Scenario) -> String) {
    let text: String = scenarios()
        .iter()
        .map(|scenario| format!("{}\n{}", scenario.name, stories(scenario)))
        .collect();
    expect_file!["alike.txt"].assert_eq(&text);
}

#[test]
fn the_stories_on_virtual_time() {
    golden(Scenario::on_virtual_time);
}

#[test]
fn the_same_stories_over_epoll() {
    golden(|scenario| scenario.over(Epoll::new(Timer::Sleep).unwrap()));
    golden(|scenario| scenario.over(Sockets::new(Interface::Epoll, Timer::Hybrid).unwrap()));
}

#[test]
fn the_same_stories_over_io_uring() {
    if let Err(refusal) = net::uring::granted() {
        return skip("the_same_stories_over_io_uring", &format!("io_uring: {refusal}"));
    }
    golden(|scenario| scenario.over(Uring::new(Timer::Sleep).unwrap()));
    golden(|scenario| scenario.over(Sockets::new(Interface::Uring, Timer::Hybrid).unwrap()));
}

pub(super) fn skip(test: &str, needs: &str) {
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "skipped: {test}: needs {needs}").unwrap();
    }
}
