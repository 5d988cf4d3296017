//! A subscriber behind a broker: its events are read, delivered, and acknowledged to the broker.

use std::mem;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, Semaphore, mpsc};

use super::Position;
use super::connection::{Arrival, Reader, Receipt, Settler};
use super::dialogue::Group;
use super::record::Record;
use super::waiting::Waiting;
use super::window::Window;
use crate::channel::metrics::{Delivered, Metrics};
use crate::channel::subscription::Subscription;
use crate::kit::lock::lock;

/// The most events that one read asks for.
const MOST_READ: usize = 256;

/// The most acknowledgements that one command has, and that wait for it.
const MOST_SETTLED: usize = 1024;

/// A subscriber, and the deliveries that outlive a connection to the broker.
pub(super) struct Subscriber {
    pub(super) index: usize,
    pub(super) subscription: Arc<Subscription>,
    pub(super) window: Mutex<Window>,
    /// Told whenever the window has become shorter.
    shortened: Notify,
    /// The most events in the window.
    longest: usize,
    slots: Arc<Semaphore>,
    ends: mpsc::Sender<(Position, Receipt)>,
    ended: tokio::sync::Mutex<Ended>,
    /// The events that it is not done with: those in the broker, and those on the way there.
    backlog: AtomicI64,
    process: u64,
    waiting: Arc<Waiting>,
    metrics: Arc<Metrics>,
}

/// Deliveries that have ended and are not acknowledged to the broker.
struct Ended {
    queue: mpsc::Receiver<(Position, Receipt)>,
    /// Those of an acknowledgement that may have failed.
    taken: Vec<(Position, Receipt)>,
}

impl Subscriber {
    pub(super) fn new(
        index: usize,
        subscription: Arc<Subscription>,
        longest: usize,
        process: u64,
        waiting: Arc<Waiting>,
    ) -> Self {
        let (ends, queue) = mpsc::channel(MOST_SETTLED);
        Subscriber {
            index,
            window: Mutex::default(),
            shortened: Notify::new(),
            longest,
            slots: Arc::new(Semaphore::new(subscription.in_flight)),
            ends,
            ended: tokio::sync::Mutex::new(Ended { queue, taken: Vec::new() }),
            backlog: AtomicI64::new(0),
            process,
            waiting,
            metrics: Arc::clone(&subscription.metrics),
            subscription,
        }
    }

    pub(super) fn group(&self) -> Group {
        let name = format!("subscriber-{:08x}", self.subscription.id);
        Group { name, next: lock(&self.window).next() }
    }

    pub(super) fn backlog(&self) -> usize {
        usize::try_from(self.backlog.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Changes the number of events that it is not done with.
    pub(super) fn count(&self, change: i64) {
        self.backlog.fetch_add(change, Ordering::Relaxed);
    }

    /// Sets this number to what the broker says.
    pub(super) fn correct(&self, backlog: u64) {
        self.backlog.store(i64::try_from(backlog).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Reads and delivers; returns the reason why it cannot.
    pub(super) async fn read_all(self: Arc<Self>, mut reader: Reader) -> String {
        loop {
            let place = self.slots.acquire().await.expect("it is never closed");
            drop(place);
            while self.longest <= lock(&self.window).len() {
                self.shortened.notified().await;
            }
            let most = MOST_READ.min(1 + self.slots.available_permits());
            let arrivals = match reader.read(most).await {
                Ok(arrivals) => arrivals,
                Err(why) => return why,
            };
            for arrival in arrivals {
                if !lock(&self.window).take(arrival.position) {
                    continue;
                }
                let slots = Arc::clone(&self.slots);
                let slot = slots.acquire_owned().await.expect("it is never closed");
                let subscriber = Arc::clone(&self);
                tokio::spawn(async move {
                    subscriber.deliver(arrival).await;
                    drop(slot);
                });
            }
        }
    }

    async fn deliver(&self, arrival: Arrival) {
        match Record::decode(arrival.record) {
            Some(record) => {
                let delivered = self.subscription.deliver(&record.event).await;
                self.metrics.delivered(delivered);
                match record.process == self.process {
                    true => {
                        let succeeded = delivered != Delivered::Dropped;
                        self.waiting.done(record.number, self.index, succeeded);
                    }
                    false => self.metrics.recovered(1, 0),
                }
            }
            None => self.metrics.unreadable(),
        }
        self.count(-1);
        // Its receiver lives as long as this value.
        let _ = self.ends.send((arrival.position, arrival.receipt)).await;
    }

    /// Acknowledges deliveries that have ended; returns the reason why it cannot.
    pub(super) async fn settle_all(self: Arc<Self>, mut settler: Settler) -> String {
        let mut ended = self.ended.lock().await;
        let Ended { queue, taken } = &mut *ended;
        loop {
            if taken.is_empty() {
                queue.recv_many(taken, MOST_SETTLED).await;
            }
            if let Err(why) = settler.settle(taken).await {
                return why;
            }
            lock(&self.window).end(mem::take(taken).into_iter().map(|(position, _)| position));
            self.shortened.notify_one();
        }
    }
}
