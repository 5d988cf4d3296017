//! The thread that writes into an embedded database: it takes all queued orders, decides them in
//! one transaction, and replies only after the commit. So many writes at once cost one commit, and
//! an order sees those decided before it.

use std::iter;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tonic::Status;

use super::health::Needed;

#[cfg(test)]
mod tests;

/// The most orders that share one commit, so that none waits long for the others.
const LARGEST_BATCH: usize = 256;

/// The most orders of calls that wait. Each call in progress has at most one, and a process has at
/// most so many by default; but the orders of callers that went away wait as well.
const LONGEST_QUEUE: usize = 16_384;

/// A writing thread. It ends with this value, or when a commit fails: after a failed write the state
/// of a database is unknown until it is opened again.
pub struct Writer<Order, Decided> {
    orders: Option<Sender<Queued<Order, Decided>>>,
    /// A permit for each order of a call that may still wait.
    room: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
}

/// An order, its answer, and its place in the queue.
type Queued<Order, Decided> =
    (Order, oneshot::Sender<Result<Decided, Status>>, Option<OwnedSemaphorePermit>);

impl<Order: Send + 'static, Decided: Send + 'static> Writer<Order, Decided> {
    /// Starts the thread; `commit` decides a batch in order, one outcome for each order.
    pub fn start(
        commit: impl Fn(&[Order]) -> Result<Vec<Decided>, redb::Error> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let (orders, waiting) = mpsc::channel();
        let thread = thread::Builder::new().name("store".into());
        let thread = thread.spawn(move || write(&waiting, commit))?;
        let room = Arc::new(Semaphore::new(LONGEST_QUEUE));
        Ok(Writer { orders: Some(orders), room, thread: Some(thread) })
    }

    /// Returns the outcome of an order once it is durable.
    pub async fn decided(&self, order: Order) -> Result<Decided, Status> {
        let unavailable = || Err(Status::unavailable(STOPPED));
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            return Err(Status::resource_exhausted("too many writes at once"));
        };
        let Some(answered) = self.send(order, Some(place)) else { return unavailable() };
        answered.await.unwrap_or_else(|_| unavailable())
    }

    /// Queues an order whose outcome nobody waits for. Such orders have places in the caller's own
    /// bound. If the thread has ended, the order is lost, and this is unhealthy.
    pub fn queue(&self, order: Order) {
        let _ = self.send(order, None);
    }

    fn send(
        &self,
        order: Order,
        place: Option<OwnedSemaphorePermit>,
    ) -> Option<oneshot::Receiver<Result<Decided, Status>>> {
        let (answer, answered) = oneshot::channel();
        self.orders.as_ref()?.send((order, answer, place)).ok()?;
        Some(answered)
    }
}

const STOPPED: &str = "the store has stopped writing";

/// A store that failed to write once never writes again.
impl<Order: Send, Decided: Send> Needed for Writer<Order, Decided> {
    fn unhealthy(&self) -> Option<String> {
        let is_writing = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        (!is_writing).then(|| STOPPED.to_owned())
    }
}

impl<Order, Decided> Drop for Writer<Order, Decided> {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was reported, and the store reports itself as not writing.
            let _ = thread.join();
        }
    }
}

fn write<Order, Decided>(
    waiting: &Receiver<Queued<Order, Decided>>,
    commit: impl Fn(&[Order]) -> Result<Vec<Decided>, redb::Error>,
) {
    while let Ok(first) = waiting.recv() {
        let others = waiting.try_iter().take(LARGEST_BATCH - 1);
        let taken = iter::once(first).chain(others).map(|(order, answer, _)| (order, answer));
        let (orders, answers): (Vec<Order>, Vec<_>) = taken.unzip();
        let decided = commit(&orders);
        let failure = decided.as_ref().err().map(|error| Status::unavailable(error.to_string()));
        let mut decided = decided.into_iter().flatten();
        for answer in answers {
            let outcome = match &failure {
                Some(status) => Err(status.clone()),
                None => Ok(decided.next().expect("each order has an outcome")),
            };
            // The caller may be gone; what was written is still valid.
            let _ = answer.send(outcome);
        }
        if failure.is_some() {
            return;
        }
    }
}
