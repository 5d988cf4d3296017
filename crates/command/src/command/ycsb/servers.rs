//! The bindings of `benchwright ycsb load` and `run` to servers: the engine sends the operations.

use std::net::ToSocketAddrs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use console::output::{self as printed, Exit, Failure};
use generator::ycsb::client::{self, Client, Done, PATIENCE, Servers, undividable};
use generator::ycsb::{NotMeasured, token, unusable};
use load::driver::resp::{Login, WANTS_PASSWORD};
use load::shard::Unopened;
use measure::Nanos;
use measure::quantity::counted;
use net::Endpoint;
use wire::url::{Scheme, host_and_port};
use ycsb::settings::Settings;
use ycsb::{kv, redis};

use super::run::{Prepared, teller};

#[cfg(test)]
mod tests;

/// The operations that one connection of the key-value store can have outstanding.
const MOST_THREADS: u32 = u16::MAX as u32;

/// Sends the operations to Redis.
pub(super) fn redis(prepared: &Prepared, stop: &AtomicBool) -> Result<Done, Failure> {
    let server = redis::Server::of(prepared.properties).map_err(Failure::question)?;
    let redis::Server { host, port, password, timeout } = server;
    let server = endpoint("redis.host", &host, port)?;
    let login = Login { user: None, password, database: 0 };
    let place = format!("{host}:{port}");
    let servers = Servers::Redis { server, login };
    let remedy = "start Redis there, or correct redis.host, redis.port and redis.password";
    run(prepared, (servers, &[place]), timeout, remedy, stop)
}

/// Sends the operations to key-value servers.
pub(super) fn kv(prepared: &Prepared, stop: &AtomicBool) -> Result<Done, Failure> {
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
    let remedy = "start it with `benchwright kv serve`, or correct kv.servers";
    run(prepared, (servers, &places), kv::TIMEOUT, remedy, stop)
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

/// Sends the operations to servers, which are at these places.
fn run(
    prepared: &Prepared,
    (servers, places): (Servers, &[String]),
    timeout: Nanos,
    remedy: &str,
    stop: &AtomicBool,
) -> Result<Done, Failure> {
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
    let done = client::run(&client, stop, &mut teller(settings));
    let done = done.map_err(|why| explain(&why, places, remedy))?;
    if let Some(why) = done.why {
        printed::error(&format!("warning: the first failure that has a reason: {why}"));
    }
    let has_target = settings.target.is_some();
    let is_late = has_target && !done.ran.is_interrupted && Nanos::ZERO < done.late;
    let unfinished = counted(done.unfinished);
    match () {
        () if done.is_given_up => printed::error(&format!(
            "error: the run ended early: {} could not be reached for {}, and the result is that of the time until then\n  \
             start it, and run again",
            named(places),
            PATIENCE.in_words()
        )),
        () if done.is_overloaded => printed::error(
            "warning: the run ended early: a million operations waited for their turn; use a lower target, \
             or more threads",
        ),
        () if is_late => printed::error(&format!(
            "warning: {unfinished} operations were due and had not ended with the run, which was {} late: \
             the target is too high; use a lower one, or more threads",
            done.late
        )),
        () if done.unfinished != 0 => printed::error(&format!(
            "warning: {unfinished} operations were outstanding at the end; they are not counted"
        )),
        () => {}
    }
    Ok(Done { is_overloaded: done.is_overloaded || is_late, ..done })
}

/// Names the servers, the first ones of many.
fn named(places: &[String]) -> String {
    const MOST: usize = 4;
    match places {
        [one] => format!("the server {one}"),
        _ if places.len() <= MOST => format!("the servers {}", places.join(", ")),
        _ => {
            let (first, others) = places.split_at(MOST - 1);
            let others = counted(others.len() as u64);
            format!("the servers {} and {others} more", first.join(", "))
        }
    }
}

fn explain(why: &NotMeasured, places: &[String], remedy: &str) -> Failure {
    match why {
        NotMeasured::Unreachable { why, .. } => {
            let why = match why {
                Some(Unopened::Unprepared(WANTS_PASSWORD)) => {
                    "it wants a password; give it with -p redis.password=…, or in a file with -P"
                        .to_owned()
                }
                _ => unusable(why.as_ref(), "-p kv.tokenfile=FILE"),
            };
            Failure::no_answer(format!("{} cannot be used: {why}\n  {remedy}", named(places)))
        }
        NotMeasured::Fault(fault) => Failure::no_answer(fault),
        NotMeasured::Machine(problem) => Failure::no_answer(problem),
        NotMeasured::Interrupted => Failure {
            exit: Exit::Interrupted,
            error: anyhow::anyhow!("interrupted before anything was measured"),
        },
    }
}
