//! The threads that measure the speed of the system's CPUs during a load: one on each, which does
//! the pieces of work of `lab::speed`, ten times a second.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lab::host;
use lab::spec::Cpus;
use lab::speed::{EVERY, Gauged, Round, Work};
use measure::Nanos;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::getppid;

use super::process;

#[cfg(test)]
mod tests;

/// The words of 256 KiB: more than the first cache of a core, less than the second.
const SWEPT: usize = 32 * 1024;
/// The words of a cache line.
const LINE: usize = 8;
const SYSTEM_CALLS: usize = 10;
const INTEGERS: u64 = 300;
const MESSAGE: usize = 64;
/// The longest wait for a message that is on this host.
const ARRIVES_WITHIN: Duration = Duration::from_millis(100);

/// The running threads. Dropped, they end by themselves.
pub(super) struct Gauging {
    threads: Vec<(Sender<()>, JoinHandle<Option<Gauged>>)>,
}

impl Gauging {
    /// Begins on each of these CPUs.
    pub(super) fn begin(cpus: &Cpus) -> Gauging {
        let begin = |&cpu: &u32| {
            let (stop, stopped) = mpsc::channel::<()>();
            let is_over =
                move || stopped.recv_timeout(EVERY.into()) != Err(RecvTimeoutError::Timeout);
            (stop, thread::spawn(move || gauge(cpu, is_over)))
        };
        Gauging { threads: cpus.0.iter().map(begin).collect() }
    }

    /// Ends it and returns what was measured. A CPU on which a thread may not run is left out.
    pub(super) fn end(self) -> Vec<Gauged> {
        let end = |(stop, thread): (Sender<()>, JoinHandle<Option<Gauged>>)| {
            // It ends when it receives this.
            let _ = stop.send(());
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        self.threads.into_iter().filter_map(end).collect()
    }
}

/// Measures on one CPU until it is over; `None` if this thread may not run there.
fn gauge(cpu: u32, is_over: impl Fn() -> bool) -> Option<Gauged> {
    process::pin(&Cpus(vec![cpu])).ok()?;
    process::lower_priority();
    let mut bench = Bench::new();
    let (begun, used) = (host::now(), cpu_time());
    let mut rounds = Vec::new();
    while !is_over() {
        rounds.push(bench.round());
    }
    let (used, lasted) = (cpu_time().saturating_sub(used), host::now() - begun);
    Some(Gauged { cpu, rounds, used, lasted })
}

/// The CPU time of this thread.
fn cpu_time() -> Nanos {
    let time =
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux counts a thread's time");
    Nanos(time.tv_sec() as u64 * Nanos::SECOND.0 + time.tv_nsec() as u64)
}

/// The data that the pieces of work need.
struct Bench {
    swept: Vec<u64>,
    /// Absent if this host has no loopback.
    connection: Option<(TcpStream, TcpStream)>,
}

impl Bench {
    fn new() -> Bench {
        Bench { swept: vec![1; SWEPT], connection: connected().ok() }
    }

    fn round(&mut self) -> Round {
        let at = host::now();
        Round { at, took: Work::ALL.map(|work| self.fastest(work)) }
    }

    /// Returns the shortest time of the repetitions.
    fn fastest(&mut self, work: Work) -> Option<Nanos> {
        let mut once = || {
            let begun = host::now();
            self.work(work)?;
            Some(host::now() - begun)
        };
        (0..work.repetitions()).filter_map(|_| once()).min()
    }

    fn work(&mut self, work: Work) -> Option<()> {
        match work {
            Work::Loopback => self.exchange()?,
            Work::Sweep => {
                let lines = black_box(&self.swept).iter().step_by(LINE);
                black_box(lines.fold(0u64, |sum, word| sum.wrapping_add(*word)));
            }
            Work::SystemCalls => (0..SYSTEM_CALLS).for_each(|_| {
                black_box(getppid());
            }),
            Work::Integers => {
                black_box(integers(black_box(0)));
            }
        }
        Some(())
    }

    fn exchange(&mut self) -> Option<()> {
        let (here, there) = self.connection.as_mut()?;
        let mut message = [0; MESSAGE];
        here.write_all(&message).ok()?;
        there.read_exact(&mut message).ok()
    }
}

/// Eight chains that do not wait for each other, of unlike operations: a compiler cannot do several in
/// one.
fn integers(first: u64) -> u64 {
    let [mut a, mut b, mut c, mut d] = [first, 1, 2, 3];
    let [mut e, mut f, mut g, mut h] = [4u64, 5, 6, 7];
    for i in 0..INTEGERS {
        a = (a ^ i).wrapping_add(3);
        b = b.wrapping_add(i) ^ 5;
        c = (c ^ i).wrapping_sub(7);
        d = d.wrapping_sub(i) ^ 9;
        e = (e | 1).wrapping_add(i);
        f = (f ^ 13).wrapping_sub(i);
        g = g.wrapping_add(15) ^ i;
        h = h.wrapping_sub(17) ^ i;
    }
    a ^ b ^ c ^ d ^ e ^ f ^ g ^ h
}

/// Returns both ends of a connection over loopback.
fn connected() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    let (there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    here.set_write_timeout(Some(ARRIVES_WITHIN))?;
    there.set_read_timeout(Some(ARRIVES_WITHIN))?;
    Ok((here, there))
}
