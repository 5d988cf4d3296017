//! The parts of a connection to a broker, each used by one task.

use std::time::Duration;

use bytes::Bytes;
use tokio::time;

use super::address::{Address, Kind};
use super::{Position, kafka, nats, redis};

/// The rules of a connection.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) address: Address,
    /// The longest time for an answer.
    pub(super) timeout: Duration,
    /// The length of a long poll on a connection that publishing shares with it; `None` if they have
    /// their own.
    pub(super) shared_poll: Option<Duration>,
    /// The most events of a subscriber that are read and have not ended.
    pub(super) window: usize,
}

impl Settings {
    /// Returns the time that a read waits in the broker for the next event.
    pub(super) fn poll(&self) -> Duration {
        self.shared_poll.unwrap_or(Duration::from_secs(1))
    }
}

/// A subscriber as the broker knows it.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: String,
    /// The position after the last event that was read, if this process has read any.
    pub(super) next: Option<Position>,
}

/// An event that a broker delivers.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) position: Position,
    pub(super) record: Bytes,
    pub(super) receipt: Receipt,
}

/// The address that acknowledges an event to the broker, if its position is not enough.
pub(super) type Receipt = Option<async_nats::Subject>;

/// The reason why a broker did not do what it was asked.
#[derive(Debug)]
pub(super) enum Failure {
    /// It refused. The connection is good.
    Refused(String),
    Broken(String),
}

/// A connection with all its parts.
pub(super) struct Connection {
    pub(super) producer: Producer,
    pub(super) keeper: Keeper,
    /// One for each group.
    pub(super) consumers: Vec<(Reader, Settler)>,
    pub(super) link: Link,
}

pub(super) enum Producer {
    Redis(redis::Producer),
    Nats(nats::Producer),
    Kafka(kafka::Producer),
}

/// Reads the events of one subscriber.
pub(super) enum Reader {
    Redis(redis::Reader),
    Nats(Box<nats::Reader>),
    Kafka(kafka::Reader),
}

/// Acknowledges the events of one subscriber.
pub(super) enum Settler {
    Redis(redis::Settler),
    Nats(nats::Settler),
    /// Kafka has no acknowledgements but offsets, which the keeper stores.
    Kafka,
}

/// Removes the events that all subscribers are done with, and knows how many are left.
pub(super) enum Keeper {
    Redis(redis::Keeper),
    Nats(nats::Keeper),
    Kafka(Box<kafka::Keeper>),
}

/// Knows when the connection breaks, if the client says that.
pub(super) enum Link {
    Silent,
    Nats(nats::Link),
}

pub(super) async fn connect(settings: &Settings, groups: &[Group]) -> Result<Connection, String> {
    let connecting = async {
        match settings.address.kind {
            Kind::Redis => redis::connect(settings, groups).await,
            Kind::Nats => nats::connect(settings, groups).await,
            Kind::Kafka => kafka::connect(settings, groups).await,
        }
    };
    within(settings.timeout, connecting).await
}

/// Ends a question to a broker that takes longer than an answer may take.
pub(super) async fn within<T>(
    timeout: Duration,
    asked: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let late = |_| Err(format!("no answer within {timeout:?}"));
    time::timeout(timeout, asked).await.unwrap_or_else(late)
}

impl Producer {
    /// Publishes events in their order; returns once the broker has confirmed them all. After an error
    /// it may still have some.
    pub(super) async fn publish(&mut self, records: &[Bytes]) -> Result<(), Failure> {
        match self {
            Producer::Redis(producer) => producer.publish(records).await,
            Producer::Nats(producer) => producer.publish(records).await,
            Producer::Kafka(producer) => producer.publish(records).await,
        }
    }
}

impl Reader {
    /// Waits for further events; returns about `most`, or none after a while.
    pub(super) async fn read(&mut self, most: usize) -> Result<Vec<Arrival>, String> {
        match self {
            Reader::Redis(reader) => reader.read(most).await,
            Reader::Nats(reader) => reader.read(most).await,
            Reader::Kafka(reader) => reader.read().await,
        }
    }
}

impl Settler {
    pub(super) async fn settle(&mut self, ended: &[(Position, Receipt)]) -> Result<(), String> {
        match self {
            Settler::Redis(settler) => settler.settle(ended).await,
            Settler::Nats(settler) => settler.settle(ended).await,
            Settler::Kafka => Ok(()),
        }
    }
}

impl Keeper {
    /// Lets the broker forget what all are done with. `lows` are the positions before which everything
    /// has ended, one for each group.
    pub(super) async fn forget(&mut self, lows: &[Option<Position>]) -> Result<(), String> {
        match self {
            Keeper::Redis(keeper) => keeper.forget(lows).await,
            // Its stream keeps what a consumer has not acknowledged, and nothing else.
            Keeper::Nats(_) => Ok(()),
            Keeper::Kafka(keeper) => keeper.forget(lows).await,
        }
    }

    /// Returns the number of events that the group of this index is not done with.
    pub(super) async fn backlog(&mut self, group: usize) -> Result<u64, String> {
        match self {
            Keeper::Redis(keeper) => keeper.backlog(group).await,
            Keeper::Nats(keeper) => keeper.backlog(group).await,
            Keeper::Kafka(keeper) => keeper.backlog(group).await,
        }
    }
}

impl Link {
    /// Returns the reason once the connection is broken.
    pub(super) async fn broken(&mut self) -> String {
        match self {
            Link::Silent => std::future::pending().await,
            Link::Nats(link) => link.broken().await,
        }
    }
}

/// Returns the position before which all subscribers are done, if it is known.
pub(super) fn floor(lows: &[Option<Position>]) -> Option<Position> {
    lows.iter().copied().min().flatten()
}
