//! NATS JetStream: a stream in files keeps each event until every consumer has acknowledged it, and
//! each subscriber is a durable consumer. A confirmed event is written to a file of the server, which
//! syncs its files only now and then unless its sync_interval says otherwise.

use std::pin::Pin;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, pull};
use async_nats::jetstream::context::{Context, ContextBuilder};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType};
use async_nats::{Client, ConnectOptions, Event, Subject};
use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use tokio::sync::watch;

use super::Position;
use super::dialogue::{Failure, Group, Settings};

/// The time after which the server delivers an event again that is not acknowledged. One that is still
/// on its way is not delivered twice by this process; one of a killed process is.
const ACKNOWLEDGE_WITHIN: Duration = Duration::from_secs(2);

/// The most events that the client holds for a subscriber before they are read.
const MOST_HELD: usize = 64;

const ACKNOWLEDGEMENT: Bytes = Bytes::from_static(b"+ACK");

pub(super) struct Producer {
    context: Context,
    subject: String,
}

pub(super) struct Reader(Pin<Box<pull::Stream>>);

pub(super) struct Settler(Client);

/// The address by which an event is acknowledged.
#[derive(Debug)]
pub(super) struct Receipt(Option<Subject>);

/// The position of an event, its record and its receipt.
type Arrival = (Position, Bytes, Receipt);

pub(super) struct Keeper(Vec<Consumer<pull::Config>>);

pub(super) struct Link(watch::Receiver<bool>);

/// Returns a reader and a settler for each group.
pub(super) async fn connect(
    settings: &Settings,
    groups: &[Group],
) -> Result<(Producer, Keeper, Vec<(Reader, Settler)>, Link), String> {
    let name = &settings.address.stream;
    let (sender, broken) = watch::channel(false);
    let options = ConnectOptions::new()
        .name("benchwright")
        .connection_timeout(settings.timeout)
        .request_timeout(Some(settings.timeout))
        // What broke is connected again by our own rule.
        .max_reconnects(1)
        .event_callback(move |event| {
            if matches!(event, Event::Disconnected | Event::Closed) {
                sender.send_replace(true);
            }
            std::future::ready(())
        });
    let client = options.connect(&settings.address.host).await.map_err(|e| e.to_string())?;
    let context = ContextBuilder::new()
        .timeout(settings.timeout)
        .ack_timeout(settings.timeout)
        .build(client.clone());
    let config = Config {
        name: name.clone(),
        subjects: vec![name.clone()],
        retention: RetentionPolicy::Interest,
        storage: StorageType::File,
        ..Config::default()
    };
    let stream = context.get_or_create_stream(config).await.map_err(|e| e.to_string())?;
    let (mut consumers, mut known) = (Vec::new(), Vec::new());
    for group in groups {
        let config = pull::Config {
            durable_name: Some(group.name.clone()),
            deliver_policy: DeliverPolicy::New,
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACKNOWLEDGE_WITHIN,
            max_ack_pending: i64::try_from(settings.window).unwrap_or(i64::MAX),
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.map_err(|e| e.to_string())?;
        let messages = consumer.stream().max_messages_per_batch(MOST_HELD);
        let messages = messages.messages().await.map_err(|e| e.to_string())?;
        consumers.push((Reader(Box::pin(messages)), Settler(client.clone())));
        known.push(consumer);
    }
    let producer = Producer { context, subject: name.clone() };
    Ok((producer, Keeper(known), consumers, Link(broken)))
}

impl Producer {
    pub(super) async fn publish(&mut self, records: &[Bytes]) -> Result<(), Failure> {
        let mut sent = Vec::with_capacity(records.len());
        let mut failed = None;
        for record in records {
            let message = PublishMessage::build().payload(record.clone());
            match self.context.send_publish(self.subject.clone(), message).await {
                Ok(confirmed) => sent.push(confirmed),
                Err(error) => failed = Some(error),
            }
        }
        for confirmed in sent {
            if let Err(error) = confirmed.await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), |error| Err(Failure::Refused(error.to_string())))
    }
}

impl Reader {
    pub(super) async fn read(&mut self, most: usize) -> Result<Vec<Arrival>, String> {
        let mut arrivals = vec![arrival(self.0.next().await)?];
        while arrivals.len() < most
            && let Some(further) = self.0.next().now_or_never()
        {
            arrivals.push(arrival(further)?);
        }
        Ok(arrivals)
    }
}

fn arrival(
    message: Option<Result<async_nats::jetstream::Message, pull::MessagesError>>,
) -> Result<Arrival, String> {
    let message = message.ok_or("the server ended the consumer")?.map_err(|e| e.to_string())?;
    let position = message.info().map_err(|e| e.to_string())?.stream_sequence.into();
    let message = message.message;
    Ok((position, message.payload, Receipt(message.reply)))
}

impl Settler {
    pub(super) async fn settle(&mut self, receipt: &Receipt) -> Result<(), String> {
        let Receipt(Some(subject)) = receipt else { return Ok(()) };
        let sent = self.0.publish(subject.clone(), ACKNOWLEDGEMENT).await;
        sent.map_err(|error| error.to_string())
    }
}

impl Keeper {
    pub(super) async fn backlog(&mut self, group: usize) -> Result<u64, String> {
        let info = self.0[group].info().await.map_err(|error| error.to_string())?;
        Ok(info.num_pending + info.num_ack_pending as u64)
    }
}

impl Link {
    pub(super) async fn broken(&mut self) -> String {
        // The client drops its end when it stops.
        let _ = self.0.wait_for(|broken| *broken).await;
        "the connection broke".to_owned()
    }
}
