//! The command line of the application.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::broker::address::Address;
use super::gate::Gate;
use super::site;
use super::target::Url;
use crate::kit::arguments::{Common, length, positive};

/// Event channel: takes CloudEvents over HTTP and pushes each to all subscribers.
///
/// It serves
///   POST /          a CloudEvent 1.0 in binary mode, or in structured mode
///                   (application/cloudevents+json); 202 once --acknowledge is met
///   OPTIONS /       the methods, for the abuse protection of web hooks
///   GET  /healthz   200, or 503 with the reason
///   GET  /metrics   counters in Prometheus' text format
///
/// A delivery that gets no response, 404, 408, 409, 429 or 5xx is repeated up to --retry times; any
/// other status than 2xx is final. What could not be delivered goes to --dead-letter, with the
/// attributes knativeerrordest, knativeerrorcode and knativeerrordata. Events have at most 1 MiB;
/// further ones are refused with 503 while --queue events or 256 MiB of them are not delivered.
///
/// Try it:
///   benchwright-apps channel --listen 127.0.0.1:8080 --subscriber http://127.0.0.1:8081
///   curl -H 'Ce-Specversion: 1.0' -H 'Ce-Id: 1' -H 'Ce-Source: me' -H 'Ce-Type: test' \
///        -d hello http://127.0.0.1:8080
#[derive(Args, Clone)]
#[command(verbatim_doc_comment)]
pub struct Command {
    /// A subscriber: http://HOST:PORT/PATH. Repeat the option for more.
    #[arg(long = "subscriber", value_name = "URL")]
    pub subscribers: Vec<Url>,

    /// The moment at which an event is acknowledged with 202.
    #[arg(long, value_enum, default_value_t = Acknowledge::Enqueued)]
    pub acknowledge: Acknowledge,

    /// Keeps an append-only log in this folder, and continues with the events that it has not
    /// delivered. Without it there is no log, or, with --acknowledge durable, one in the temporary
    /// directory, which is removed at the end.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,

    /// Keeps the events in a broker instead of a log of its own: redis://HOST:PORT (streams),
    /// nats://HOST:PORT (JetStream) or kafka://HOST:PORT, with /NAME for the name of the stream or
    /// topic [default name: benchwright-channel]. One channel uses a name at a time. Each subscriber
    /// is a consumer, and an event is acknowledged to the broker when its delivery has ended. A
    /// subscriber that is new there gets the events from then on. While the broker cannot be used,
    /// events are refused with 503.
    #[arg(long, value_name = "URL", conflicts_with_all = ["data", "linger"],
          requires = "subscribers")]
    pub broker: Option<Address>,

    #[command(flatten)]
    pub delivery: Delivery,

    #[command(flatten)]
    pub gates: Gates,

    #[command(flatten)]
    pub common: Common,
}

/// The moment at which an event is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Acknowledge {
    /// Once it is in the queue: a crash loses it, unless the log has it. With --broker it is in the
    /// queue of the next request to the broker; what a broken connection loses there is counted.
    Enqueued,
    /// Once the disk has it (fsync). Events that arrive meanwhile share the next write. With --broker,
    /// once the broker has confirmed it: Kafka with acks=all, JetStream in its file store, Redis in
    /// its stream and in the file that its appendfsync decides.
    Durable,
    /// Once every subscriber or the dead letter sink has taken it; 500 if one did not.
    Delivered,
}

/// The rules of deliveries.
#[derive(Args, Clone)]
pub struct Delivery {
    /// The number of repetitions of a delivery.
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=100))]
    pub retry: u32,

    /// The growth of the time before a repetition.
    #[arg(long, value_enum, default_value_t = Backoff::Exponential)]
    pub backoff: Backoff,

    /// The time before the first repetition.
    #[arg(long, value_name = "DURATION", default_value = "200ms", value_parser = length)]
    pub backoff_delay: Duration,

    /// Waits as long as Retry-After of a 429 or 503 says, if that is longer than the backoff, but at
    /// most this long [default: Retry-After is not read]
    #[arg(long, value_name = "DURATION", value_parser = length)]
    pub retry_after_max: Option<Duration>,

    /// The URL for events that could not be delivered. Without it they are dropped, and counted.
    #[arg(long, value_name = "URL")]
    pub dead_letter: Option<Url>,

    /// The URL for events with which subscribers reply (200). Without it they are dropped.
    #[arg(long, value_name = "URL")]
    pub reply: Option<Url>,

    /// Delivers one event at a time to a subscriber, in the order of their arrival. A repetition
    /// delays all that follow.
    #[arg(long, conflicts_with = "in_flight")]
    pub ordered: bool,

    /// The most events that are on their way to one subscriber.
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub in_flight: u32,

    /// The most events that one connection gets before the response to the first of them. More than
    /// 1 needs a subscriber that reads pipelined requests, and answers in their order: it costs both
    /// less CPU, but an event waits for the responses to those before it. --deadline is the time for
    /// all of them. Events from a broker go one at a time.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["ordered", "broker"],
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub pipeline: u32,

    /// The most events that are not yet delivered to all subscribers.
    #[arg(long, value_name = "N", default_value_t = 65_536,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub queue: u32,
}

/// The growth of the time before a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backoff {
    /// It doubles.
    Exponential,
    /// It grows by the same length.
    Linear,
}

/// Pathologies on purpose: the times at which events go on to the subscribers.
#[derive(Args, Clone)]
#[group(multiple = false)]
pub struct Gates {
    /// Collects events for this time before they go on, as a producer with a linger time does.
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    pub linger: Option<Duration>,

    /// Lets events go on only when a long poll of this length ends, as if producer and consumer
    /// shared one connection to a broker that answers in order. Delivery times are then evenly
    /// distributed over this length. With Kafka and Redis as --broker they really share one.
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    pub shared_poll: Option<Duration>,
}

impl Gates {
    pub fn gate(&self) -> Gate {
        match (self.linger, self.shared_poll) {
            (Some(length), _) => Gate::Linger(length),
            (_, Some(length)) => Gate::SharedPoll(length),
            _ => Gate::Open,
        }
    }
}

impl Command {
    /// Runs until a signal ends it.
    pub fn run(self) -> anyhow::Result<()> {
        site::run(self)
    }
}
