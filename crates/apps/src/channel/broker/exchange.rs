//! The way of an event through a broker: it is accepted, published, and counted until all
//! subscribers are done with it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::bail;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time;

use super::address::Address;
use super::connection::{self, Connection, Keeper, Producer};
use super::dialogue::{Failure, Settings, within};
use super::record::Record;
use super::subscriber::Subscriber;
use super::waiting::Waiting;
use crate::channel::command::Acknowledge;
use crate::channel::event::Event;
use crate::channel::metrics::{Accepted, Metrics};
use crate::channel::subscription::Subscription;
use crate::kit::health::Needed;
use crate::kit::lock::lock;
use crate::kit::timeout::{self, Pause};

/// The most events that are published together.
const MOST_PUBLISHED: usize = 512;

/// The most bytes of events that the broker has not confirmed.
const MOST_BYTES: usize = 64 << 20;

/// The time between two rounds in which the broker forgets what all are done with.
const FORGET_EVERY: Duration = Duration::from_millis(100);

/// The rounds between two corrections of the backlog by what the broker says.
const CORRECT_EVERY: u64 = 10;

pub struct Exchange {
    settings: Settings,
    acknowledge: Acknowledge,
    /// A random number that no other process has.
    process: u64,
    /// The number of the next event.
    next: AtomicU64,
    orders: mpsc::Sender<Order>,
    queued: tokio::sync::Mutex<mpsc::Receiver<Order>>,
    /// The bytes of all orders.
    bytes: Arc<AtomicUsize>,
    subscribers: Vec<Arc<Subscriber>>,
    waiting: Arc<Waiting>,
    /// The most events that a subscriber is not done with.
    queue: usize,
    /// The reason why the broker cannot be used, if any.
    lost: Mutex<Option<String>>,
    /// Its words when it last refused an event.
    refused: Mutex<String>,
}

/// An event on its way to the broker. If it is dropped before the broker has confirmed it, it is lost.
struct Order {
    record: Bytes,
    /// Told when the broker has confirmed it; `None` if nobody waits for that.
    confirmed: Option<oneshot::Sender<()>>,
    is_published: bool,
    bytes: Arc<AtomicUsize>,
    subscribers: Vec<Arc<Subscriber>>,
    metrics: Arc<Metrics>,
}

/// The parameters of an exchange.
pub struct Parameters {
    pub address: Address,
    /// The longest time for an answer of the broker.
    pub answers_within: Duration,
    pub shared_poll: Option<Duration>,
    pub acknowledge: Acknowledge,
    pub queue: usize,
    pub subscriptions: Vec<Arc<Subscription>>,
}

impl Exchange {
    /// Connects to the broker; an error if that fails for a time of `within`.
    pub async fn start(parameters: Parameters, within: Duration) -> anyhow::Result<Arc<Self>> {
        let Parameters { address, answers_within, shared_poll, acknowledge, queue, subscriptions } =
            parameters;
        let settings = Settings { address, timeout: answers_within, shared_poll, window: queue };
        let process = getrandom::u64()?;
        let waiting = Arc::<Waiting>::default();
        let subscribers = subscriptions.into_iter().enumerate().map(|(index, subscription)| {
            let waiting = Arc::clone(&waiting);
            Arc::new(Subscriber::new(index, subscription, queue, process, waiting))
        });
        let (orders, queued) = mpsc::channel(queue);
        let exchange = Arc::new(Exchange {
            settings,
            acknowledge,
            process,
            next: AtomicU64::new(0),
            orders,
            queued: tokio::sync::Mutex::new(queued),
            bytes: Arc::default(),
            subscribers: subscribers.collect(),
            waiting,
            queue,
            lost: Mutex::new(Some("not connected yet".to_owned())),
            refused: Mutex::default(),
        });
        tokio::spawn(stay_connected(Arc::clone(&exchange)));
        if !timeout::until(within, || exchange.unhealthy().is_none()).await {
            bail!("{}", exchange.unhealthy().unwrap_or_default());
        }
        Ok(exchange)
    }

    /// Accepts an event; returns once it may be acknowledged or refused. Everything that follows the
    /// acceptance happens even if the caller stops waiting.
    pub async fn accept(&self, event: Event, metrics: &Arc<Metrics>) -> Accepted {
        if lock(&self.lost).is_some() {
            return Accepted::NotPublished;
        }
        if self.queue <= self.pending() || MOST_BYTES <= self.bytes.load(Ordering::Relaxed) {
            return Accepted::Full;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let record = Record { process: self.process, number, event }.encode();
        let (confirmed, confirmation) = oneshot::channel();
        let is_awaited = self.acknowledge != Acknowledge::Enqueued;
        let delivered = (self.acknowledge == Acknowledge::Delivered)
            .then(|| self.waiting.add(number, self.subscribers.len()));
        self.bytes.fetch_add(record.len(), Ordering::Relaxed);
        self.subscribers.iter().for_each(|subscriber| subscriber.count(1));
        let order = Order {
            record,
            confirmed: is_awaited.then_some(confirmed),
            is_published: false,
            bytes: Arc::clone(&self.bytes),
            subscribers: self.subscribers.clone(),
            metrics: Arc::clone(metrics),
        };
        if let Err(refused) = self.orders.try_send(order) {
            refused.into_inner().withdraw();
            return Accepted::Full;
        }
        if !is_awaited {
            return Accepted::Accepted;
        }
        if confirmation.await.is_err() {
            return Accepted::NotPublished;
        }
        let Some(delivered) = delivered else { return Accepted::Accepted };
        match delivered.succeeded().await {
            Some(true) => Accepted::Accepted,
            Some(false) => Accepted::NotDelivered,
            None => Accepted::NotPublished,
        }
    }

    /// Returns the number of events that some subscriber is not done with.
    pub fn pending(&self) -> usize {
        self.subscribers.iter().map(|subscriber| subscriber.backlog()).max().unwrap_or(0)
    }

    /// Returns the reason why an event was not published.
    pub fn trouble(&self) -> String {
        self.unhealthy().unwrap_or_else(|| lock(&self.refused).clone())
    }
}

impl Needed for Exchange {
    fn unhealthy(&self) -> Option<String> {
        let lost = lock(&self.lost);
        let why = lost.as_ref()?;
        Some(format!("the broker {} cannot be used: {why}", self.settings.address))
    }
}

/// Connects to the broker whenever there is no connection.
async fn stay_connected(exchange: Arc<Exchange>) {
    let mut pause = Pause::first();
    loop {
        let groups: Vec<_> = exchange.subscribers.iter().map(|one| one.group()).collect();
        let why = match connection::connect(&exchange.settings, &groups).await {
            Ok(connection) => {
                pause = Pause::first();
                work(&exchange, connection).await
            }
            Err(why) => why,
        };
        *lock(&exchange.lost) = Some(why);
        // What waits is refused now rather than after a time that nobody knows.
        let mut queued = exchange.queued.lock().await;
        while queued.try_recv().is_ok() {}
        drop(queued);
        exchange.waiting.forget();
        pause.rest().await;
    }
}

/// Uses a connection until any part of it fails; returns the reason.
async fn work(exchange: &Arc<Exchange>, connection: Connection) -> String {
    let Connection { producer, mut keeper, consumers, mut link } = connection;
    if let Err(why) = keep(exchange, &mut keeper, 0).await {
        return why;
    }
    let mut tasks = JoinSet::new();
    for (subscriber, (reader, settler)) in exchange.subscribers.iter().zip(consumers) {
        tasks.spawn(Arc::clone(subscriber).read_all(reader));
        tasks.spawn(Arc::clone(subscriber).settle_all(settler));
    }
    tasks.spawn(publish_all(Arc::clone(exchange), producer));
    tasks.spawn(keep_all(Arc::clone(exchange), keeper));
    tasks.spawn(async move { link.broken().await });
    *lock(&exchange.lost) = None;
    let ended = tasks.join_next().await.expect("there are tasks");
    // The other tasks end with the set, and their locks with them.
    tasks.shutdown().await;
    ended.unwrap_or_else(|panic| panic.to_string())
}

/// Publishes what was queued while it published before; returns the reason why it cannot.
async fn publish_all(exchange: Arc<Exchange>, mut producer: Producer) -> String {
    let mut queued = exchange.queued.lock().await;
    let mut orders = Vec::new();
    let mut records = Vec::new();
    loop {
        if queued.recv_many(&mut orders, MOST_PUBLISHED).await == 0 {
            return "the channel ends".to_owned();
        }
        records.clear();
        records.extend(orders.iter().map(|order| order.record.clone()));
        let published = time::timeout(exchange.settings.timeout, producer.publish(&records)).await;
        match published {
            Ok(Ok(())) => orders.drain(..).for_each(Order::confirm),
            Ok(Err(Failure::Refused(why))) => {
                *lock(&exchange.refused) = format!("{} refused: {why}", exchange.settings.address);
                orders.clear();
            }
            Ok(Err(Failure::Broken(why))) => return why,
            Err(_) => return format!("no answer within {:?}", exchange.settings.timeout),
        }
    }
}

/// Lets the broker forget what all are done with; returns the reason why it cannot.
async fn keep_all(exchange: Arc<Exchange>, mut keeper: Keeper) -> String {
    for round in 1.. {
        time::sleep(FORGET_EVERY).await;
        if let Err(why) = keep(&exchange, &mut keeper, round).await {
            return why;
        }
    }
    unreachable!("the rounds do not end")
}

async fn keep(exchange: &Exchange, keeper: &mut Keeper, round: u64) -> Result<(), String> {
    let lows: Vec<_> =
        exchange.subscribers.iter().map(|subscriber| lock(&subscriber.window).low()).collect();
    within(exchange.settings.timeout, keeper.forget(&lows)).await?;
    if !round.is_multiple_of(CORRECT_EVERY) {
        return Ok(());
    }
    for subscriber in &exchange.subscribers {
        // Events that come or end meanwhile would be counted wrongly: then the next round corrects.
        let moment = || (exchange.next.load(Ordering::Relaxed), subscriber.backlog());
        let before = moment();
        let asked = keeper.backlog(subscriber.index);
        let backlog = within(exchange.settings.timeout, asked).await?;
        if moment() == before && exchange.bytes.load(Ordering::Relaxed) == 0 {
            subscriber.correct(backlog);
        }
    }
    Ok(())
}

impl Order {
    fn confirm(mut self) {
        self.is_published = true;
        if let Some(confirmed) = self.confirmed.take() {
            // The caller may be gone.
            let _ = confirmed.send(());
        }
    }

    /// Takes back an order that was never queued: its caller is told otherwise.
    fn withdraw(mut self) {
        self.is_published = true;
        self.subscribers.iter().for_each(|subscriber| subscriber.count(-1));
    }
}

impl Drop for Order {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.record.len(), Ordering::Relaxed);
        if self.is_published {
            return;
        }
        self.subscribers.iter().for_each(|subscriber| subscriber.count(-1));
        if self.confirmed.is_none() {
            self.metrics.unpublished();
        }
    }
}
