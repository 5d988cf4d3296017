//! Kernel timestamps of received bytes: the time that an answer waited for us to read it.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use measure::{Histogram, Instant, Nanos};

use crate::clock;
use crate::socket;

/// The time that received bytes had waited in the kernel when they were read.
#[derive(Debug)]
pub(super) struct ReceiveDelays {
    /// The time when the kernel received the last byte of the latest read.
    latest: Option<Instant>,
    start: Instant,
    end: Instant,
    histogram: Histogram,
}

impl Default for ReceiveDelays {
    fn default() -> ReceiveDelays {
        let histogram = Histogram::new();
        ReceiveDelays { latest: None, start: Instant(0), end: Instant::NEVER, histogram }
    }
}

impl ReceiveDelays {
    pub(super) fn count(&mut self, start: Instant, end: Instant) {
        (self.start, self.end) = (start, end);
        self.histogram.clear();
    }

    pub(super) fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    pub(super) fn latest(&self) -> Option<Instant> {
        self.latest
    }

    /// Receives as recv(2) does, and records the delay.
    pub(super) fn receive(&mut self, socket: RawFd, buffer: &mut [u8]) -> isize {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // An array of words, so that what the kernel writes there is aligned.
        let mut control = [0u64; 16];
        // SAFETY: all-zero bytes are a valid header of a message without any parts.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        // Its type differs between C libraries.
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the header names one part of a buffer, and a control buffer, with their own
        // sizes.
        let count = unsafe { libc::recvmsg(socket, &mut message, 0) };
        self.latest = None;
        if 0 < count
            && let Some(stamp) = arrival(&message)
        {
            let (now, wall) = clock::now_and_wall();
            let waited = Nanos(wall.saturating_sub(stamp));
            self.latest = Some(Instant(now.0.saturating_sub(waited.0)));
            if self.start <= now && now < self.end {
                self.histogram.record(waited);
            }
        }
        count
    }
}

/// The time when the kernel received the last byte of a message, on its wall clock, if it is given.
fn arrival(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: `message` was filled in by recvmsg, and its control buffer lives as long as it is
    // read here; the kernel writes three aligned times behind a header of this kind.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(found) = header.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
                return Some(ns).filter(|ns| 0 < *ns);
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// Asks the kernel to stamp in software what this socket receives, and to report the stamps.
pub(super) fn ask(socket: RawFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    socket::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as libc::c_int)
}

/// Checks that the kernel grants it.
pub(super) fn probe() -> io::Result<()> {
    let socket = socket::stream(([127, 0, 0, 1], 0).into())?;
    ask(socket.as_raw_fd())
}
