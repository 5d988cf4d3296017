//! A guard for a stream from a peer that may be hostile. HTTP/2 has frames that cost their sender
//! nothing and that no flow control bounds: pings, settings, resets, priorities. The guard
//! classifies frames as they are read; a peer that sends hardly anything else loses its connection.
//! The bytes read at once are bounded too, so that one connection cannot keep the thread from the
//! others.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task;
use tokio::time::Instant;

use crate::kit::statistics::Statistics;

#[cfg(test)]
mod tests;

/// The bytes that are read before others get their turn. To decode this much of a hostile head
/// takes about 50 µs.
const IN_TURN: usize = 4 << 10;

/// The number of idle frames, which ask for nothing, that are allowed in each period of [`IN`];
/// more end the connection. Each call allows [`FOR_A_CALL`] more.
const IDLE_FRAMES: u32 = 1000;
const IN: Duration = Duration::from_secs(1);
/// An update of each window, a reset and a ping.
const FOR_A_CALL: u32 = 4;

/// A stream that counts the frames of its peer as they are read.
pub(super) struct Guarded<S> {
    stream: S,
    frames: Frames,
    allowance: Allowance,
    in_turn: usize,
    statistics: Arc<Statistics>,
}

impl<S> Guarded<S> {
    /// Creates a guard; the peer's preface must not have been read yet.
    pub(super) fn new(stream: S, statistics: Arc<Statistics>) -> Self {
        let allowance = Allowance { left: IDLE_FRAMES, since: Instant::now() };
        Guarded { stream, frames: Frames::default(), allowance, in_turn: 0, statistics }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if IN_TURN <= this.in_turn {
            this.in_turn = 0;
            // Unlike a plain wake-up, this lets the runtime poll the other connections first.
            ready!(pin!(task::yield_now()).poll(context));
        }
        let before = buffer.filled().len();
        let room = buffer.remaining().min(IN_TURN - this.in_turn);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
        let read = Pin::new(&mut this.stream).poll_read(context, &mut part);
        if read.is_pending() {
            this.in_turn = 0;
        }
        ready!(read)?;
        let length = part.filled().len();
        buffer.advance(length);
        let bytes = &buffer.filled()[before..];
        this.in_turn += length;
        let Guarded { frames, allowance, .. } = this;
        let mut is_flood = false;
        frames.read(bytes, |kind| is_flood |= !allowance.takes(kind));
        if is_flood {
            this.statistics.refuse();
            // A failed read must not return bytes.
            buffer.set_filled(before);
            return Poll::Ready(Err(io::Error::other("a flood of frames")));
        }
        Poll::Ready(Ok(()))
    }
}

/// Passes writes on. It does not offer vectored writes: without them the `h2` library copies frames
/// of up to 1 KiB into one buffer, instead of up to 256 bytes, so that fewer system calls write
/// them.
impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The kind of a frame, by its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// The start of a call.
    Call,
    /// Bytes of a call, which flow control bounds.
    Data,
    Idle,
}

const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const HEADER: usize = 9;

/// A parser that finds the frames in what is read, however it is split.
struct Frames {
    /// The remaining bytes of something whose kind is known.
    to_skip: usize,
    header: [u8; HEADER],
    /// The number of bytes of the next header that have arrived.
    of_header: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Frames { to_skip: PREFACE, header: [0; HEADER], of_header: 0 }
    }
}

impl Frames {
    fn read(&mut self, mut bytes: &[u8], mut each: impl FnMut(Kind)) {
        while !bytes.is_empty() {
            let skipped = self.to_skip.min(bytes.len());
            self.to_skip -= skipped;
            bytes = &bytes[skipped..];
            let taken = (HEADER - self.of_header).min(bytes.len());
            self.header[self.of_header..self.of_header + taken].copy_from_slice(&bytes[..taken]);
            self.of_header += taken;
            bytes = &bytes[taken..];
            if self.of_header == HEADER {
                let [a, b, c, kind, flags, ..] = self.header;
                let length = u32::from_be_bytes([0, a, b, c]) as usize;
                each(Kind::of(kind, flags, length));
                (self.to_skip, self.of_header) = (length, 0);
            }
        }
    }
}

impl Kind {
    /// Returns the kind by the numbers of RFC 9113, section 6.
    fn of(kind: u8, flags: u8, length: usize) -> Kind {
        let ends_stream = flags & 1 != 0;
        match kind {
            0 if ends_stream || 0 < length => Kind::Data,
            1 => Kind::Call,
            _ => Kind::Idle,
        }
    }
}

struct Allowance {
    left: u32,
    /// The time when it was last reset.
    since: Instant,
}

impl Allowance {
    /// Counts a frame; false if there are too many.
    fn takes(&mut self, kind: Kind) -> bool {
        match kind {
            Kind::Data => {}
            Kind::Call => self.left = (self.left + FOR_A_CALL).min(IDLE_FRAMES),
            Kind::Idle if 0 < self.left => self.left -= 1,
            Kind::Idle => return self.begins_anew(Instant::now()),
        }
        true
    }

    fn begins_anew(&mut self, now: Instant) -> bool {
        let is_time = IN <= now - self.since;
        if is_time {
            *self = Allowance { left: IDLE_FRAMES, since: now };
        }
        is_time
    }
}
