//! The cost of an event in the channel: CPU time of its process per event that it accepts, keeps and
//! delivers to one subscriber, by the way in which events are kept. The reciprocal is the rate of one
//! CPU. Brokers are measured behind the same channel in turn with it. A lost or doubled event fails
//! the bench.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use measure::Nanos;

use super::goal::{Finding, Goal};
use super::json::Value;
use super::machine::{self, Cpu, Machine, Others, Process, Side};
use super::note;
use super::scratch::Scratch;
use super::summary::Summary;
use crate::repository;

/// A way in which the channel keeps events.
struct Way {
    what: &'static str,
    arguments: &'static [&'static str],
    broker: Option<&'static Broker>,
    /// The rate of the load: what the CPU of the generator and the receiver carries.
    rate: &'static str,
    /// The connections of the generator, and the most requests on each before their responses.
    connections: [&'static str; 2],
    goal: Goal,
}

/// A broker that the channel keeps its events in.
struct Broker {
    program: &'static str,
    /// Its arguments before the port, and behind the folder of its data.
    arguments: [&'static [&'static str]; 2],
    scheme: &'static str,
    package: &'static str,
}

const REDIS: Broker = Broker {
    program: "redis-server",
    arguments: [
        &["--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--port"],
        &["--dir"],
    ],
    scheme: "redis",
    package: "package redis-server",
};
const NATS: Broker = Broker {
    program: "nats-server",
    arguments: [&["-a", "127.0.0.1", "-js", "-p"], &["-sd"]],
    scheme: "nats",
    package: "`cargo xtask brokers`",
};

const PIPELINED: [&str; 2] = ["4", "64"];
const ONE_AT_A_TIME: [&str; 2] = ["128", "1"];

const WAYS: [Way; 6] = [
    Way {
        what: "in memory, enqueued",
        arguments: &["--acknowledge", "enqueued", "--pipeline", "64", "--in-flight", "512"],
        broker: None,
        rate: "40k/s",
        connections: PIPELINED,
        goal: Goal::at_least(50_000.0, 80_000.0),
    },
    Way {
        what: "own log, durable: fsync of each group",
        arguments: &["--acknowledge", "durable", "--pipeline", "64", "--in-flight", "512"],
        broker: None,
        rate: "15k/s",
        connections: ONE_AT_A_TIME,
        goal: Goal::at_least(20_000.0, 40_000.0),
    },
    Way {
        what: "in memory, enqueued, one request at a time on each connection",
        arguments: &["--acknowledge", "enqueued"],
        broker: None,
        rate: "10k/s",
        connections: ONE_AT_A_TIME,
        goal: Goal::None,
    },
    Way {
        what: "own log, durable, one request at a time on each connection",
        arguments: &["--acknowledge", "durable"],
        broker: None,
        rate: "10k/s",
        connections: ONE_AT_A_TIME,
        goal: Goal::None,
    },
    Way {
        what: "Redis streams, durable: appendfsync everysec",
        arguments: &["--acknowledge", "durable"],
        broker: Some(&REDIS),
        rate: "5k/s",
        connections: ONE_AT_A_TIME,
        goal: Goal::None,
    },
    Way {
        what: "NATS JetStream, durable: file store, fsync every 2 minutes (its default)",
        arguments: &["--acknowledge", "durable"],
        broker: Some(&NATS),
        rate: "5k/s",
        connections: ONE_AT_A_TIME,
        goal: Goal::None,
    },
];

/// The place where the generator receives the events.
const RECEIVER: &str = "127.0.0.1:18082";

const SECONDS: &str = "5s";

/// The figures of one load.
struct Figures {
    /// CPU time of an event in the channel, and in its broker.
    event_s: f64,
    broker_s: f64,
    delivery_p50_ms: f64,
    accepted_per_s: f64,
}

/// Measures the ways in turn; returns true if the goals are met.
pub(super) fn run(
    machine: &Machine,
    attempts: usize,
    to_note: Option<&Path>,
) -> Result<bool, String> {
    let ways: Vec<&Way> = WAYS.iter().filter(|way| is_there(way)).collect();
    let mut measured: Vec<Vec<Figures>> = ways.iter().map(|_| Vec::new()).collect();
    for attempt in 1..=attempts {
        for (way, figures) in ways.iter().zip(&mut measured) {
            let (of_way, others) = measure(machine, way)?;
            println!(
                "{attempt:>3}  {}: {:.2} us of CPU per event{}, delivery p50 {:.2} ms; {others:.2} CPUs \
                 used by others",
                way.what,
                1e6 * of_way.event_s,
                of_broker(of_way.broker_s),
                of_way.delivery_p50_ms
            );
            figures.push(of_way);
        }
    }
    println!();
    let findings: Vec<Finding> =
        ways.iter().zip(&measured).map(|(way, all)| finding(way, all)).collect();
    findings.iter().for_each(|finding| println!("{finding}; {}", finding.beside));
    if let Some(path) = to_note {
        let heading = "Events per CPU-second of the channel's process, 100 B, one subscriber";
        let closing = format!("The logs are in {}.", machine::scratch().display());
        note::add(path, "The cost of an event", heading, &findings, &[closing])?;
    }
    Ok(findings.iter().all(|finding| finding.goal.is_met(finding.summary().median)))
}

fn finding(way: &Way, all: &[Figures]) -> Finding {
    let median =
        |of: fn(&Figures) -> f64| Summary::of(&all.iter().map(of).collect::<Vec<f64>>()).median;
    let [connections, pipeline] = way.connections;
    Finding {
        what: way.what.to_owned(),
        figures: all.iter().map(|figures| 1.0 / figures.event_s).collect(),
        beside: format!(
            "{:.0}/s accepted of {}, {connections} connections × {pipeline}; delivery p50 {:.2} ms{}",
            median(|figures| figures.accepted_per_s),
            way.rate,
            median(|figures| figures.delivery_p50_ms),
            of_broker(median(|figures| figures.broker_s)),
        ),
        goal: way.goal,
    }
}

/// Returns the CPU time of an event in the broker in words, if there is one.
fn of_broker(seconds: f64) -> String {
    match seconds {
        0.0 => String::new(),
        seconds => format!(", and {:.2} us in the broker", 1e6 * seconds),
    }
}

fn is_there(way: &Way) -> bool {
    let Some(broker) = way.broker else { return true };
    let is_there = path(broker).is_some();
    if !is_there {
        println!("not measured: {} ({} is missing: {})", way.what, broker.program, broker.package);
    }
    is_there
}

fn path(broker: &Broker) -> Option<std::path::PathBuf> {
    let built = repository::target().join("brokers").join(broker.program);
    match built.is_file() {
        true => Some(built),
        false => machine::is_there(broker.program).then(|| broker.program.into()),
    }
}

/// Starts a broker with its data in a folder; returns its process and its address.
fn start(machine: &Machine, broker: &Broker, data: &Path) -> Result<(Process, String), String> {
    let program = path(broker).ok_or_else(|| format!("{} is missing", broker.program))?;
    std::fs::create_dir_all(data).map_err(|error| format!("{}: {error}", data.display()))?;
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.map_err(|error| format!("a free port: {error}"))?.port();
    let mut command: Command = machine.command(Side::Server, program);
    command.args(broker.arguments[0]).arg(port.to_string());
    command.args(broker.arguments[1]).arg(data);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let process = Process::start(&mut command)?;
    // The channel waits for it.
    Ok((process, format!("{}://127.0.0.1:{port}", broker.scheme)))
}

/// Measures one load; returns its figures, and the CPUs that others used.
fn measure(machine: &Machine, way: &Way) -> Result<(Figures, f64), String> {
    let scratch = Scratch::make("channel")?;
    let broker = way.broker.map(|broker| start(machine, broker, &scratch.path("broker")));
    let broker = broker.transpose()?;
    let program = machine.benchwright.with_file_name("benchwright-apps");
    let mut command = machine.command(Side::Server, program);
    let subscriber = format!("http://{RECEIVER}/");
    command.args(["channel", "--subscriber", &subscriber]).args(way.arguments);
    match &broker {
        Some((_, url)) => command.args(["--broker", url]),
        None if way.arguments.contains(&"durable") => {
            command.arg("--data").arg(scratch.path("log"))
        }
        None => &mut command,
    };
    let mut process = Process::start(command.stdout(Stdio::piped()))?;
    let (_, url) = machine::ready(&mut process).ok_or("the channel did not become ready")?;
    let cpu = |process: &Process| Cpu::of(process.0.id()).map(|cpu| cpu.all).ok_or("it has died");
    let cpus = || -> Result<[Nanos; 2], String> {
        let of_broker = broker.as_ref().map_or(Ok(Nanos::ZERO), |(process, _)| cpu(process));
        Ok([cpu(&process)?, of_broker?])
    };
    let (others, before) = (Others::watch(), cpus()?);
    let mut load = machine.command(Side::Client, &machine.benchwright);
    load.args(["load", &url, "--events", "binary", "--receive", RECEIVER, "--rate", way.rate]);
    let [connections, pipeline] = way.connections;
    load.args(["--connections", connections, "--pipeline", pipeline, "--shards", "1"]);
    // All events are in the measurement, as all CPU time is.
    load.args(["--warm-up", "0s", "--duration", SECONDS, "--progress", "never", "--json"]);
    let output = load.output();
    let output = output.map_err(|error| format!("starting the generator: {error}"))?;
    let after = cpus()?;
    let [used, of_broker] =
        [0, 1].map(|index| after[index].saturating_sub(before[index]).as_secs_f64());
    let others = (others.share() - (used + of_broker) / others.seconds()).max(0.0);
    let document = Value::read(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        format!("the generator: {}", String::from_utf8_lossy(&output.stderr).trim())
    })?;
    let number = |path: &str| document.number(path).ok_or_else(|| format!("no {path}"));
    let accepted = number("events.accepted")?;
    for fault in ["events.refused", "events.lost", "events.duplicated", "events.unnoted"] {
        let count = number(fault)?;
        if 0.0 < count {
            return Err(format!("{}: {fault} is {count}, of {accepted} events", way.what));
        }
    }
    let figures = Figures {
        event_s: used / accepted,
        broker_s: of_broker / accepted,
        delivery_p50_ms: number("events.delivery_time.p50_ns")? / 1e6,
        accepted_per_s: accepted / number("measured_s")?,
    };
    Ok((figures, others))
}
