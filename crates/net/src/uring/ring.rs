//! The two queues shared with the kernel, and the calls that enter the kernel.
//!
//! Only the thread that created a ring may use it, and the kernel checks for completions only while
//! that thread is in [`Ring::enter`]: it is not interrupted in between.

use std::io;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Probe, cqueue, opcode, squeue};
use measure::Nanos;

use crate::clock;

/// The most operations queued before the kernel has to take them.
const SUBMISSIONS: u32 = 256;
/// The longest sleep: the kernel cannot add every duration to its clock.
const LONGEST: Nanos = Nanos::from_secs(3600);
/// The most completions in the queue; the kernel has to store further ones elsewhere.
pub(super) const COMPLETIONS: u32 = 4096;

pub(super) struct Ring {
    ring: IoUring,
}

impl Ring {
    pub(super) fn new() -> io::Result<Ring> {
        let ring = IoUring::builder()
            .setup_cqsize(COMPLETIONS)
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .build(SUBMISSIONS)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let needed = [
            opcode::PollAdd::CODE,
            opcode::RecvMulti::CODE,
            opcode::Send::CODE,
            opcode::AsyncCancel::CODE,
        ];
        let has_all = needed.into_iter().all(|code| probe.is_supported(code));
        // Features whose lack would show too late: a full completion queue, and a wait with a
        // timeout.
        let features = ring.params().is_feature_nodrop() && ring.params().is_feature_ext_arg();
        match has_all && features {
            true => Ok(Ring { ring }),
            false => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        }
    }

    pub(super) fn io_uring(&self) -> &IoUring {
        &self.ring
    }

    /// Queues an operation; the kernel takes it in the next `enter`, or before if the queue is
    /// full.
    ///
    /// # Safety
    ///
    /// The memory that the operation points to must be valid until it completes.
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) {
        loop {
            // SAFETY: by the caller's promise.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return;
            }
            self.submit();
        }
    }

    /// True if the kernel has taken everything that was queued.
    pub(super) fn is_submitted(&mut self) -> bool {
        self.ring.submission().is_empty()
    }

    /// True if [`Ring::enter`] would have something to do at once.
    pub(super) fn has_work(&mut self) -> bool {
        let queue = self.ring.submission();
        !queue.is_empty() || queue.taskrun() || queue.cq_overflow()
    }

    /// Has the kernel take what is queued, and nothing else.
    pub(super) fn submit(&mut self) {
        self.enter_at_once(EnterFlags::empty());
    }

    /// Has the kernel take what is queued and complete what is ready; while nothing is, sleeps for
    /// at most `longest`.
    pub(super) fn enter(&mut self, longest: Nanos) {
        if longest == Nanos::ZERO {
            return self.enter_at_once(EnterFlags::GETEVENTS);
        }
        let libc::timespec { tv_sec, tv_nsec } = clock::timespec(longest.min(LONGEST).0);
        let timeout = Timespec::new().sec(tv_sec as u64).nsec(tv_nsec as u32);
        let timeout = SubmitArgs::new().timespec(&timeout);
        check(self.ring.submitter().submit_with_args(1, &timeout));
    }

    fn enter_at_once(&mut self, flags: EnterFlags) {
        let queued = self.ring.submission().len() as u32;
        let submitter = self.ring.submitter();
        // SAFETY: without an argument; what is queued is valid by the promise made with `push`.
        check(unsafe { submitter.enter::<libc::sigset_t>(queued, 0, flags.bits(), None) });
    }

    /// Returns the completions.
    pub(super) fn completed(&mut self) -> impl Iterator<Item = cqueue::Entry> {
        self.ring.completion()
    }
}

/// Ignores passing errors: the time was over, a signal came, or the kernel lacked memory or room
/// for completions. The caller checks the completions, and tries again.
fn check(result: io::Result<usize>) {
    if let Err(error) = result {
        let passing = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY];
        let passes = error.raw_os_error().is_some_and(|code| passing.contains(&code));
        assert!(passes, "a ring of ours takes what it is given: {error}");
    }
}
