//! Callers whose events are acknowledged once they are delivered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::kit::lock::lock;

/// The callers by the numbers of their events. Each has a connection, so their number is bounded.
#[derive(Default)]
pub struct Waiting(Mutex<HashMap<u64, Waiter>>);

struct Waiter {
    /// A bit for each subscriber that is not done: one may be done twice.
    left: u32,
    has_failed: bool,
    answer: oneshot::Sender<bool>,
}

/// A caller that waits. It is forgotten when this value is dropped.
pub struct Delivered {
    number: u64,
    waiting: Arc<Waiting>,
    answer: oneshot::Receiver<bool>,
}

impl Waiting {
    pub fn add(self: &Arc<Self>, number: u64, subscribers: usize) -> Delivered {
        let (answer, delivered) = oneshot::channel();
        let waiter = Waiter { left: (1 << subscribers) - 1, has_failed: false, answer };
        lock(&self.0).insert(number, waiter);
        Delivered { number, waiting: Arc::clone(self), answer: delivered }
    }

    /// Notes that the subscriber of this index is done with an event.
    pub fn done(&self, number: u64, subscriber: usize, succeeded: bool) {
        let mut waiting = lock(&self.0);
        let Some(waiter) = waiting.get_mut(&number) else { return };
        waiter.left &= !(1 << subscriber);
        waiter.has_failed |= !succeeded;
        if waiter.left == 0
            && let Some(waiter) = waiting.remove(&number)
        {
            // The caller may be gone.
            let _ = waiter.answer.send(!waiter.has_failed);
        }
    }

    /// Lets all callers know that nobody can say what becomes of their events.
    pub fn forget(&self) {
        lock(&self.0).clear();
    }
}

impl Delivered {
    /// Returns true if all deliveries succeeded; `None` if that is not known.
    pub async fn succeeded(mut self) -> Option<bool> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Delivered {
    fn drop(&mut self) {
        lock(&self.waiting.0).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting() -> Arc<Waiting> {
        Arc::default()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_caller_gets_the_outcome_of_all_subscribers() {
        let waiting = waiting();
        let (good, bad) = (waiting.add(1, 2), waiting.add(2, 2));
        for (number, subscriber) in [(1, 0), (2, 1), (2, 1), (1, 1), (3, 0)] {
            waiting.done(number, subscriber, true);
        }
        waiting.done(2, 0, false);
        assert_eq!((good.succeeded().await, bad.succeeded().await), (Some(true), Some(false)));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_caller_that_goes_is_forgotten_and_one_whose_broker_is_lost_is_told() {
        let waiting = waiting();
        drop(waiting.add(1, 1));
        assert!(lock(&waiting.0).is_empty());
        let told = waiting.add(2, 1);
        waiting.forget();
        assert_eq!(told.succeeded().await, None);
    }
}
