//! A server of known delay: the weights that this balance is calibrated with.
//!
//! It answers each request after a delay drawn from a stated law, and keeps a log of its own: when
//! requests arrived, and how long it really took. It runs on `net`, and shares with the engine
//! only what reads and writes HTTP.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::{Histogram, Instant, Nanos, Quantile, Random, Rate};
use net::{ConnectionId, Epoll, Event, Io, Timer, clock};
use wire::http1::{After, Malformed, RequestDecoder, RequestEvent, encode_response};

#[cfg(test)]
mod tests;

/// How long the server takes to answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    Fixed(Nanos),
    Exponential {
        mean: Nanos,
    },
    /// `slow` with the given probability, else `fast`.
    Bimodal {
        fast: Nanos,
        slow: Nanos,
        slow_share: f64,
    },
}

impl Delay {
    fn draw(self, random: &mut Random) -> Nanos {
        match self {
            Delay::Fixed(delay) => delay,
            Delay::Exponential { mean } => Nanos(random.exponential(mean.0 as f64) as u64),
            Delay::Bimodal { fast, slow, slow_share } => {
                if random.unit() < slow_share {
                    slow
                } else {
                    fast
                }
            }
        }
    }
}

/// Reads `0s`, `1ms`, `fixed:1ms`, `exponential:1ms`, `bimodal:1ms,10ms,5%`.
impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Delay, String> {
        let length = |text: &str| text.trim().parse::<Nanos>().map_err(|e| e.to_string());
        match text.split_once(':').unwrap_or(("fixed", text)) {
            ("fixed", delay) => length(delay).map(Delay::Fixed),
            ("exponential", mean) => length(mean).map(|mean| Delay::Exponential { mean }),
            ("bimodal", parts) => {
                let wrong = || format!("`{text}` is no delay; write bimodal:1ms,10ms,5%");
                let parts: Vec<&str> = parts.split(',').collect();
                let [fast, slow, share] = parts[..] else { return Err(wrong()) };
                let percent: f64 = share
                    .trim()
                    .strip_suffix('%')
                    .and_then(|number| number.parse().ok())
                    .filter(|percent| (0.0..=100.0).contains(percent))
                    .ok_or_else(wrong)?;
                let slow_share = percent / 100.0;
                Ok(Delay::Bimodal { fast: length(fast)?, slow: length(slow)?, slow_share })
            }
            _ => Err(format!(
                "`{text}` is no delay; write 1ms, exponential:1ms or bimodal:1ms,10ms,5%"
            )),
        }
    }
}

/// What the server saw.
#[derive(Debug, Default)]
pub struct Log {
    /// From the moment a request was read to the moment its answer was handed to the kernel.
    pub took: Histogram,
    pub requests: u64,
    /// Requests that named a number in their path (`/17`) smaller than an earlier one's, read in
    /// an earlier turn.
    pub out_of_order: u64,
    /// The gaps between arrivals, as read.
    pub gaps: Histogram,
    highest: Option<u64>,
    last_arrival: Option<Instant>,
    schedule: Option<Schedule>,
}

/// When numbered requests were meant to arrive: each a gap after the one before it.
#[derive(Debug)]
struct Schedule {
    rate: Rate,
    /// How much later each arrived than its number of gaps after the clock's origin, in ns.
    delays: Vec<i64>,
}

/// The log of a schedule is bounded; how many requests it covers is said with it.
const MOST_SCHEDULED: usize = 1 << 20;

impl fmt::Display for Log {
    /// One line of JSON, for whoever compares it with a generator's figures.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = |quantile| self.took.quantile(quantile).unwrap_or_default().0;
        write!(
            f,
            r#"{{"requests":{},"out_of_order":{},"p50_ns":{},"p90_ns":{},"p99_ns":{},"max_ns":{},"gap_mean_ns":{}"#,
            self.requests,
            self.out_of_order,
            took(Quantile::P50),
            took(Quantile::P90),
            took(Quantile::P99),
            self.took.max().unwrap_or_default().0,
            self.gaps.mean().unwrap_or_default().0,
        )?;
        if let Some(lateness) = self.lateness() {
            let p99 = lateness.quantile(Quantile::P99).unwrap_or_default().0;
            write!(f, r#","late_count":{},"late_p99_ns":{p99}"#, lateness.count())?;
        }
        write!(f, "}}")
    }
}

impl Log {
    fn arrived(&mut self, now: Instant, target: &str) {
        self.requests += 1;
        let since_last = self.last_arrival.map(|last| now - last);
        if let Some(gap) = since_last {
            self.gaps.record(gap);
        }
        let number = target.rsplit('/').next().and_then(|number| number.parse::<u64>().ok());
        if let Some(number) = number {
            // Within one turn the kernel's list of ready sockets decides, not the network.
            let behind = self.highest.is_some_and(|highest| number < highest);
            self.out_of_order += u64::from(behind && since_last != Some(Nanos::ZERO));
            self.highest = self.highest.max(Some(number));
            if let Some(schedule) = &mut self.schedule {
                schedule.arrived(now, number);
            }
        }
        self.last_arrival = Some(now);
    }

    /// How late numbered requests came by the schedule they were meant to keep, if there was one.
    ///
    /// Nobody told when the schedule began, so lateness counts from the most punctual request. What
    /// the network and this server's own waking up take every time is not in it.
    pub fn lateness(&self) -> Option<Histogram> {
        let delays = &self.schedule.as_ref()?.delays;
        let least = delays.iter().min().copied().unwrap_or_default();
        let mut lateness = Histogram::new();
        delays.iter().for_each(|delay| lateness.record(Nanos(delay.abs_diff(least))));
        Some(lateness)
    }
}

impl Schedule {
    fn arrived(&mut self, now: Instant, number: u64) {
        if self.delays.len() < MOST_SCHEDULED {
            let intended = (number as f64 * self.rate.gap_ns()).round() as i64;
            self.delays.push(now.0 as i64 - intended);
        }
    }
}

/// The server, listening.
pub struct Reference {
    io: Epoll,
    address: SocketAddr,
    answer: Vec<u8>,
    connections: Vec<Connection>,
    desk: Desk,
}

/// Where requests are noted and wait for their time.
struct Desk {
    delay: Delay,
    random: Random,
    due: BinaryHeap<Reverse<Pending>>,
    log: Log,
}

#[derive(Default)]
struct Connection {
    decoder: RequestDecoder,
    /// Tells answers of an earlier connection of the same name from this one's.
    generation: u64,
    /// The latest time promised: answers leave in the order of their requests.
    latest: Instant,
    open: bool,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Pending {
    at: Instant,
    order: u64,
    connection: ConnectionId,
    generation: u64,
    arrived: Instant,
    close: bool,
}

/// How long a wait may last: how soon `stop` is noticed.
const LONGEST_WAIT: Nanos = Nanos::from_millis(50);

impl Reference {
    /// Listens on `address`. Answers are `200` with a body of so many bytes.
    pub fn listen(
        address: SocketAddr,
        delay: Delay,
        body: usize,
        seed: u64,
    ) -> std::io::Result<Reference> {
        clock::precise_timers();
        let mut io = Epoll::new(Timer::Hybrid)?;
        let address = io.listen(address)?;
        let mut answer = Vec::new();
        encode_response(200, &[("Content-Type", "text/plain")], &vec![b'x'; body], &mut answer);
        Ok(Reference {
            io,
            address,
            answer,
            connections: Vec::new(),
            desk: Desk {
                delay,
                random: Random::new(seed),
                due: BinaryHeap::new(),
                log: Log::default(),
            },
        })
    }

    /// Logs how late requests come that are numbered and meant to arrive at this constant rate.
    pub fn expecting(mut self, rate: Rate) -> Reference {
        self.desk.log.schedule = Some(Schedule { rate, delays: Vec::new() });
        self
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`, and returns the log.
    pub fn serve(mut self, stop: &AtomicBool) -> Log {
        while !stop.load(Ordering::Relaxed) {
            let now = self.io.now();
            let next = self.desk.due.peek().map_or(Instant::NEVER, |Reverse(pending)| pending.at);
            let now = self.io.wait(next.min(now + LONGEST_WAIT));
            self.read(now);
            self.answer_due();
        }
        self.desk.log
    }

    fn read(&mut self, now: Instant) {
        while let Some(event) = self.io.next_event() {
            match event {
                Event::Accepted(id) => {
                    let index = id.0 as usize;
                    if self.connections.len() <= index {
                        self.connections.resize_with(index + 1, Connection::default);
                    }
                    let generation = self.connections[index].generation + 1;
                    self.connections[index] =
                        Connection { generation, open: true, ..Connection::default() };
                }
                Event::Received(id, bytes) => {
                    let connection = &mut self.connections[id.0 as usize];
                    if self.desk.take(connection, id, bytes, now).is_err() {
                        connection.open = false;
                        self.io.close(id);
                    }
                }
                Event::Closed(id, _) => self.connections[id.0 as usize].open = false,
                Event::Connected(_) => unreachable!("a server does not connect"),
            }
        }
    }

    /// Sends every answer whose time has come.
    fn answer_due(&mut self) {
        loop {
            let now = self.io.now();
            let Some(Reverse(pending)) = self.desk.due.peek().copied() else { return };
            if now < pending.at {
                return;
            }
            self.desk.due.pop();
            let connection = &mut self.connections[pending.connection.0 as usize];
            if !connection.open || connection.generation != pending.generation {
                continue;
            }
            self.io.send(pending.connection, &self.answer);
            self.desk.log.took.record(now - pending.arrived);
            if pending.close {
                connection.open = false;
                self.io.close(pending.connection);
            }
        }
    }
}

impl Desk {
    /// Notes each request that the bytes complete, and when its answer is due.
    fn take(
        &mut self,
        connection: &mut Connection,
        id: ConnectionId,
        bytes: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let mut bytes = bytes;
        while let Some(event) = connection.decoder.next(&mut bytes)? {
            match event {
                RequestEvent::Head(head) => self.log.arrived(now, &head.target),
                RequestEvent::Body(_) => {}
                RequestEvent::End(after) => {
                    let at = now + self.delay.draw(&mut self.random);
                    connection.latest = at.max(connection.latest);
                    self.due.push(Reverse(Pending {
                        at: connection.latest,
                        order: self.log.requests,
                        connection: id,
                        generation: connection.generation,
                        arrived: now,
                        close: after == After::Close,
                    }));
                }
            }
        }
        Ok(())
    }
}
