//! Files by a pool of threads, for a loop that waits with epoll: each thread makes the calls of one
//! operation at a time, and a descriptor becomes readable when operations have completed.
//!
//! The threads run on the CPUs of the thread that began to use files.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use super::{Calls, Completion, Handle, Handles, MOST_IN_PROGRESS, Running};
use crate::socket;

/// The number of threads, so the most operations that the disk has at once. With more of them,
/// cold reads were not measurably faster.
const THREADS: usize = 16;
/// The size of a thread's stack: the calls of the kernel do not use it.
const STACK_BYTES: usize = 128 * 1024;

#[derive(Debug)]
pub(crate) struct Pool {
    handles: Handles,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Operations whose completions were not taken.
    in_progress: usize,
    done: VecDeque<Completion>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified once for each operation, and at the end.
    changed: Condvar,
    /// Readable since operations have completed.
    wake: OwnedFd,
}

#[derive(Debug)]
struct State {
    queued: VecDeque<Running<Arc<Handle>>>,
    done: VecDeque<Completion>,
    ended: bool,
}

impl Pool {
    pub(crate) fn new() -> io::Result<Pool> {
        // SAFETY: a call without pointers.
        let wake =
            socket::owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        let (queued, done) = (with_room(), with_room());
        let state = Mutex::new(State { queued, done, ended: false });
        let shared = Arc::new(Shared { state, changed: Condvar::new(), wake });
        let (handles, threads) = (Handles::default(), Vec::with_capacity(THREADS));
        let mut pool = Pool { handles, shared, threads, in_progress: 0, done: with_room() };
        // Where the system grants too few, those that were started end with the pool.
        (0..THREADS).try_for_each(|_| pool.start_thread())?;
        Ok(pool)
    }

    /// A descriptor that becomes readable, edge by edge, when operations have completed.
    pub(crate) fn wake(&self) -> io::Result<OwnedFd> {
        self.shared.wake.try_clone()
    }

    fn count(&mut self) {
        assert!(0 < self.room(), "the caller has checked that there is room");
        self.in_progress += 1;
    }

    /// Takes over what the threads have completed.
    pub(crate) fn collect(&mut self) {
        if self.done.len() < self.in_progress {
            self.done.append(&mut self.shared.lock().done);
        }
    }

    pub(crate) fn has_completed(&self) -> bool {
        !self.done.is_empty()
    }

    fn start_thread(&mut self) -> io::Result<()> {
        let shared = self.shared.clone();
        let thread = thread::Builder::new().name("files".to_owned()).stack_size(STACK_BYTES);
        self.threads.push(thread.spawn(move || shared.work())?);
        Ok(())
    }
}

impl Calls for Pool {
    fn handles(&mut self) -> &mut Handles {
        &mut self.handles
    }

    fn room(&self) -> usize {
        MOST_IN_PROGRESS - self.in_progress
    }

    fn begin(&mut self, running: Running<Arc<Handle>>) {
        self.count();
        self.shared.lock().queued.push_back(running);
        self.shared.changed.notify_one();
    }

    fn fail(&mut self, token: u64, error: io::Error) {
        self.count();
        self.done.push_back(Completion { token, result: Err(error), buffer: Vec::new() });
    }

    fn next(&mut self) -> Option<Completion> {
        let next = self.done.pop_front()?;
        self.in_progress -= 1;
        Some(next)
    }
}

impl Drop for Pool {
    /// Leaves out what was not begun, and waits for the rest.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ended = true;
        state.queued.clear();
        drop(state);
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of a thread was printed, and cannot be handled here.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }

    /// Performs operations until the pool ends.
    fn work(&self) {
        let mut state = self.lock();
        while !state.ended {
            let Some(running) = state.queued.pop_front() else {
                state = self.changed.wait(state).expect("no thread panics while it holds the lock");
                continue;
            };
            drop(state);
            let completion = running.perform();
            state = self.lock();
            let is_first = state.done.is_empty();
            state.done.push_back(completion);
            if is_first {
                drop(state);
                self.wake();
                state = self.lock();
            }
        }
    }

    fn wake(&self) {
        let one = 1u64;
        // SAFETY: eight bytes that are valid for the call. It could fail only after 2^64 calls.
        unsafe { libc::write(self.wake.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }
}

fn with_room<T>() -> VecDeque<T> {
    VecDeque::with_capacity(MOST_IN_PROGRESS)
}
