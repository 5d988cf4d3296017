//! A server that notes what it gets, and answers as a test says: a subscriber of the channel.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::instance::{now, sleep};
use crate::services::wait_for;

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) at: Instant,
    pub(crate) path: String,
    /// The lines of the head after the first, in lower case up to the colon.
    pub(crate) fields: Vec<String>,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let pairs = self.fields.iter().filter_map(|line| line.split_once(": "));
        pairs.filter(|(other, _)| *other == name).map(|(_, value)| value).next()
    }

    pub(crate) fn id(&self) -> &str {
        self.field("ce-id").expect("it is an event")
    }
}

/// The response to a request: what follows `HTTP/1.1 `, without the length; `None` hangs up.
type Answer = dyn Fn(usize, &Got) -> Option<String> + Send + Sync;

pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Sink {
    /// Starts a server whose response depends on the number of the request, from 0.
    pub(crate) fn start(
        answer: impl Fn(usize, &Got) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let got = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted): (Arc<Answer>, _) = (Arc::new(answer), Arc::clone(&got));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                thread::spawn(move || serve(stream.unwrap(), &*answer, &noted));
            }
        });
        Sink { address, got }
    }

    /// Starts a server that takes everything.
    pub(crate) fn taking() -> Self {
        Sink::start(|_, _| taken())
    }

    /// Starts a server that answers nothing until the switch is on, and then takes everything.
    pub(crate) fn holding() -> (Self, Switch) {
        let switch = Switch::default();
        let opened = switch.clone();
        let answer = move |_: usize, _: &Got| {
            opened.wait();
            taken()
        };
        (Sink::start(answer), switch)
    }

    /// Starts a server that refuses everything until the switch is on, and then takes everything.
    pub(crate) fn refusing() -> (Self, Switch) {
        let switch = Switch::default();
        let opened = switch.clone();
        (Sink::start(move |_, _| if opened.is_on() { taken() } else { status(503) }), switch)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/in", self.address)
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Returns what it got since the last time, and forgets it.
    pub(crate) fn take(&self) -> Vec<Got> {
        std::mem::take(&mut self.got.lock().unwrap())
    }

    /// Waits until it got so many requests, and returns them.
    pub(crate) fn wait(&self, count: usize) -> Vec<Got> {
        let long = Duration::from_secs(20);
        wait_for("the requests arrive", long, || count <= self.got.lock().unwrap().len());
        self.got()
    }

    /// Returns the ids of the events that it got.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.got().iter().map(|got| got.id().to_owned()).collect()
    }
}

/// Changes what a server does.
#[derive(Clone, Default)]
pub(crate) struct Switch(Arc<AtomicBool>);

impl Switch {
    pub(crate) fn turn_on(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn wait(&self) {
        while !self.is_on() {
            sleep(Duration::from_millis(1));
        }
    }
}

pub(crate) fn taken() -> Option<String> {
    Some("202 Accepted\r\n\r\n".to_owned())
}

pub(crate) fn status(code: u16) -> Option<String> {
    Some(format!("{code} Status\r\n\r\n"))
}

fn serve(stream: TcpStream, answer: &Answer, noted: &Mutex<Vec<Got>>) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(got) = read(&mut reader) {
        let number = {
            let mut noted = noted.lock().unwrap();
            noted.push(got.clone());
            noted.len() - 1
        };
        let Some(answer) = answer(number, &got) else { return };
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let length = body.len();
        let whole = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}");
        if writer.write_all(whole.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Got> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let path = lines[0].split(' ').nth(1)?.to_owned();
    let fields = lines[1..].iter().map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        format!("{}: {}", name.to_lowercase(), value.trim())
    });
    let mut got = Got { at: now(), path, fields: fields.collect(), body: String::new() };
    let length: usize = got.field("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    got.body = String::from_utf8(body).unwrap();
    Some(got)
}
