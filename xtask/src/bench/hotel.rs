//! The cost of a request of the hotel application: CPU time of all its processes and stores per
//! completed request of guide 1's mixed workload, at saturation and at half of that rate, with the
//! shares of services, stores, user and kernel.
//!
//! Everything except the generator runs on the server's CPU. Deployments take turns, so that a slow
//! hour of the machine affects all of them.

use std::path::Path;

use super::load::Load;
use super::machine::{Machine, Side};
use super::parts;
use super::summary::Summary;
use crate::{repository, tools};
use application::Application;

mod application;
mod stores;

#[cfg(test)]
mod tests;

/// The connections to each frontend.
const CONNECTIONS: usize = 32;
const WARM_UP: &str = "1s";
const DURATION: &str = "6s";

/// A deployment, and the most microseconds of CPU per request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deployment {
    instances: usize,
    /// The replicas of each service in an instance.
    replicas: usize,
    has_memcached: bool,
    has_postgres: bool,
    most_saturated: Option<f64>,
    most_at_half: Option<f64>,
}

const EMBEDDED: Deployment = Deployment {
    instances: 1,
    replicas: 1,
    has_memcached: false,
    has_postgres: false,
    most_saturated: Some(90.0),
    most_at_half: Some(220.0),
};

const DEPLOYMENTS: [Deployment; 5] = [
    EMBEDDED,
    Deployment {
        instances: 2,
        replicas: 2,
        most_saturated: Some(120.0),
        most_at_half: None,
        ..EMBEDDED
    },
    Deployment { has_memcached: true, most_saturated: None, most_at_half: None, ..EMBEDDED },
    Deployment {
        has_memcached: true,
        has_postgres: true,
        most_saturated: Some(160.0),
        most_at_half: None,
        ..EMBEDDED
    },
    Deployment {
        instances: 2,
        replicas: 2,
        has_memcached: true,
        has_postgres: true,
        most_saturated: None,
        most_at_half: None,
    },
];

/// The deployment for continuous integration. A shared machine may be twice as slow for an hour, and
/// a time that was measured once proves little: only a cost of another order fails.
const QUICK: Deployment =
    Deployment { most_saturated: Some(360.0), most_at_half: Some(660.0), ..EMBEDDED };

/// The figures of the original of 2022 on the same kind of machine (two CPUs, shared with its
/// generator), and the work that only one of the two does.
const ORIGINAL: &str = "\
the original of 2022 takes 885 µs per request saturated (closed loop, 32 connections), 947 to 2,118 µs
in open loops of 1,904/s to 500/s: one sweep, tracing off, MongoDB replaced by an in-memory server.
Ours does not do this work: looking up replicas in a registry (they are listed); tracing interceptors
around each call; garbage collection; encoding cached documents as JSON (they are protocol buffers);
with the embedded store, requests to a cache for rates and profiles (they are in the services' memory);
with any store, requests to a cache for rooms (one request to the store for all hotels of a search).
Ours does more: logins query the store, rooms are checked and reserved atomically, a booking
is in a file before it is acknowledged.";

/// Returns true if every deployment is within its bounds.
pub(super) fn run(
    machine: &Machine,
    attempts: usize,
    before: Option<&Path>,
) -> Result<bool, String> {
    tools::install_packages(&["memcached", "postgresql"]);
    let older = before.map(|folder| machine.with_older(folder)).transpose()?;
    run_all(machine, older.as_ref(), attempts, &DEPLOYMENTS)
}

/// Makes one attempt with the smallest deployment.
pub(super) fn run_quick(machine: &Machine) -> Result<bool, String> {
    run_all(machine, None, 1, &[QUICK])
}

fn run_all(
    machine: &Machine,
    older: Option<&Machine>,
    attempts: usize,
    deployments: &[Deployment],
) -> Result<bool, String> {
    println!(
        "CPU per request of all processes, release profile; {CONNECTIONS} connections per frontend"
    );
    let mut costs = vec![Costs::default(); deployments.len()];
    let mut before = costs.clone();
    for attempt in 1..=attempts {
        for (index, deployed) in deployments.iter().enumerate() {
            println!("\n{attempt:>3}  {deployed}");
            if let Some(older) = older {
                println!("     the older build");
                before[index].add(older, deployed)?;
                println!("     this build");
            }
            costs[index].add(machine, deployed)?;
        }
    }
    println!("\nµs per request, stores included");
    let mut passed = true;
    for (index, deployed) in deployments.iter().enumerate() {
        let Costs { saturated, at_half } = &costs[index];
        println!("{deployed}");
        passed &= print_costs("saturated", saturated, deployed.most_saturated);
        passed &= print_costs("at half of that rate", at_half, deployed.most_at_half);
        if older.is_some() {
            print_ratios("saturated", saturated, &before[index].saturated);
            print_ratios("at half of that rate", at_half, &before[index].at_half);
        }
    }
    println!("{ORIGINAL}");
    Ok(passed)
}

/// The microseconds per request of one deployment, by attempt.
#[derive(Clone, Default)]
struct Costs {
    saturated: Vec<f64>,
    at_half: Vec<f64>,
}

impl Costs {
    /// Makes one attempt.
    fn add(&mut self, machine: &Machine, deployed: &Deployment) -> Result<(), String> {
        let application = Application::start(machine, deployed)?;
        load(machine, &application, &["--closed", "--duration", WARM_UP])?;
        println!("     {} processes of ours", application.processes());
        println!("     saturated (closed loop)");
        let (load, cost) = measure(machine, &application, &["--closed"])?;
        self.saturated.push(cost);
        let rate = load.completed_per_s / 2.0 / application.frontends.len() as f64;
        let rate = format!("{rate:.0}/s");
        println!("     half of that, open loop, Poisson arrivals: {rate} per instance");
        let half = ["--rate", &rate, "--arrivals", "poisson"];
        self.at_half.push(measure(machine, &application, &half)?.1);
        Ok(())
    }
}

fn print_ratios(what: &str, costs: &[f64], before: &[f64]) {
    let ratios: Vec<f64> = costs.iter().zip(before).map(|(now, before)| now / before).collect();
    println!("     {what}: {} of the older build", Summary::of(&ratios));
}

fn print_costs(what: &str, costs: &[f64], most: Option<f64>) -> bool {
    let summary = Summary::of(costs);
    let attempts: Vec<String> = costs.iter().map(|cost| format!("{cost:.1}")).collect();
    let bound = most.map(|most| format!("; at most {most}")).unwrap_or_default();
    println!("     {what}: {}: {summary}{bound}", attempts.join(", "));
    most.is_none_or(|most| summary.median <= most)
}

/// Names the places of all data, and the failures that an acknowledged booking survives.
impl std::fmt::Display for Deployment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Deployment { instances, replicas, has_memcached, has_postgres, .. } = self;
        let documents = if *has_memcached { "one memcached" } else { "the services' memory" };
        let store = match has_postgres {
            true => "one PostgreSQL, a database per instance",
            false => "a process per instance",
        };
        write!(f, "instances {instances} × replicas {replicas}, all on one CPU; ")?;
        write!(f, "rates and profiles in {documents}; store {store}; ")?;
        write!(f, "a booking survives kill -9 but not a power failure")
    }
}

/// Measures the cost of a request in microseconds, and prints it with its shares.
fn measure(
    machine: &Machine,
    application: &Application,
    pacing: &[&str],
) -> Result<(Load, f64), String> {
    let words = [pacing, &["--duration", DURATION]].concat();
    parts::measure(|| application.cpu(), || load(machine, application, &words))
}

fn load(machine: &Machine, application: &Application, pacing: &[&str]) -> Result<Load, String> {
    let mut command = machine.command(Side::Client, &machine.benchwright);
    command.args(["load", "--warm-up", "0s", "--shards", "1"]);
    for frontends in &application.frontends {
        command.arg(format!("http://{}/", frontends[0])).args(["--address", &frontends.join(",")]);
    }
    if 1 < application.frontends.len() {
        command.arg("--per-target");
    }
    let connections = CONNECTIONS * application.frontends[0].len();
    command.args(["--connections", &connections.to_string()]).args(pacing);
    command.arg("--script").arg(repository::root().join("experiments/hotel-mixed.lua"));
    Load::run(&mut command)
}
