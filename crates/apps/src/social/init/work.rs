//! The work of a run: many requests at a time, with its progress, until it is done or stopped.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use super::server::Server;
use crate::kit::exit::Exit;
use crate::kit::terminal::note;

/// The interval between lines of progress.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// The workers, each of which has one request in progress.
pub struct Workers {
    servers: Vec<Server>,
    number: usize,
    is_stopped: Cell<bool>,
    phase: Cell<&'static str>,
    done: Cell<usize>,
    all: Cell<usize>,
}

impl Workers {
    /// Returns workers that use the servers in turn.
    pub fn new(servers: Vec<Server>, number: usize) -> Self {
        let (is_stopped, phase) = (Cell::new(false), Cell::new(""));
        Workers { servers, number, is_stopped, phase, done: Cell::new(0), all: Cell::new(0) }
    }

    /// Lets everything that was begun finish, and begins nothing more.
    pub fn stop(&self) {
        self.is_stopped.set(true);
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> u64 {
        self.servers.iter().map(Server::sent).sum()
    }

    /// Does everything in `items`. It ends early after an error, and when the workers are stopped;
    /// what was begun is finished.
    pub async fn each<T: 'static>(
        self: &Rc<Self>,
        phase: &'static str,
        items: Vec<T>,
        work: impl AsyncFn(&Server, T) -> Result<(), Exit> + 'static,
    ) -> Result<(), Exit> {
        self.phase.set(phase);
        self.done.set(0);
        self.all.set(items.len());
        let items = Rc::new(RefCell::new(items.into_iter()));
        let work = Rc::new(work);
        let has_failed = Rc::new(Cell::new(false));
        let mut tasks = JoinSet::new();
        for number in 0..self.number {
            let (workers, items) = (Rc::clone(self), Rc::clone(&items));
            let (work, has_failed) = (Rc::clone(&work), Rc::clone(&has_failed));
            tasks.spawn_local(async move {
                let server = &workers.servers[number % workers.servers.len()];
                while !has_failed.get() {
                    if workers.is_stopped.get() {
                        return Err(interrupted());
                    }
                    let Some(item) = items.borrow_mut().next() else { break };
                    let done = work(server, item).await;
                    done.inspect_err(|_| has_failed.set(true))?;
                    workers.done.set(workers.done.get() + 1);
                }
                Ok(())
            });
        }
        let mut result = Ok(());
        while let Some(ended) = tasks.join_next().await {
            result = result.and(ended.expect("a worker does not panic"));
        }
        result
    }

    /// Writes the progress every second.
    pub async fn report(&self) {
        let (mut requests, mut at) = (0, Instant::now());
        loop {
            time::sleep(BETWEEN_LINES).await;
            let (requests_now, now) = (self.requests(), Instant::now());
            let per_second = (requests_now - requests) as f64 / (now - at).as_secs_f64();
            let (phase, done, all) = (self.phase.get(), self.done.get(), self.all.get());
            note(&format!("{phase}: {done} of {all}; {per_second:.0} requests/s"));
            (requests, at) = (requests_now, now);
        }
    }
}

pub fn interrupted() -> Exit {
    Exit::interrupted("interrupted; run the same command again to continue")
}
