//! The HTTP side of the channel: events in, and their acknowledgements out.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use anyhow::ensure;
use hyper::body::Bytes;
use hyper::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};
use tokio::time::Instant;

use super::Process;
use super::broker::address::{Address, Kind};
use super::broker::exchange::{Exchange, Parameters};
use super::command::{Acknowledge, Command};
use super::delivery::Policy;
use super::event::Event;
use super::exchange::Channel;
use super::log::{self, Contents, FILE_BYTES, Log, Settings};
use super::metrics::{Accepted, Metrics, Service};
use super::pending::Room;
use super::subscription::{Queue, Subscription};
use super::target::{Target, Url};
use crate::kit::answer::of_type;
use crate::kit::folder::Folder;
use crate::kit::health::Health;
use crate::kit::metrics::Metrics as _;
use crate::kit::process;
use crate::kit::serve::{FullResponse, Head, Site};
use crate::kit::services::Service as _;

const MOST_SUBSCRIBERS: usize = 16;

const METHODS: &str = "POST, OPTIONS";

struct Served {
    way: Way,
    health: Health,
    metrics: Arc<Metrics>,
}

/// The way of accepted events to the subscribers.
enum Way {
    /// Through the memory of this process, and perhaps its log.
    Embedded(Arc<Channel>),
    Broker(Arc<Exchange>),
}

/// Runs a process of the channel until a signal ends it.
pub fn run(command: Command) -> anyhow::Result<()> {
    let subscribers = identities(&command)?;
    match command.broker.clone() {
        Some(broker) => run_with(&command, &subscribers, broker),
        None => run_embedded(&command, &subscribers),
    }
}

/// Runs a channel whose events are kept by a broker.
fn run_with(command: &Command, subscribers: &[u32], address: Address) -> anyhow::Result<()> {
    ensure!(
        command.gates.shared_poll.is_none() || address.kind != Kind::Nats,
        "a long poll does not delay what is published to NATS on the same connection; use \
         --shared-poll with redis:// or kafka://"
    );
    process::run(command.common.clone(), async |process: &Process| {
        let metrics = Arc::clone(&process.metrics);
        let parameters = Parameters {
            address,
            answers_within: command.common.deadline,
            shared_poll: command.gates.shared_poll,
            acknowledge: command.acknowledge,
            queue: command.delivery.queue as usize,
            subscriptions: subscriptions(command, subscribers, None, &metrics),
        };
        let exchange = Exchange::start(parameters, command.common.start_within).await?;
        let health = Health::of_part(Arc::clone(&exchange) as _);
        Ok(Served { way: Way::Broker(exchange), health, metrics })
    })
}

fn run_embedded(command: &Command, subscribers: &[u32]) -> anyhow::Result<()> {
    let is_durable = command.acknowledge == Acknowledge::Durable;
    // It is removed when nothing writes into it any more.
    let folder = match is_durable || command.data.is_some() {
        true => Some(Folder::choose(Service::APPLICATION, command.data.clone())?),
        false => None,
    };
    process::run(command.common.clone(), async |process: &Process| {
        let mut health = Health::default();
        let (mut log, mut contents, mut durable) = (None, Contents::default(), None);
        if let Some(folder) = &folder {
            let subscribers = subscribers.to_vec();
            let settings = Settings { subscribers, syncs: is_durable, file_bytes: FILE_BYTES };
            let (opened, found, written) = Log::open(folder.path(), settings)?;
            let opened = Arc::new(opened);
            health = Health::of_part(Arc::clone(&opened) as _);
            (log, contents, durable) = (Some(opened), found, Some(written));
        }
        let metrics = Arc::clone(&process.metrics);
        metrics.recovered(contents.recovered.len(), contents.torn);
        let channel = Arc::new(Channel {
            subscriptions: subscriptions(command, subscribers, log.as_ref(), &metrics),
            log,
            acknowledge: command.acknowledge,
            gate: command.gates.gate(),
            room: Arc::new(Room::new(command.delivery.queue as usize)),
            next: AtomicU64::new(contents.next),
            held: Mutex::default(),
            began: Instant::now(),
        });
        channel.resume(contents.recovered);
        if let Some(written) = durable {
            tokio::spawn(Arc::clone(&channel).pass_on(written));
        }
        Ok(Served { way: Way::Embedded(channel), health, metrics })
    })
}

/// Returns the identities of the subscribers in the log, after checking that they differ.
fn identities(command: &Command) -> anyhow::Result<Vec<u32>> {
    let urls = &command.subscribers;
    ensure!(
        urls.len() <= MOST_SUBSCRIBERS,
        "{} are too many subscribers; give at most {MOST_SUBSCRIBERS}",
        urls.len()
    );
    let mut identities = Vec::new();
    for url in urls {
        let identity = log::identity(&url.to_string());
        ensure!(
            !identities.contains(&identity),
            "{url} is a subscriber twice; give another URL, for example with ?copy=2"
        );
        identities.push(identity);
    }
    Ok(identities)
}

fn subscriptions(
    command: &Command,
    identities: &[u32],
    log: Option<&Arc<Log>>,
    metrics: &Arc<Metrics>,
) -> Vec<Arc<Subscription>> {
    let delivery = &command.delivery;
    let in_flight = if delivery.ordered { 1 } else { delivery.in_flight as usize };
    let target = |url: &Url, fields: &str| Target::new(url, fields, command.common.deadline);
    let pairs = command.subscribers.iter().zip(identities);
    let subscriptions = pairs.map(|(url, id)| Subscription {
        id: *id,
        subscriber: target(url, "Prefer: reply\r\n"),
        reply: delivery.reply.as_ref().map(|url| target(url, "")),
        dead_letter: delivery.dead_letter.as_ref().map(|url| target(url, "")),
        policy: Policy::new(delivery),
        in_flight,
        pipeline: delivery.pipeline as usize,
        queue: Mutex::<Queue>::default(),
        log: log.cloned(),
        metrics: Arc::clone(metrics),
    });
    subscriptions.map(Arc::new).collect()
}

impl Site for Served {
    async fn answer(&self, request: Request<Bytes>) -> FullResponse {
        match (request.uri().path(), request.method()) {
            ("/", &Method::POST) => self.accept(request).await,
            ("/", &Method::OPTIONS) => options(),
            ("/", _) => {
                let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "send events with POST\n");
                refused.headers_mut().insert(ALLOW, HeaderValue::from_static(METHODS));
                refused
            }
            ("/healthz", _) => match self.health.unhealthy() {
                None => text(StatusCode::OK, "ok"),
                Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            },
            ("/metrics", _) => {
                self.metrics.pending(match &self.way {
                    Way::Embedded(channel) => channel.room.events(),
                    Way::Broker(exchange) => exchange.pending(),
                });
                text(StatusCode::OK, self.metrics.text())
            }
            _ => text(StatusCode::NOT_FOUND, "404: the channel is /; see also /metrics\n"),
        }
    }

    fn keeps_body(&self, head: &Head) -> bool {
        head.method == Method::POST
    }

    fn refused_connection(&self) {
        self.metrics.basic().refused_connection();
    }
}

impl Served {
    async fn accept(&self, request: Request<Bytes>) -> FullResponse {
        let (head, body) = request.into_parts();
        let event = match Event::read(&head.headers, body) {
            Ok(event) => event,
            Err(refused) => {
                self.metrics.accepted(Accepted::Invalid);
                return text(refused.status, format!("{}\n", refused.why));
            }
        };
        let outcome = match &self.way {
            Way::Embedded(channel) => channel.accept(event).await,
            Way::Broker(exchange) => exchange.accept(event, &self.metrics).await,
        };
        self.metrics.accepted(outcome);
        match outcome {
            Accepted::Accepted => {
                let mut accepted = FullResponse::default();
                *accepted.status_mut() = StatusCode::ACCEPTED;
                accepted
            }
            Accepted::Full => unavailable("too many events are not yet delivered\n"),
            Accepted::NotLogged => unavailable("the log cannot be written\n"),
            Accepted::NotPublished => unavailable(match &self.way {
                Way::Embedded(_) => unreachable!("it has no broker"),
                Way::Broker(exchange) => format!("{}\n", exchange.trouble()),
            }),
            Accepted::NotDelivered => {
                text(StatusCode::INTERNAL_SERVER_ERROR, "a subscriber did not take the event\n")
            }
            Accepted::Invalid => unreachable!("it was read"),
        }
    }
}

/// Permits web hooks from everywhere, as the channels of Knative do.
fn options() -> FullResponse {
    let mut answer = FullResponse::default();
    let headers = answer.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(METHODS));
    for name in ["webhook-allowed-origin", "webhook-allowed-rate"] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static("*"));
    }
    answer
}

fn unavailable(why: impl Into<Bytes>) -> FullResponse {
    let mut refused = text(StatusCode::SERVICE_UNAVAILABLE, why);
    refused.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    refused
}

fn text(code: StatusCode, body: impl Into<Bytes>) -> FullResponse {
    of_type(code, "text/plain; charset=utf-8", body)
}
