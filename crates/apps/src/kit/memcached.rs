//! A cache in memcached servers, over their text protocol.
//!
//! Each server has one connection, on which all queued requests are sent at once and answered in
//! order. Keys are distributed over the servers by their bytes. A server that is dead, slow or
//! sends invalid data costs its callers an error within the timeout, and nothing more; it is not
//! used for a while before the next attempt.

use std::collections::HashMap;
use std::pin::pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time;

use super::rpc::LARGEST_MESSAGE;
use super::statistics::Statistics;
use super::timeout::Pause;

#[cfg(test)]
mod tests;

/// The most requests that are queued for a server; further ones are errors.
const LONGEST_QUEUE: usize = 1024;
/// The most requests that are sent at once, and keys in one of them.
const LARGEST_BATCH: usize = 64;
const MOST_KEYS: usize = 64;
/// The longest key that memcached takes; it takes no blanks or control characters either.
const LONGEST_KEY: usize = 250;
/// The longest line of a response: a key and at most two numbers.
const LONGEST_LINE: u64 = 512;

/// The servers as written on a command line: `memcached://HOST:PORT,HOST:PORT`, and `/PREFIX` for
/// keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    addresses: Vec<String>,
    prefix: String,
}

impl FromStr for Servers {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let remedy = "write memcached://HOST:PORT,HOST:PORT or memcached://HOST:PORT/PREFIX";
        let rest = text.strip_prefix("memcached://").with_context(|| remedy.to_owned())?;
        let (list, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let addresses: Vec<String> = list.split(',').map(str::to_owned).collect();
        for address in &addresses {
            let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            let is_port = port.is_some_and(|(_, port)| port.parse::<u16>().is_ok_and(|no| 0 < no));
            ensure!(is_port, "`{address}` is not a valid address of a server; {remedy}");
        }
        let is_plain = prefix.len() <= 64 && prefix.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(
            is_plain,
            "`{prefix}` is not a valid prefix: at most 64 visible ASCII characters; {remedy}"
        );
        Ok(Servers { addresses, prefix: prefix.to_owned() })
    }
}

/// An error of the cache: it did not respond, or not in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// The outcome of a cache lookup for a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Hit,
    Miss,
    /// The cache did not respond, or not in time: treated as a miss.
    Error,
}

pub const LOOKUPS: [&str; 3] = ["hit", "miss", "error"];

/// The value of one key, if it has one.
pub type Found = Result<Option<Vec<u8>>, Failed>;

/// The servers of one cache.
pub struct Memcached {
    servers: Vec<mpsc::Sender<Question>>,
    prefix: String,
    timeout: Duration,
    statistics: Arc<Statistics>,
}

enum Question {
    Get { keys: Vec<String>, answer: oneshot::Sender<HashMap<String, Vec<u8>>> },
    Set { key: String, value: Vec<u8> },
}

impl Memcached {
    /// Begins to connect; a process does not wait for its cache.
    pub fn new(servers: &Servers, timeout: Duration, statistics: Arc<Statistics>) -> Self {
        let begin = |address: &String| {
            let (ask, asked) = mpsc::channel(LONGEST_QUEUE);
            tokio::spawn(serve(address.clone(), asked, timeout));
            ask
        };
        Memcached {
            servers: servers.addresses.iter().map(begin).collect(),
            prefix: servers.prefix.clone(),
            timeout,
            statistics,
        }
    }

    /// Returns the cache key; `None` for a name that cannot be in a key.
    pub fn key(&self, kind: &str, name: &str) -> Option<String> {
        let key = match self.prefix.as_str() {
            "" => format!("{kind}:{name}"),
            prefix => format!("{prefix}:{kind}:{name}"),
        };
        let is_key = key.len() <= LONGEST_KEY && key.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then_some(key)
    }

    /// Returns the values of the keys, in their order. All servers are asked at the same time.
    pub async fn get(&self, keys: &[Option<String>]) -> Vec<Found> {
        let _asked = self.statistics.ask();
        let mut of_servers: Vec<Vec<String>> = vec![Vec::new(); self.servers.len()];
        for key in keys.iter().flatten() {
            of_servers[self.server_of(key)].push(key.clone());
        }
        let mut waiting = Vec::new();
        for (server, keys) in self.servers.iter().zip(&mut of_servers) {
            keys.sort_unstable();
            keys.dedup();
            for keys in keys.chunks(MOST_KEYS) {
                let (answer, answered) = oneshot::channel();
                // If a server's queue is full the request is dropped, which is an error for its
                // caller.
                let _ = server.try_send(Question::Get { keys: keys.to_vec(), answer });
                waiting.push((keys, answered));
            }
        }
        let mut found: HashMap<&str, Found> = HashMap::new();
        let until = time::Instant::now() + self.timeout;
        for (keys, answered) in waiting {
            let mut answer = match time::timeout_at(until, answered).await {
                Ok(Ok(values)) => Ok(values),
                Ok(Err(_)) | Err(_) => Err(Failed),
            };
            let mut value = |key: &str| Ok(answer.as_mut().map_err(|failed| *failed)?.remove(key));
            found.extend(keys.iter().map(|key| (key.as_str(), value(key))));
        }
        let answer = |key: &Option<String>| match key {
            Some(key) => found.get(key.as_str()).cloned().expect("every key was asked for"),
            None => Ok(None),
        };
        keys.iter().map(answer).collect()
    }

    /// Stores a value without expiry, if the server's queue has room; returns at once.
    pub fn set(&self, key: Option<&str>, value: Vec<u8>) {
        let Some(key) = key.filter(|_| value.len() <= LARGEST_MESSAGE) else { return };
        // If the queue has no room, the value is stored after the next miss.
        let _ = self.servers[self.server_of(key)]
            .try_send(Question::Set { key: key.to_owned(), value });
    }

    /// Returns the server of a key: the same for all processes with the same servers in the same
    /// order.
    fn server_of(&self, key: &str) -> usize {
        (hash(key.as_bytes()) % self.servers.len() as u64) as usize
    }
}

/// Returns FNV-1a with its upper half mixed in: its lowest bits alone are poor.
fn hash(bytes: &[u8]) -> u64 {
    let mixed = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mixed ^ (mixed >> 32)
}

/// Runs one server's connections, until every sender is gone.
async fn serve(address: String, mut asked: mpsc::Receiver<Question>, timeout: Duration) {
    let mut pause = Pause::first();
    loop {
        let connecting = time::timeout(timeout, TcpStream::connect(&address));
        if let Ok(Ok(stream)) = connecting.await
            && stream.set_nodelay(true).is_ok()
        {
            let mut connection = Connection::new(stream);
            while let Some(()) = next_batch(&mut connection, &mut asked, timeout).await {
                pause = Pause::first();
            }
        }
        // Requests fail at once during the pause, instead of at their timeout.
        let mut resting = pin!(pause.rest());
        loop {
            tokio::select! {
                () = resting.as_mut() => break,
                question = asked.recv() => if question.is_none() { return },
            }
        }
    }
}

/// Sends all queued requests; `None` if the connection cannot be used any more.
async fn next_batch(
    connection: &mut Connection,
    asked: &mut mpsc::Receiver<Question>,
    timeout: Duration,
) -> Option<()> {
    let mut batch = Vec::new();
    // If the server closes an idle connection, this is noticed at once, not at the next request.
    tokio::select! {
        biased;
        count = asked.recv_many(&mut batch, LARGEST_BATCH) => if count == 0 { return None },
        () = connection.closed() => return None,
    }
    let answered = time::timeout(timeout, connection.ask(batch)).await;
    answered.ok().flatten()
}

struct Connection {
    input: BufReader<OwnedReadHalf>,
    output: OwnedWriteHalf,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        let (input, output) = stream.into_split();
        Connection { input: BufReader::new(input), output }
    }

    /// Waits for the end of an idle connection. A server sends nothing without a request: if any
    /// byte comes, the connection cannot be used any more.
    async fn closed(&mut self) {
        let _ = self.input.fill_buf().await;
    }

    /// Writes and reads at the same time: the server may answer the first request before it reads
    /// the last.
    async fn ask(&mut self, batch: Vec<Question>) -> Option<()> {
        let mut bytes = Vec::new();
        for question in &batch {
            question.write(&mut bytes);
        }
        let writing = self.output.write_all(&bytes);
        let reading = read_answers(&mut self.input, batch);
        let (written, read) = tokio::join!(writing, reading);
        written.ok().and(read)
    }
}

async fn read_answers(input: &mut BufReader<OwnedReadHalf>, batch: Vec<Question>) -> Option<()> {
    for question in batch {
        match question {
            Question::Get { keys, answer } => {
                let values = read_values(input, keys.len()).await?;
                // The caller may be gone.
                let _ = answer.send(values);
            }
            // Stored, or refused because memory is full: neither matters to the caller.
            Question::Set { .. } => drop(read_line(input).await?),
        }
    }
    Some(())
}

/// Reads `VALUE <key> <flags> <bytes>`, the bytes and an end of line for each; then `END`.
async fn read_values(
    input: &mut BufReader<OwnedReadHalf>,
    most: usize,
) -> Option<HashMap<String, Vec<u8>>> {
    let mut values = HashMap::new();
    loop {
        let line = read_line(input).await?;
        let mut words = line.split(' ');
        match (words.next()?, words.next(), words.next(), words.next()) {
            ("END", None, ..) => return Some(values),
            ("VALUE", Some(key), Some(_), Some(length)) if values.len() < most => {
                let length: usize = length.parse().ok().filter(|no| *no <= LARGEST_MESSAGE)?;
                let mut value = vec![0; length + 2];
                input.read_exact(&mut value).await.ok()?;
                value.truncate(length);
                values.insert(key.to_owned(), value);
            }
            _ => return None,
        }
    }
}

async fn read_line(input: &mut BufReader<OwnedReadHalf>) -> Option<String> {
    let mut line = Vec::new();
    input.take(LONGEST_LINE).read_until(b'\n', &mut line).await.ok()?;
    let line = line.strip_suffix(b"\r\n")?.to_vec();
    String::from_utf8(line).ok()
}

impl Question {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Question::Get { keys, .. } => {
                out.extend_from_slice(b"get");
                for key in keys {
                    out.push(b' ');
                    out.extend_from_slice(key.as_bytes());
                }
            }
            Question::Set { key, value } => {
                out.extend_from_slice(format!("set {key} 0 0 {}\r\n", value.len()).as_bytes());
                out.extend_from_slice(value);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}
