//! One load of this process on the reference server, and the server's log of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;

use load::driver::http1::{Expected, Http1, HttpWorkload, Origin, Outgoing};
use load::measurement::{Measured, Plan, Pool};
use load::network::{self, Network, Work};
use load::observe::Part;
use load::pacing::Pacing;
use load::shard::Limits;
use load::validity::{Besides, Judgement, judge};
use load::{Fault, Measurement};
use measure::Nanos;
use net::{Timer, cores};
use results::self_test::Cpus;
use serde::Deserialize;
use wire::http1::Expect;

use crate::plan::congestion_control;
use console::output::Failure;

/// The CPUs and settings of both sides.
pub(super) struct Bench<'a> {
    cpus: Option<Cpus>,
    io: network::Choice,
    /// For both sides.
    congestion_control: Option<String>,
    stop: &'a AtomicBool,
}

pub(super) struct Conditions<'a> {
    pub(super) delay: &'a str,
    pub(super) pacing: Pacing,
    pub(super) connections: usize,
    pub(super) length: Nanos,
    pub(super) seed: u64,
}

/// The results of both sides of a load.
pub(super) struct Ran {
    pub(super) measurement: Measurement,
    pub(super) total: Part,
    pub(super) judgement: Judgement,
    pub(super) log: Log,
}

/// The server's log.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Log {
    pub(super) requests: u64,
    pub(super) out_of_order: u64,
    pub(super) gap_mean_ns: u64,
    pub(super) p50_ns: u64,
    pub(super) p90_ns: u64,
    pub(super) p99_ns: u64,
}

impl<'a> Bench<'a> {
    /// Chooses the last two CPUs: interrupts and other processes tend to run on the first ones.
    pub(super) fn new(
        asked: &crate::options::Load,
        stop: &'a AtomicBool,
    ) -> Result<Bench<'a>, Failure> {
        let cpus = match cores::allowed()[..] {
            [.., server, generator] => Some(Cpus { generator, server }),
            _ => None,
        };
        let congestion_control = congestion_control(asked.congestion_control.as_deref())?;
        Ok(Bench { cpus, io: asked.io, congestion_control, stop })
    }

    pub(super) fn cpus(&self) -> Option<Cpus> {
        self.cpus.clone()
    }

    pub(super) fn run(&self, wanted: Conditions<'_>) -> Result<Ran, Failure> {
        let cpu = self.cpus.as_ref().map(|cpus| cpus.server);
        let server = Server::start(&wanted, cpu, self.congestion_control.as_deref())?;
        let plan = self.plan(&wanted, server.address)?;
        let workload = Numbered { rest: rest(server.address) };
        let drivers = vec![Http1::new(wanted.connections, workload)];
        let measured = load::measure(&plan, drivers, vec![()], None, self.stop);
        let Measured { measurement, .. } = measured.map_err(|failure| {
            Failure::no_answer(format!("the self-test's server cannot be loaded: {failure:?}"))
        })?;
        let log = server.end()?;
        let judgement = judge(&plan, &measurement, Besides::default());
        let mut total = Part::default();
        measurement.parts.iter().for_each(|part| total.add(part));
        Ok(Ran { measurement, total, judgement, log })
    }

    fn plan(&self, wanted: &Conditions<'_>, address: SocketAddr) -> Result<Plan, Failure> {
        let pool = Pool { endpoints: vec![address.into()], connections: wanted.connections };
        let work = Work {
            asks_at_once: matches!(wanted.pacing, Pacing::Closed { .. }),
            one_request_each: false,
            connections: wanted.connections,
            kernel_timestamps: false,
        };
        Ok(Plan {
            drain: Nanos::from_secs(10),
            limits: Limits { open_gap: Nanos::from_micros(100), ..Limits::default() },
            network: Network::choose(self.io, work).map_err(Failure::question)?,
            timer: Timer::Hybrid,
            congestion_control: self.congestion_control.clone(),
            cpus: vec![self.cpus.as_ref().map(|cpus| cpus.generator)],
            seed: wanted.seed,
            ..Plan::whole(vec![pool], wanted.pacing.clone(), wanted.length)
        })
    }
}

/// Writes its number into each request, so that the server can check their order.
struct Numbered {
    /// The request after the number.
    rest: Vec<u8>,
}

fn rest(address: SocketAddr) -> Vec<u8> {
    format!(" HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes()
}

impl HttpWorkload for Numbered {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        write!(request.wire, "GET /{}", of.number).expect("writing to memory does not fail");
        request.wire.extend_from_slice(&self.rest);
        request.expected.push(Expected { body: Expect::Body, tag: 0, closes: false });
        Ok(())
    }
}

/// The most bytes that are read of what the server prints: a line when it is ready, and its log.
const MOST_PRINTED: u64 = 1 << 20;

/// `benchwright reference` as a process of its own, which ends with this one.
struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Server {
    fn start(
        wanted: &Conditions<'_>,
        cpu: Option<u32>,
        congestion_control: Option<&str>,
    ) -> Result<Server, Failure> {
        let failed = |why: String| Failure::no_answer(format!("the self-test's server: {why}"));
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.args(["reference", "--while-stdin", "--delay", wanted.delay]);
        command.args(["--seed", &wanted.seed.to_string()]);
        if let Some(name) = congestion_control {
            command.args(["--congestion-control", name]);
        }
        if net::epoll::kernel_timestamps_granted().is_ok() {
            command.arg("--kernel-timestamps");
        }
        if let Some(cpu) = cpu {
            command.args(["--cpu", &cpu.to_string()]);
        }
        // In its own process group, so that Ctrl-C reaches only this process: the server ends when
        // its standard input is closed.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let mut stdout = BufReader::new(child.stdout.take().expect("it was piped"));
        let mut line = String::new();
        let read = stdout.by_ref().take(MOST_PRINTED).read_line(&mut line);
        let address = line.trim().strip_prefix("ready http://").and_then(|text| text.parse().ok());
        match (read, address) {
            (Ok(_), Some(address)) => Ok(Server { child, stdout, address }),
            _ => {
                // It must not stay, whatever state it is in.
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(format!("it did not become ready, and printed {line:?}")))
            }
        }
    }

    /// Ends the server and returns its log.
    fn end(mut self) -> Result<Log, Failure> {
        drop(self.child.stdin.take());
        let mut text = String::new();
        let mut printed = self.stdout.by_ref().take(MOST_PRINTED);
        let read = printed.read_to_string(&mut text).map_err(|error| error.to_string());
        let log = read.and_then(|_| serde_json::from_str(&text).map_err(|e| e.to_string()));
        log.map_err(|error| Failure::no_answer(format!("the self-test's server: {error}: {text}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends by itself once its standard input is closed.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
