//! A broker in place of the embedded log: Redis streams, NATS JetStream or Apache Kafka.
//!
//! An accepted event is published to the broker. Each subscriber is a consumer of its own there (a
//! group of the stream, a durable consumer, or an offset), and an event is acknowledged to the broker
//! only when its delivery has ended. So events arrive at least once, also if the channel is killed.
//!
//! The tasks of a connection end together: whatever breaks, all of it is connected again, and until
//! then events are refused. In memory are at most the events that the broker has not confirmed, those
//! on their way to subscribers, and one answer of the broker for each subscriber; what waits in the
//! broker is bounded by the queue.

pub mod address;
pub mod exchange;
pub mod record;
pub mod subscriber;
pub mod waiting;
pub mod window;

mod connection;
mod dialogue;
mod kafka;
mod nats;
mod redis;

/// The place of an event in the broker, which orders the events of a subscriber: an offset, a
/// sequence number, or both halves of the id of a stream's entry.
pub type Position = u128;
