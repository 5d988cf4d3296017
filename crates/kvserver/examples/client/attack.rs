//! Peers that a server must bear: thousands that greet one byte at a time, some that read no reply, and
//! malformed frames, one connection each.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use measure::{Nanos, Random};
use net::{Io, clock};
use wire::kv::{Checksums, Hello, Item, Kind, Opcode, Opening, encode_hello, encode_item};

/// The time between two bytes of a slow greeting, and between two malformed frames.
const BYTE: Nanos = Nanos::from_secs(1);
const MALFORMED: Nanos = Nanos::from_millis(5);

/// The peers that read nothing.
const UNREAD: usize = 16;

/// A connection, and the bytes of its greeting that were sent.
struct Slow {
    socket: TcpStream,
    sent: usize,
}

/// Prints the slow connections that were ended, and how many of the malformed frames had an end.
pub(super) fn run(words: &[&str]) -> Option<()> {
    let [address, connections, seconds] = words else { return None };
    let address: SocketAddr = address.parse().ok()?;
    let (count, seconds): (usize, u64) = (connections.parse().ok()?, seconds.parse().ok()?);
    net::process::raise_open_files();
    let mut io = net::Epoll::new(net::Timer::Sleep).expect("descriptors");
    let greeting = greeting();
    let begin = clock::now();
    let until = begin + Nanos::from_secs(seconds);
    let mut slow: Vec<Option<Slow>> = (0..count).map(|_| begin_slowly(address)).collect();
    let unread: Vec<_> = (0..UNREAD).filter_map(|_| without_reading(address, &greeting)).collect();
    let (mut random, mut ended, mut refused, mut tried) = (Random::new(1), 0, 0, 0);
    // Greetings take turns, so that no moment has many.
    for turn in 0.. {
        let now = begin + Nanos(turn as u64 * BYTE.0 / count as u64);
        if until <= now {
            break;
        }
        if clock::now() < now {
            io.wait(now);
        }
        let place = &mut slow[turn % count];
        if !place.as_mut().is_some_and(|slow| slow.send_byte(&greeting)) {
            ended += 1;
            *place = begin_slowly(address);
        }
        if turn % (MALFORMED.0 * count as u64 / BYTE.0).max(1) as usize == 0 {
            tried += 1;
            refused += usize::from(is_refused(address, &greeting, &mut random));
        }
    }
    drop(unread);
    println!(
        "{ended} slow connections were ended; {refused} of {tried} malformed frames were refused"
    );
    Some(())
}

fn greeting() -> Vec<u8> {
    let mut bytes = Vec::new();
    let hello = Hello::new(64);
    encode_hello(&hello, &mut bytes);
    bytes
}

fn begin_slowly(address: SocketAddr) -> Option<Slow> {
    let socket = TcpStream::connect(address).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(Slow { socket, sent: 0 })
}

impl Slow {
    /// False if the server has ended the connection.
    fn send_byte(&mut self, greeting: &[u8]) -> bool {
        let is_open = match self.socket.read(&mut [0; 512]) {
            Ok(count) => count == 0 && self.sent == 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        // The last byte is never sent.
        self.sent = (self.sent + 1).min(greeting.len() - 1);
        is_open && self.socket.write_all(&greeting[self.sent - 1..self.sent]).is_ok()
    }
}

/// Sends reads of one long value again and again, as far as the server takes them.
fn without_reading(address: SocketAddr, greeting: &[u8]) -> Option<TcpStream> {
    let mut socket = TcpStream::connect(address).ok()?;
    socket.write_all(greeting).ok()?;
    socket.set_nonblocking(true).ok()?;
    let value = vec![7; 100_000];
    let upsert = Item { opcode: Opcode::Upsert, offset: 0, length: 0, key: b"long", value: &value };
    let read = Item { opcode: Opcode::Read, value: &[], ..upsert };
    for serial in 1..1000 {
        let mut bytes = Vec::new();
        let frame = Opening::begin(Kind::Request, 1, serial, Checksums::On, &mut bytes);
        encode_item(if serial == 1 { &upsert } else { &read }, &mut bytes);
        frame.finish(1, &mut bytes);
        if socket.write_all(&bytes).is_err() {
            break;
        }
    }
    Some(socket)
}

/// Sends a greeting of which some bytes were changed, and then nothing. True if the connection ends
/// or is answered.
fn is_refused(address: SocketAddr, greeting: &[u8], random: &mut Random) -> bool {
    let mut bytes = greeting.to_vec();
    let at = random.below(bytes.len() as u64) as usize;
    bytes[at] ^= 1 << random.below(8);
    let Ok(mut socket) = TcpStream::connect(address) else { return true };
    let timeout = socket.set_read_timeout(Some(std::time::Duration::from_millis(200)));
    let sent = timeout.and_then(|()| socket.write_all(&bytes));
    let answered = sent.and_then(|()| socket.read(&mut [0; 512]));
    // A longer length may be awaited for as long as a greeting may take.
    answered.is_ok() || (4..8).contains(&at)
}
