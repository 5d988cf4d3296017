//! The requests: each is passed to the next ready replica.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HeaderMap, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use hyper::{Method, Request, StatusCode, Uri};
use tokio::time;

use super::Process;
use super::backend::Backend;
use super::command::{Command, Rule};
use super::metrics::{Metrics, Outcome};
use super::probe;
use crate::kit::answer::{PROMETHEUS, of_type};
use crate::kit::client::Failure;
use crate::kit::events::Events;
use crate::kit::lock::lock;
use crate::kit::metrics::Metrics as _;
use crate::kit::process;
use crate::kit::rpc::Addresses;
use crate::kit::serve::{FullResponse, Head, Site};
use crate::kit::statistics::Statistics;

#[cfg(test)]
mod tests;

const READY: &str = "/balancer/ready";
const METRICS: &str = "/balancer/metrics";

/// The interval at which a list that may change is read.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// The header fields of one connection, which are not passed on (RFC 9110, 7.6.1).
const OF_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

struct Balancer {
    replicas: Arc<Replicas>,
    deadline: Duration,
    metrics: Arc<Metrics>,
    statistics: Arc<Statistics>,
}

/// The list of replicas, which may change.
struct Replicas {
    command: Command,
    list: Mutex<Arc<[Arc<Backend>]>>,
    next: AtomicUsize,
    metrics: Arc<Metrics>,
    events: Arc<Events>,
}

/// Runs a process of the balancer until a signal ends it.
pub fn run(command: Command) -> anyhow::Result<()> {
    process::run(command.common.clone(), async |process: &Process| {
        let events = Arc::new(Events::beside(command.common.statistics.as_deref())?);
        let addresses = command.backends.clone();
        let replicas = Arc::new(Replicas {
            command: command.clone(),
            list: Mutex::new(Arc::from([])),
            next: AtomicUsize::new(0),
            metrics: Arc::clone(&process.metrics),
            events,
        });
        replicas.replace(&replicas.understood(addresses.look().await)?);
        if addresses.may_change() {
            tokio::spawn(follow(Arc::clone(&replicas), addresses));
        }
        Ok(Balancer {
            replicas,
            deadline: command.common.deadline,
            metrics: Arc::clone(&process.metrics),
            statistics: Arc::clone(&process.statistics),
        })
    })
}

/// Reads a list that may change. If replicas are probed, a list that cannot be read at the moment
/// changes nothing.
async fn follow(replicas: Arc<Replicas>, addresses: Addresses) {
    loop {
        time::sleep(BETWEEN_LOOKS).await;
        if let Ok(found) = replicas.understood(addresses.look().await) {
            replicas.replace(&found);
        }
    }
}

impl Replicas {
    /// Returns the addresses that a look at the list means.
    fn understood(
        &self,
        look: anyhow::Result<BTreeSet<String>>,
    ) -> anyhow::Result<BTreeSet<String>> {
        match self.command.readiness {
            Rule::Probed => look,
            Rule::Listed => Ok(look.unwrap_or_default()),
        }
    }

    /// Keeps the replicas that are still listed, adds new ones and drops the others.
    fn replace(&self, addresses: &BTreeSet<String>) {
        let mut list = lock(&self.list);
        let is_new = |address: &&String| list.iter().all(|one| one.address != **address);
        let new: Vec<_> = addresses.iter().filter(is_new).map(|one| self.begin(one)).collect();
        let (kept, gone): (Vec<_>, Vec<_>) =
            list.iter().cloned().partition(|one| addresses.contains(&one.address));
        for one in gone {
            one.leave();
            if self.command.readiness == Rule::Listed {
                self.metrics.stands(&one.address, false);
                self.events.note(&one.address, Some("not ready: it is not listed any more"));
            }
        }
        *list = kept.into_iter().chain(new).collect();
    }

    /// Begins with a replica. One that is probed is not ready before its first probe.
    fn begin(&self, address: &str) -> Arc<Backend> {
        let backend = Arc::new(Backend::new(address));
        let (metrics, events) = (Arc::clone(&self.metrics), Arc::clone(&self.events));
        match self.command.readiness {
            Rule::Probed => {
                let probes = self.command.probes.clone();
                tokio::spawn(probe::follow(Arc::clone(&backend), probes, metrics, events));
            }
            Rule::Listed => {
                backend.set_ready(true);
                metrics.stands(address, true);
                events.note(address, None);
            }
        }
        backend
    }

    /// Returns true if all replicas are ready, and as many as are wanted, if a number is.
    fn are_ready(&self, wanted: Option<usize>) -> bool {
        let list = lock(&self.list);
        let are_wanted = wanted.is_none_or(|wanted| list.len() == wanted);
        !list.is_empty() && are_wanted && list.iter().all(|one| one.is_ready())
    }

    /// Returns the ready replicas, beginning with the one whose turn it is.
    fn in_turn(&self) -> Vec<Arc<Backend>> {
        let list = Arc::clone(&lock(&self.list));
        let mut ready: Vec<_> = list.iter().filter(|one| one.is_ready()).cloned().collect();
        if !ready.is_empty() {
            let turn = self.next.fetch_add(1, Ordering::Relaxed) % ready.len();
            ready.rotate_left(turn);
        }
        ready
    }
}

impl Site for Balancer {
    async fn answer(&self, request: Request<Bytes>) -> FullResponse {
        match request.uri().path() {
            READY => return self.readiness(request.uri().query()),
            METRICS => return text(StatusCode::OK, self.metrics.text()),
            _ => {}
        }
        let began = now();
        let (outcome, response) = self.pass(request).await;
        self.metrics.answered(outcome, began.elapsed());
        response
    }

    fn keeps_body(&self, _: &Head) -> bool {
        true
    }

    fn refused_connection(&self) {
        self.metrics.basic().refused_connection();
    }
}

impl Balancer {
    fn readiness(&self, query: Option<&str>) -> FullResponse {
        let given = query.map(|query| query.strip_prefix("replicas=").map(str::parse));
        let wanted = match given {
            None => None,
            Some(Some(Ok(number))) => Some(number),
            Some(_) => {
                return text(StatusCode::BAD_REQUEST, "write for example ?replicas=2\n");
            }
        };
        match self.replicas.are_ready(wanted) {
            true => text(StatusCode::OK, "ok\n"),
            false => text(StatusCode::SERVICE_UNAVAILABLE, "the replicas are not ready\n"),
        }
    }

    /// Passes a request to the next ready replica. One that cannot be connected is passed over.
    async fn pass(&self, request: Request<Bytes>) -> (Outcome, FullResponse) {
        let Some(mut request) = passed_on(request) else {
            return (Outcome::Wrong, text(StatusCode::BAD_REQUEST, "this cannot be passed on\n"));
        };
        let ready = self.replicas.in_turn();
        if ready.is_empty() {
            let none = text(StatusCode::SERVICE_UNAVAILABLE, "no replica is ready\n");
            return (Outcome::NoneReady, none);
        }
        let _asked = self.statistics.ask();
        let until = time::Instant::now() + self.deadline;
        let mut last = String::new();
        for backend in ready {
            match time::timeout_at(until, backend.client.ask(request)).await {
                Ok(Ok(mut response)) => {
                    remove_of_connection(response.headers_mut());
                    return (Outcome::Passed, response.map(Full::new));
                }
                Ok(Err(Failure::Unsent(unsent, why))) => {
                    self.metrics.passed_over();
                    request = *unsent;
                    last = format!("{}: {why}\n", backend.address);
                }
                Ok(Err(Failure::Broken(why))) => {
                    let why = format!("{}: {why}\n", backend.address);
                    return (Outcome::Unreachable, text(StatusCode::BAD_GATEWAY, why));
                }
                Err(_) => {
                    let why = format!("no response within {:?}\n", self.deadline);
                    return (Outcome::Late, text(StatusCode::GATEWAY_TIMEOUT, why));
                }
            }
        }
        (Outcome::Unreachable, text(StatusCode::BAD_GATEWAY, last))
    }
}

/// Returns the request as a replica gets it; `None` if it is not for an origin server.
fn passed_on(request: Request<Bytes>) -> Option<Request<Full<Bytes>>> {
    let (mut head, body) = request.into_parts();
    let target = head.uri.path_and_query()?.clone();
    if head.method == Method::CONNECT {
        return None;
    }
    head.uri = Uri::from(target);
    remove_of_connection(&mut head.headers);
    Some(Request::from_parts(head, Full::new(body)))
}

fn remove_of_connection(headers: &mut HeaderMap) {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> = values
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
}

fn text(code: StatusCode, body: impl Into<Bytes>) -> FullResponse {
    of_type(code, PROMETHEUS, body)
}

#[expect(clippy::disallowed_methods, reason = "a server measures its own real time")]
fn now() -> Instant {
    Instant::now()
}
