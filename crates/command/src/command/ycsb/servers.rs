//! The bindings of `benchwright ycsb load` and `run` to servers: the engine sends the operations.

use std::net::ToSocketAddrs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use console::output::{Exit, Failure};
use generator::ycsb::client::{self, Client, Done, Servers, undividable};
use generator::ycsb::unusable::{Words, reason, unprepared_redis, unusable};
use generator::ycsb::{NotMeasured, token};
use load::driver::resp::Login;
use load::shard::Unopened;
use measure::Nanos;
use net::Endpoint;
use wire::url::{Scheme, host_and_port};
use ycsb::settings::Settings;
use ycsb::{kv, redis};

use super::ending::named;
use super::run::{Prepared, teller};

#[cfg(test)]
mod tests;

/// The operations that one connection of the key-value store can have outstanding.
const MOST_THREADS: u32 = u16::MAX as u32;
/// The words for what helps against a key-value store that refuses a client.
const WORDS: Words =
    Words { token: "-p kv.tokenfile=FILE", servers: "kv.servers", connections: "--shards" };

/// The end of the operations, and the places of the servers.
type Sent = (Done, Vec<String>);

/// Sends the operations to Redis.
pub(super) fn redis(prepared: &Prepared, stop: &AtomicBool) -> Result<Sent, Failure> {
    let server = redis::Server::of(prepared.properties).map_err(Failure::question)?;
    let redis::Server { host, port, password, timeout } = server;
    let server = endpoint("redis.host", &host, port)?;
    let login = Login { user: None, password, database: 0 };
    let place = format!("{host}:{port}");
    let servers = Servers::Redis { server, login };
    run(prepared, (servers, vec![place]), timeout, of_redis, stop)
}

/// Sends the operations to key-value servers.
pub(super) fn kv(prepared: &Prepared, stop: &AtomicBool) -> Result<Sent, Failure> {
    let Prepared { properties, workload, settings, .. } = prepared;
    let form = kv::Settings::of(properties, workload, kv::TIMEOUT).map_err(Failure::question)?;
    let places = kv::servers(properties).map_err(Failure::question)?;
    let refuse = |why: &str| Failure::question(properties.wrong("kv.servers", why));
    // Before thousands of names are looked up.
    if let Some(why) = undividable(&places) {
        return Err(refuse(&why));
    }
    let servers = places.iter().map(|place| {
        let wrong = |why| Failure::question(format!("kv.servers: `{place}`: {why}"));
        let (host, port) = host_and_port(place).map_err(wrong)?;
        endpoint("kv.servers", host, port.unwrap_or(Scheme::Kv.port()))
    });
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    if let Some(why) = undividable(&servers) {
        return Err(refuse(&why));
    }
    let file = kv::token_file(properties);
    let token = file.map(|file| token::read("kv.tokenfile", Path::new(&file)));
    let token = token.transpose().map_err(Failure::question)?;
    let servers = Servers::Kv { servers, form, token };
    if MOST_THREADS < settings.threads {
        let why = format!("is over {MOST_THREADS}, the most of this binding; use several --client");
        return Err(Failure::question(properties.wrong("threadcount", &why)));
    }
    run(prepared, (servers, places), kv::TIMEOUT, |why| unusable(why, &WORDS), stop)
}

/// Finds the address of a host.
fn endpoint(property: &str, host: &str, port: u16) -> Result<Endpoint, Failure> {
    let found = (host, port).to_socket_addrs().map(|mut addresses| addresses.next());
    let why = match found {
        Ok(Some(address)) => return Ok(address.into()),
        Ok(None) => "it has no address".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Failure::question(format!(
        "{property}: `{host}`: {why}; correct the name, or write its address"
    )))
}

/// Returns why Redis cannot be used, with the remedy.
fn of_redis(why: Option<&Unopened>) -> String {
    let password = "-p redis.password=…, or in a file with -P";
    let known = match why {
        Some(Unopened::Unprepared(why)) => {
            unprepared_redis(why, password, "--shards, each of which has a connection")
        }
        _ => None,
    };
    known.unwrap_or_else(|| {
        format!(
            "{}\n  start Redis there, or correct redis.host, redis.port and redis.password",
            reason(why)
        )
    })
}

/// Sends the operations to servers, which are at these places. `unusable` says why they cannot be used.
fn run(
    prepared: &Prepared,
    (servers, places): (Servers, Vec<String>),
    timeout: Nanos,
    unusable: impl Fn(Option<&Unopened>) -> String,
    stop: &AtomicBool,
) -> Result<Sent, Failure> {
    let Prepared { arguments, workload, settings, .. } = prepared;
    net::process::raise_open_files();
    let client = Client {
        workload: Arc::clone(workload),
        settings: Settings::clone(settings),
        servers,
        timeout,
        shards: arguments.shards,
        seed: arguments.seed,
    };
    let done = client::run(&client, stop, &mut teller(prepared));
    let done = done.map_err(|why| explain(&why, &places, unusable))?;
    Ok((done, places))
}

fn explain(
    why: &NotMeasured,
    places: &[String],
    unusable: impl Fn(Option<&Unopened>) -> String,
) -> Failure {
    match why {
        NotMeasured::Unreachable { why, .. } => {
            let why = unusable(why.as_ref());
            Failure::no_answer(format!("{} cannot be used: {why}", named(places)))
        }
        NotMeasured::Fault(fault) => Failure::no_answer(fault),
        NotMeasured::Machine(problem) => Failure::no_answer(problem),
        NotMeasured::Interrupted => Failure {
            exit: Exit::Interrupted,
            error: anyhow::anyhow!("interrupted before anything was measured"),
        },
    }
}
