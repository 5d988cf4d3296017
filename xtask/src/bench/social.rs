//! The cost of a home-timeline read of the social network: CPU time of all its processes and stores
//! per completed read of guide 2's workload, at saturation and at half of that rate, with the shares
//! of services and stores; with the embedded store and with Redis. And the rate of the initialiser.
//!
//! Everything except the generator and the initialiser runs on the server's CPU. Deployments take
//! turns, so that a slow hour of the machine affects all of them.

use std::path::Path;
use std::process::Command;

use super::goal::{Finding, Goal};
use super::json::Value;
use super::load::Load;
use super::machine::{Machine, Side};
use super::parts::{self, Parts};
use super::summary::Summary;
use super::{machine, note};
use crate::{repository, tools};
use network::Network;

mod network;

#[cfg(test)]
mod tests;

/// The connections of the closed loop; the open one has a tenth for each request per second, as the
/// guide has.
const CONNECTIONS: usize = 32;
const WARM_UP: &str = "1s";
const DURATION: &str = "6s";

/// The users of the generated graph, and the posts of each.
const USERS: &str = "962";
const POSTS: &str = "110";

/// The most microseconds of CPU of a read, and the least requests per second of the initialiser.
const OF_A_READ: Goal = Goal::at_most(400.0, 250.0);
const OF_INITIALISER: Goal = Goal::AtLeast(super::goal::Bounds { must: 10_000.0, stretch: None });

/// The places of the timelines.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deployment {
    Embedded,
    Redis { replicas: usize },
}

const DEPLOYMENTS: [Deployment; 3] =
    [Deployment::Embedded, Deployment::Redis { replicas: 0 }, Deployment::Redis { replicas: 2 }];

/// The figures of the original on the same kind of machine (two CPUs, shared with its generator), and
/// the work that only one of the two does.
const ORIGINAL: &str = "\
The original takes about 2,000 µs of CPU per request (2,004 at 500/s of its mixed workload; 958 home \
reads per second saturate two CPUs), of which nginx with its Lua decoder and JSON encoder takes 55 %; \
its initialiser makes about 200 requests per second. \
Ours does not do this work: encoding a page as JSON at each read (a post is rendered once, when it is \
stored, and a page is a concatenation); a cache of posts beside their store (posts are in the store's \
memory), nor a new connection to it for each read; Thrift in an interpreted language; a thread for each \
connection; tracing. Without Redis a read asks no other server for the timeline. \
Ours does this work too: a call over a connection for each service, four in a read, each decoded and \
encoded; the whole of a page passes through all of them.";

/// Returns true if every goal is met.
pub(super) fn run(
    machine: &Machine,
    attempts: usize,
    to_note: Option<&Path>,
) -> Result<bool, String> {
    tools::install_packages(&["redis-server"]);
    println!(
        "CPU per home-timeline read of all processes, release profile; {USERS} users, {POSTS} posts \
         of each"
    );
    let (mut in_one, mut of_services) = (Vec::new(), Vec::new());
    let mut costs = DEPLOYMENTS.map(|_| Costs::default());
    for attempt in 1..=attempts {
        println!(
            "\n{attempt:>3}  all services in one process, which shares two CPUs with the initialiser"
        );
        let mut one = Parts::on(Side::Both, "social");
        let front = one.start(machine, "all-in-one", &network::cheap())?;
        in_one.push(initialise(machine, Side::Both, &front)?);
        drop(one);
        println!("\n{attempt:>3}  a process for each service, on the same two CPUs");
        let network = Network::start(machine, Side::Both, Deployment::Embedded)?;
        of_services.push(initialise(machine, Side::Both, &network.front)?);
        drop(network);
        for (deployed, costs) in DEPLOYMENTS.iter().zip(&mut costs) {
            println!("\n{attempt:>3}  {deployed}");
            measure(machine, *deployed, costs)?;
        }
    }
    println!();
    let of_initialiser = |services: &str, figures, goal| Finding {
        what: format!("initialiser, requests/s, two CPUs together with {services}"),
        figures,
        beside: "the original's script: about 200".to_owned(),
        goal,
    };
    let mut findings = vec![
        of_initialiser("all services in one process", in_one, OF_INITIALISER),
        of_initialiser("a process for each service", of_services, Goal::None),
    ];
    let of_deployments = DEPLOYMENTS.iter().zip(&costs);
    findings.extend(of_deployments.flat_map(|(deployed, costs)| costs.findings(*deployed)));
    findings.iter().for_each(|finding| println!("{finding}; {}", finding.beside));
    println!("{ORIGINAL}");
    if let Some(path) = to_note {
        let heading = "CPU of all processes per read, on one CPU; the load comes from another";
        note::add(
            path,
            "The cost of a home-timeline read",
            heading,
            &findings,
            &[ORIGINAL.to_owned()],
        )?;
    }
    Ok(findings.iter().all(Finding::is_met))
}

/// The figures of a deployment, one of each attempt.
#[derive(Debug, Default)]
struct Costs {
    /// Microseconds of CPU per read.
    saturated: Vec<f64>,
    at_half: Vec<f64>,
    /// The completed reads per second of the closed loop.
    rates: Vec<f64>,
    /// The requests per second of the initialiser.
    initialised: Vec<f64>,
}

impl Costs {
    fn findings(&self, deployed: Deployment) -> [Finding; 3] {
        let finding = |what: &str, figures: &[f64], beside: String, goal| Finding {
            what: format!("{what}; {deployed}"),
            figures: figures.to_vec(),
            beside,
            goal,
        };
        let rate = format!("{:.0} reads/s", Summary::of(&self.rates).median);
        let of_original = "the original: about 2,000".to_owned();
        [
            finding("read, saturated, µs", &self.saturated, rate, OF_A_READ),
            finding("read, at half of that rate, µs", &self.at_half, of_original, OF_A_READ),
            finding(
                "initialiser, requests/s",
                &self.initialised,
                "its own CPU".to_owned(),
                Goal::None,
            ),
        ]
    }
}

fn measure(machine: &Machine, deployed: Deployment, costs: &mut Costs) -> Result<(), String> {
    let network = Network::start(machine, Side::Server, deployed)?;
    costs.initialised.push(initialise(machine, Side::Client, &network.front)?);
    load(machine, &network, &["--closed", "--connections", "32", "--duration", WARM_UP])?;
    println!("     {} processes; saturated (closed loop)", network.parts.processes());
    let connections = CONNECTIONS.to_string();
    let words = ["--closed", "--connections", &connections, "--duration", DURATION];
    let cpu = || network.parts.cpu();
    let (saturated, cost) = parts::measure(cpu, || load(machine, &network, &words))?;
    costs.saturated.push(cost);
    costs.rates.push(saturated.completed_per_s);
    let half = saturated.completed_per_s / 2.0;
    let (rate, connections) = (format!("{half:.0}/s"), format!("{:.0}", (half / 10.0).ceil()));
    println!("     half of that, open loop, Poisson arrivals: {rate}");
    let words = ["--rate", &rate, "--arrivals", "poisson", "--connections", &connections];
    let words = [&words[..], &["--duration", DURATION]].concat();
    let (_, cost) = parts::measure(cpu, || load(machine, &network, &words))?;
    costs.at_half.push(cost);
    Ok(())
}

/// Registers the users with their follows and posts; returns the requests per second.
fn initialise(machine: &Machine, side: Side, front: &str) -> Result<f64, String> {
    let program = machine.benchwright.with_file_name("benchwright-apps");
    let mut command = machine.command(side, program);
    command.args(["social", "init", "--address", front, "--compose", POSTS, "--json"]);
    // Redis does not cut timelines at a length; none of these is as long as the store's bound then.
    command.args(["--max-timeline", network::LONGEST_TIMELINE]);
    let begun = machine::now();
    let output = command.output().map_err(|error| format!("starting the initialiser: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let failed = || format!("the initialiser: {}", String::from_utf8_lossy(&output.stderr).trim());
    let document = Value::read(&text).filter(|_| output.status.success()).ok_or_else(failed)?;
    let rate = document.number("requests_per_s").ok_or_else(failed)?;
    println!("     initialised in {}: {rate:.0} requests/s", machine::since(begun));
    Ok(rate)
}

fn load(machine: &Machine, network: &Network, words: &[&str]) -> Result<Load, String> {
    let mut command: Command = machine.command(Side::Client, &machine.benchwright);
    command.args(["load", &format!("http://{}", network.front), "--warm-up", "0s"]);
    command.args(["--shards", "1"]).args(words);
    command.arg("--script").arg(repository::root().join("experiments/social-home.lua"));
    // An answer without posts is cheaper, and so is an error.
    let load = Load::run_script(command.args(["--slo", "failures<=0%"]), &[USERS])?;
    match load.exit {
        Some(0 | 3) if 0 < load.completed => Ok(load),
        exit => Err(format!("of {} reads some failed (exit {exit:?})", load.completed)),
    }
}

/// Names the places of all data, and the failures that an acknowledged post survives.
impl std::fmt::Display for Deployment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Deployment::Embedded => write!(f, "timelines in the embedded store")?,
            Deployment::Redis { replicas: 0 } => write!(f, "timelines in Redis")?,
            Deployment::Redis { replicas } => {
                write!(f, "timelines in Redis, read from {replicas} replicas")?;
            }
        }
        if let Deployment::Redis { .. } = self {
            write!(f, ", on its disk within two seconds")?;
        }
        write!(f, "; a process for each service, all on one CPU; ")?;
        write!(f, "a post survives kill -9 but not a power failure")
    }
}
