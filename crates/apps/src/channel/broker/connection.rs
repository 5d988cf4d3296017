//! The parts of a connection to a broker, each used by one task: one of each kind of broker.

use bytes::Bytes;

use super::address::Kind;
use super::dialogue::{Failure, Group, Settings, within};
use super::{Position, kafka, nats, redis};

/// An event that a broker delivers.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) position: Position,
    pub(super) record: Bytes,
    pub(super) receipt: Receipt,
}

/// The part of an event by which it is acknowledged to the broker.
#[derive(Debug)]
pub(super) enum Receipt {
    /// Its position is enough.
    Position,
    Nats(nats::Receipt),
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
    Nats(nats::Reader),
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
    within(settings.timeout, connect_to(settings, groups)).await
}

async fn connect_to(settings: &Settings, groups: &[Group]) -> Result<Connection, String> {
    Ok(match settings.address.kind {
        Kind::Redis => {
            let (producer, keeper, consumers) = redis::connect(settings, groups).await?;
            let both = |(reader, settler)| (Reader::Redis(reader), Settler::Redis(settler));
            Connection {
                producer: Producer::Redis(producer),
                keeper: Keeper::Redis(keeper),
                consumers: consumers.into_iter().map(both).collect(),
                link: Link::Silent,
            }
        }
        Kind::Nats => {
            let (producer, keeper, consumers, link) = nats::connect(settings, groups).await?;
            let both = |(reader, settler)| (Reader::Nats(reader), Settler::Nats(settler));
            Connection {
                producer: Producer::Nats(producer),
                keeper: Keeper::Nats(keeper),
                consumers: consumers.into_iter().map(both).collect(),
                link: Link::Nats(link),
            }
        }
        Kind::Kafka => {
            let (producer, keeper, readers) = kafka::connect(settings, groups).await?;
            let both = |reader| (Reader::Kafka(reader), Settler::Kafka);
            Connection {
                producer: Producer::Kafka(producer),
                keeper: Keeper::Kafka(Box::new(keeper)),
                consumers: readers.into_iter().map(both).collect(),
                link: Link::Silent,
            }
        }
    })
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
            Reader::Redis(reader) => Ok(by_position(reader.read(most).await?)),
            Reader::Nats(reader) => {
                let arrival = |(position, record, receipt)| Arrival {
                    position,
                    record,
                    receipt: Receipt::Nats(receipt),
                };
                Ok(reader.read(most).await?.into_iter().map(arrival).collect())
            }
            Reader::Kafka(reader) => Ok(by_position(reader.read().await?)),
        }
    }
}

fn by_position(read: Vec<(Position, Bytes)>) -> Vec<Arrival> {
    let arrival = |(position, record)| Arrival { position, record, receipt: Receipt::Position };
    read.into_iter().map(arrival).collect()
}

impl Settler {
    pub(super) async fn settle(&mut self, ended: &[(Position, Receipt)]) -> Result<(), String> {
        match self {
            Settler::Redis(settler) => settler.settle(ended).await,
            Settler::Nats(settler) => {
                for (_, receipt) in ended {
                    if let Receipt::Nats(receipt) = receipt {
                        settler.settle(receipt).await?;
                    }
                }
                Ok(())
            }
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
