//! Apache Kafka: an event is a record of a topic with one partition, produced with acks=all. Each
//! subscriber has an offset. The offsets of all subscribers together are a record of a second topic,
//! and the last one counts: the client library has no consumer groups, and a single consumer that
//! never rebalances needs none. Records that all are done with are deleted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rskafka::BackoffConfig;
use rskafka::chrono::{DateTime, Utc};
use rskafka::client::controller::ControllerClient;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::{Record, RecordAndOffset};

use super::Position;
use super::dialogue::{Failure, Group, Settings, floor, within};

/// The most bytes of the records in one request to produce: brokers take a megabyte by default.
const MOST_BYTES: usize = 900_000;

/// The most bytes of an answer, unless its first batch of records is larger.
const MOST_FETCHED: i32 = 1 << 20;

/// The most bytes of any message of a broker.
const LARGEST_MESSAGE: usize = 16 << 20;

/// The calls of [`Keeper::forget`] between two deletions of records.
const DELETE_EVERY: u32 = 50;

pub(super) struct Producer(Arc<PartitionClient>);

pub(super) struct Reader {
    events: Arc<PartitionClient>,
    next: i64,
    poll: Duration,
    timeout: Duration,
}

pub(super) struct Keeper {
    events: PartitionClient,
    offsets: PartitionClient,
    groups: Vec<String>,
    /// The offset of each group.
    stored: Vec<i64>,
    calls: u32,
    deleted: i64,
    timeout: Duration,
}

/// Returns a reader for each group.
pub(super) async fn connect(
    settings: &Settings,
    groups: &[Group],
) -> Result<(Producer, Keeper, Vec<Reader>), String> {
    let (topic, timeout) = (&settings.address.stream, settings.timeout);
    // An error ends the connection at once; the caller decides when to try again.
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(10),
        max_backoff: Duration::from_millis(20),
        base: 2.0,
        deadline: Some(Duration::from_millis(1)),
    };
    let client = ClientBuilder::new(vec![settings.address.host.clone()])
        .client_id("benchwright")
        .max_message_size(LARGEST_MESSAGE)
        .backoff_config(backoff);
    let client = client.build().await.map_err(text)?;
    let offsets = format!("{topic}-offsets");
    create_topics(&client, &[topic, &offsets], timeout).await?;
    let open = async |topic: &str| {
        client.partition_client(topic, 0, UnknownTopicHandling::Retry).await.map_err(text)
    };
    let (events, offsets) = (open(topic).await?, open(&offsets).await?);
    let known = read_offsets(&offsets).await?;
    let (first, next) = bounds(&events).await?;
    let mut stored = Vec::new();
    for group in groups {
        // What this process has read, what its predecessor was done with, or what comes from now on.
        let read = group.next.and_then(|next| i64::try_from(next).ok());
        let offset = read.or_else(|| known.get(&group.name).copied()).unwrap_or(next);
        // The topic may have lost its records, or be another one of the same name.
        stored.push(if (first..=next).contains(&offset) { offset } else { first });
    }
    let starts = stored.clone();
    let names = groups.iter().map(|group| group.name.clone()).collect();
    let mut keeper =
        Keeper { events, offsets, groups: names, stored, calls: 0, deleted: 0, timeout };
    if groups.iter().any(|group| group.next.is_none() && !known.contains_key(&group.name)) {
        keeper.store().await?;
    }
    let producer = Producer(Arc::new(open(topic).await?));
    let mut readers = Vec::new();
    for next in starts {
        let events = match settings.shared_poll {
            Some(_) => Arc::clone(&producer.0),
            None => Arc::new(open(topic).await?),
        };
        readers.push(Reader { events, next, poll: settings.poll(), timeout });
    }
    Ok((producer, keeper, readers))
}

async fn create_topics(client: &Client, topics: &[&str], timeout: Duration) -> Result<(), String> {
    let there = client.list_topics().await.map_err(text)?;
    let is_missing = |topic: &&&str| !there.iter().any(|one| one.name == **topic);
    let missing: Vec<_> = topics.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let controller: ControllerClient = client.controller_client().map_err(text)?;
    for topic in missing {
        match controller.create_topic(*topic, 1, 1, milliseconds(timeout)).await {
            Ok(()) => {}
            Err(Error::ServerError {
                protocol_error: ProtocolError::TopicAlreadyExists, ..
            }) => {}
            Err(error) => return Err(text(error)),
        }
    }
    Ok(())
}

/// Returns the offsets of the first record and after the last one.
async fn bounds(topic: &PartitionClient) -> Result<(i64, i64), String> {
    let first = topic.get_offset(OffsetAt::Earliest).await.map_err(text)?;
    Ok((first, topic.get_offset(OffsetAt::Latest).await.map_err(text)?))
}

/// Returns the stored offsets of groups.
async fn read_offsets(offsets: &PartitionClient) -> Result<BTreeMap<String, i64>, String> {
    let (first, next) = bounds(offsets).await?;
    if first == next {
        return Ok(BTreeMap::new());
    }
    let (records, _) = offsets.fetch_records(next - 1, 1..MOST_FETCHED, 100).await.map_err(text)?;
    let value = records.into_iter().next_back().and_then(|last| last.record.value);
    let foreign = |_| format!("the topic {} has a record that is not ours", offsets.topic());
    serde_json::from_slice(&value.unwrap_or_default()).map_err(foreign)
}

fn record(value: Vec<u8>) -> Record {
    Record { key: None, value: Some(value), headers: BTreeMap::new(), timestamp: calendar() }
}

#[expect(clippy::disallowed_methods, reason = "Kafka keeps records for a time of the calendar")]
fn calendar() -> DateTime<Utc> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    DateTime::from_timestamp_millis(since.as_millis() as i64).unwrap_or_default()
}

impl Producer {
    pub(super) async fn publish(&mut self, records: &[Bytes]) -> Result<(), Failure> {
        let mut rest = records;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |record: &&Bytes| {
                bytes += record.len();
                bytes <= MOST_BYTES
            };
            let (some, others) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let some = some.iter().map(|bytes| record(bytes.to_vec())).collect();
            let produced = self.0.produce(some, Compression::NoCompression).await;
            produced.map_err(|error| match error {
                Error::ServerError { .. } => Failure::Refused(text(error)),
                _ => Failure::Broken(text(error)),
            })?;
            rest = others;
        }
        Ok(())
    }
}

impl Reader {
    pub(super) async fn read(&mut self) -> Result<Vec<(Position, Bytes)>, String> {
        let poll = milliseconds(self.poll);
        let fetching = async {
            self.events.fetch_records(self.next, 1..MOST_FETCHED, poll).await.map_err(text)
        };
        let (records, _) = within(self.poll + self.timeout, fetching).await?;
        if let Some(last) = records.last() {
            self.next = last.offset + 1;
        }
        let record = |one: RecordAndOffset| {
            (one.offset as Position, one.record.value.unwrap_or_default().into())
        };
        Ok(records.into_iter().map(record).collect())
    }
}

impl Keeper {
    pub(super) async fn forget(&mut self, lows: &[Option<Position>]) -> Result<(), String> {
        let mut has_changed = false;
        for (stored, low) in self.stored.iter_mut().zip(lows) {
            // The position is an offset that Kafka gave.
            let low = low.map_or(*stored, |low| low as i64);
            has_changed |= low != *stored;
            *stored = low;
        }
        if has_changed {
            self.store().await?;
        }
        self.calls += 1;
        let floor = floor(lows).map_or(0, |floor| floor as i64);
        if self.calls.is_multiple_of(DELETE_EVERY) && self.deleted < floor {
            let timeout = milliseconds(self.timeout);
            self.events.delete_records(floor, timeout).await.map_err(text)?;
            self.deleted = floor;
            let (first, next) = bounds(&self.offsets).await?;
            if first < next - 1 {
                self.offsets.delete_records(next - 1, timeout).await.map_err(text)?;
            }
        }
        Ok(())
    }

    /// Stores the offsets of all groups.
    async fn store(&mut self) -> Result<(), String> {
        let offsets: BTreeMap<_, _> = self.groups.iter().zip(&self.stored).collect();
        let value = serde_json::to_vec(&offsets).expect("a map of strings is valid JSON");
        let stored = self.offsets.produce(vec![record(value)], Compression::NoCompression).await;
        stored.map(drop).map_err(text)
    }

    pub(super) async fn backlog(&mut self, group: usize) -> Result<u64, String> {
        let next = self.events.get_offset(OffsetAt::Latest).await.map_err(text)?;
        Ok(u64::try_from(next - self.stored[group]).unwrap_or(0))
    }
}

fn milliseconds(length: Duration) -> i32 {
    i32::try_from(length.as_millis()).unwrap_or(i32::MAX)
}

fn text(error: Error) -> String {
    match error {
        // The response beside it is long.
        Error::ServerError { protocol_error, error_message, .. } => {
            error_message.unwrap_or_else(|| protocol_error.to_string())
        }
        error => error.to_string(),
    }
}
