//! The threads that hash passwords. Whatever they do takes milliseconds of CPU, so it never runs on
//! the thread that serves, and its queue is bounded.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::Context;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::lock::lock;

#[cfg(test)]
mod tests;

type Job = Box<dyn FnOnce() + Send>;

/// The threads and their queue. The threads end when this is dropped and the queue is empty.
pub struct Pool {
    jobs: Sender<Job>,
    room: Arc<Semaphore>,
    most: usize,
}

/// The right to a place in the queue, which is taken until the work ends.
pub struct Ticket {
    jobs: Sender<Job>,
    permit: OwnedSemaphorePermit,
}

impl Pool {
    /// Starts the threads; at most `most` jobs run or wait.
    pub fn start(threads: usize, most: usize) -> anyhow::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads {
            let queue = Arc::clone(&queue);
            let thread = thread::Builder::new().name("hashing".into());
            thread.spawn(move || work(&queue)).context("starting a hashing thread")?;
        }
        Ok(Pool { jobs, room: Arc::new(Semaphore::new(most)), most })
    }

    /// Takes a place; `None` if the queue is full.
    pub fn enter(&self) -> Option<Ticket> {
        let permit = Arc::clone(&self.room).try_acquire_owned().ok()?;
        Some(Ticket { jobs: self.jobs.clone(), permit })
    }

    /// Returns the number of taken places.
    pub fn taken(&self) -> usize {
        self.most - self.room.available_permits()
    }
}

impl Ticket {
    /// Runs the work on a thread of the pool, after all that came before. Work whose caller has gone
    /// is not begun. `None` if the work panicked.
    pub async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let Ticket { jobs, permit } = self;
        let (answer, answered) = oneshot::channel();
        let job = move || {
            if !answer.is_closed() {
                // The caller may have gone meanwhile.
                let _ = answer.send(work());
            }
            drop(permit);
        };
        jobs.send(Box::new(job)).ok()?;
        answered.await.ok()
    }
}

/// The outcome of a login, which compares a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    Made,
    /// The user is unknown, or the password is wrong.
    Rejected,
    /// The queue was full.
    Refused,
    Failed,
}

/// The names of the outcomes in metrics.
pub const LOGINS: [&str; 4] = ["ok", "rejected", "refused", "error"];

fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        let next = lock(queue).recv();
        let Ok(job) = next else { return };
        // A panic was reported; the thread goes on, and the caller gets no answer.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
    }
}
