//! Files by the ring: the operations that are in progress, and their calls as entries of the queue.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use io_uring::squeue;
use io_uring::types::{Fd, FsyncFlags};
use io_uring::{IoUring, Probe, opcode};
use measure::Nanos;

use super::{Uring, operation};
use crate::clock;
use crate::files::{
    Call, Calls, Completion, Handle, Handles, MOST_IN_PROGRESS, Running, WithCalls,
};

/// The longest wait at the end for calls, which cannot be cancelled while the disk works.
const LAST_CALLS: Nanos = Nanos::from_secs(10);

/// The files of a ring.
pub(crate) struct FileCalls {
    handles: Handles,
    /// Operations by the number that names them to the kernel. Their buffers stay where they are
    /// until the completion: the kernel reads and writes them.
    running: Vec<Option<Running<Arc<Handle>>>>,
    free: Vec<u32>,
    /// Operations with a call that the kernel has not been given.
    queued: VecDeque<u32>,
    done: VecDeque<Completion>,
    /// The kernel truncates by the ring (Linux 6.9).
    pub(super) truncates: bool,
}

impl FileCalls {
    /// Fails if the kernel lacks an operation that this needs.
    fn new(ring: &IoUring) -> io::Result<FileCalls> {
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let needed =
            [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE, opcode::UnlinkAt::CODE];
        if !needed.into_iter().all(|code| probe.is_supported(code)) {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let most = MOST_IN_PROGRESS;
        Ok(FileCalls {
            handles: Handles::default(),
            running: (0..most).map(|_| None).collect(),
            free: (0..most as u32).rev().collect(),
            queued: VecDeque::with_capacity(most),
            done: VecDeque::with_capacity(most),
            truncates: probe.is_supported(opcode::Ftruncate::CODE),
        })
    }

    /// Returns the next call to hand to the kernel.
    ///
    /// The memory that it points to is valid, and is used by nothing else, until its result is
    /// passed to [`FileCalls::completed`], as long as `self` exists.
    fn next_call(&mut self) -> Option<squeue::Entry> {
        while let Some(number) = self.queued.pop_front() {
            let running = self.running[number as usize].as_mut().expect("a queued one is running");
            let (file, call) = running.call();
            let is_rare = match call {
                Call::Truncate(_) => !self.truncates,
                Call::Rename(..) => true,
                _ => false,
            };
            if is_rare {
                // It takes a moment.
                let result = file.perform(call);
                self.advance(number, result);
                continue;
            }
            return Some(entry(file, call).user_data(operation::of_file(number)));
        }
        None
    }

    /// Takes the result of a call.
    pub(super) fn completed(&mut self, number: u32, result: i32) {
        let result = match usize::try_from(result) {
            Ok(count) => Ok(count),
            Err(_) => Err(io::Error::from_raw_os_error(-result)),
        };
        self.advance(number, result);
    }

    fn advance(&mut self, number: u32, result: io::Result<usize>) {
        let place = &mut self.running[number as usize];
        let mut running = place.take().expect("a call completes once");
        match running.advance(result) {
            Some(result) => {
                self.free.push(number);
                self.done.push_back(running.end(result));
            }
            None => {
                *place = Some(running);
                self.queued.push_back(number);
            }
        }
    }

    /// True if the kernel has calls that have not completed.
    fn is_in_kernel(&self) -> bool {
        self.free.len() + self.queued.len() < MOST_IN_PROGRESS
    }
}

impl Uring {
    /// Queues the next calls of operations.
    pub(super) fn queue_calls(&mut self) {
        let Some(files) = &mut self.files else { return };
        while let Some(call) = files.next_call() {
            // SAFETY: what it points to is valid as long as `files`, which outlives the call:
            // `end_calls` sees to that.
            unsafe { self.ring.push(&call) };
        }
    }

    pub(super) fn has_completed(&self) -> bool {
        self.files.as_ref().is_some_and(|files| !files.done.is_empty())
    }

    /// Waits until the kernel has no call any more. A disk that does not answer keeps the memory
    /// that it may still write to: that is leaked.
    pub(super) fn end_calls(&mut self) {
        let end = clock::now() + LAST_CALLS;
        while let Some(files) = &self.files
            && files.is_in_kernel()
        {
            if end <= clock::now() {
                std::mem::forget(self.files.take());
                return;
            }
            self.ring.enter(Nanos::from_millis(10));
            self.collect();
        }
    }
}

impl Calls for FileCalls {
    fn handles(&mut self) -> &mut Handles {
        &mut self.handles
    }

    fn room(&self) -> usize {
        self.free.len() - self.done.len()
    }

    fn begin(&mut self, running: Running<Arc<Handle>>) {
        assert!(0 < self.room(), "the caller has checked that there is room");
        let number = self.free.pop().expect("there is room");
        self.running[number as usize] = Some(running);
        self.queued.push_back(number);
    }

    fn fail(&mut self, token: u64, error: io::Error) {
        assert!(0 < self.room(), "the caller has checked that there is room");
        self.done.push_back(Completion { token, result: Err(error), buffer: Vec::new() });
    }

    fn next(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }
}

impl WithCalls for Uring {
    type Calls = FileCalls;

    fn make_calls(&mut self) -> io::Result<FileCalls> {
        FileCalls::new(self.ring.io_uring())
    }

    fn calls(&mut self) -> &mut Option<Box<FileCalls>> {
        &mut self.files
    }

    fn seen_calls(&self) -> Option<&FileCalls> {
        self.files.as_deref()
    }
}

fn entry(file: &Handle, call: Call<'_>) -> squeue::Entry {
    let fd = Fd(file.descriptor());
    match call {
        Call::Read(at, into) => {
            let (start, length) = (into.as_mut_ptr(), into.len() as u32);
            opcode::Read::new(fd, start, length).offset(at).build()
        }
        Call::Write(at, from) => {
            let (start, length) = (from.as_ptr(), from.len() as u32);
            opcode::Write::new(fd, start, length).offset(at).build()
        }
        Call::SyncFile => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
        Call::SyncFolder => opcode::Fsync::new(Fd(file.folder().descriptor())).build(),
        Call::Truncate(length) => opcode::Ftruncate::new(fd, length).build(),
        Call::Remove(name) => opcode::UnlinkAt::new(fd, name.as_ptr()).build(),
        Call::Rename(..) => unreachable!("the call is made at once"),
    }
}
