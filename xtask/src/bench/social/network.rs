//! The social network as deployed for the bench: a process for each service, and Redis.

use std::collections::BTreeMap;

use super::Deployment;
use crate::bench::foreign::{free_port, start, wait_until_it_listens};
use crate::bench::machine::{self, Machine, Process, Side};
use crate::bench::parts::Parts;
use crate::bench::scratch::Scratch;

/// The services, in the order of their start, with those that each calls. Timelines are in the store
/// or in Redis.
const SERVICES: [(&str, &[&str]); 13] = [
    ("store", &[]),
    ("post-storage", &["store"]),
    ("user", &["store"]),
    ("social-graph", &["store", "user"]),
    ("home-timeline", &["timelines", "post-storage", "social-graph"]),
    ("user-timeline", &["timelines", "post-storage"]),
    ("url-shorten", &["store"]),
    ("user-mention", &["store"]),
    ("text", &["url-shorten", "user-mention"]),
    ("media", &[]),
    ("unique-id", &[]),
    (
        "compose-post",
        &["text", "user", "media", "unique-id", "post-storage", "user-timeline", "home-timeline"],
    ),
    ("front", &["store", "user", "social-graph", "compose-post", "user-timeline", "home-timeline"]),
];

/// The most posts of a timeline: more than any has here.
pub(super) const LONGEST_TIMELINE: &str = "1000000";

/// Returns the arguments that make passwords cheap: bcrypt would be most of a registration.
pub(super) fn cheap() -> Vec<String> {
    let arguments = ["--password-hash", "salted-sha256", "--max-timeline", LONGEST_TIMELINE];
    arguments.map(str::to_owned).to_vec()
}

/// A running network.
pub(super) struct Network {
    pub(super) parts: Parts,
    /// The address of the front.
    pub(super) front: String,
    /// Removed after the processes have ended.
    _folder: Scratch,
}

impl Network {
    pub(super) fn start(
        machine: &Machine,
        side: Side,
        deployed: Deployment,
    ) -> Result<Network, String> {
        let folder = Scratch::make("social")?;
        let mut parts = Parts::on(side, "social");
        let redis = match deployed {
            Deployment::Embedded => None,
            Deployment::Redis { replicas } => {
                Some(start_redis(machine, &mut parts, &folder, replicas)?)
            }
        };
        let mut addresses: BTreeMap<&str, String> = BTreeMap::new();
        for (name, calls) in &SERVICES {
            let mut arguments = Vec::new();
            for called in *calls {
                match (*called, &redis) {
                    ("timelines", Some(redis)) => arguments.extend_from_slice(redis),
                    ("timelines", None) => {
                        arguments.extend(["--store".to_owned(), addresses["store"].clone()]);
                    }
                    _ => arguments.extend([format!("--{called}"), addresses[called].clone()]),
                }
            }
            match *name {
                "store" => arguments.extend_from_slice(&cheap()[2..]),
                "user" => arguments.extend_from_slice(&cheap()[..2]),
                "front" => arguments.extend(redis.clone().unwrap_or_default()),
                _ => {}
            }
            addresses.insert(name, parts.start(machine, name, &arguments)?);
        }
        let front = addresses["front"].clone();
        Ok(Network { parts, front, _folder: folder })
    }
}

/// Starts a primary with replicas; returns the arguments of services that use them.
fn start_redis(
    machine: &Machine,
    parts: &mut Parts,
    folder: &Scratch,
    replicas: usize,
) -> Result<Vec<String>, String> {
    if !machine::is_there("redis-server") {
        return Err("Redis is missing; install the package redis-server".to_owned());
    }
    // A rewrite of the file would be in the way of a measurement.
    let durable =
        ["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"];
    let durable = durable.map(str::to_owned);
    let (primary, process) = redis(machine, parts.side(), folder, &durable)?;
    parts.add("redis", process);
    let mut arguments = vec!["--redis".to_owned(), format!("127.0.0.1:{primary}")];
    let mut addresses = Vec::new();
    for _ in 0..replicas {
        let follow = ["--replica-serve-stale-data", "no", "--replicaof"].map(str::to_owned);
        let follow = [&follow[..], &[format!("127.0.0.1 {primary}")]].concat();
        let (port, process) = redis(machine, parts.side(), folder, &follow)?;
        parts.add("redis-replica", process);
        addresses.push(format!("127.0.0.1:{port}"));
    }
    if !addresses.is_empty() {
        arguments.extend(["--redis-replicas".to_owned(), addresses.join(",")]);
    }
    Ok(arguments)
}

fn redis(
    machine: &Machine,
    side: Side,
    folder: &Scratch,
    words: &[String],
) -> Result<(u16, Process), String> {
    let port = free_port();
    let data = folder.path(&port.to_string());
    std::fs::create_dir_all(&data)
        .map_err(|error| format!("making {}: {error}", data.display()))?;
    let mut command = machine.command(side, "redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
    command.args(["--repl-diskless-sync-delay", "0", "--dir"]).arg(data).args(words);
    let process = start(&mut command)?;
    wait_until_it_listens(port, "Redis")?;
    Ok((port, process))
}
