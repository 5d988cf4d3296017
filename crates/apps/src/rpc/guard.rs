//! A stream from a peer that may be hostile. HTTP/2 has frames which cost their sender nothing and
//! which no flow control holds back: pings, settings, resets, priorities. Here the frames are told
//! apart as they are read, and who sends nearly nothing else loses the connection. What is read at
//! once is bounded too, so that one connection cannot keep the thread from the others.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task;
use tokio::time::Instant;

use crate::statistics::Statistics;

#[cfg(test)]
mod tests;

/// Bytes read before others have their turn. To decode so much of a hostile head takes some 50 µs.
const IN_TURN: usize = 4 << 10;

/// Frames that ask for nothing, more than these, end the connection, unless a second has passed
/// since they last were as many. Each call allows for [`FOR_A_CALL`] more.
const IDLE_FRAMES: u32 = 1000;
const IN: Duration = Duration::from_secs(1);
/// An update of each window, a reset and a ping.
const FOR_A_CALL: u32 = 4;

/// What its peer sends is counted as it is read.
pub(super) struct Guarded<S> {
    stream: S,
    frames: Frames,
    allowance: Allowance,
    in_turn: usize,
    statistics: Arc<Statistics>,
}

impl<S> Guarded<S> {
    /// Before the peer's preface has been read.
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
            // Unlike a mere waking it looks for what others have sent meanwhile.
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
            // What fails has read nothing.
            buffer.set_filled(before);
            return Poll::Ready(Err(io::Error::other("a flood of frames")));
        }
        Poll::Ready(Ok(()))
    }
}

/// Gathered writing is not offered: without it the `h2` library copies frames of up to 1 KiB into one
/// buffer, and not only those of up to 256 bytes, so that fewer calls of the kernel write them.
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

/// What a frame is to whoever pays for it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// It begins a call.
    Call,
    /// It brings bytes of one, which flow control bounds.
    Data,
    Idle,
}

const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const HEADER: usize = 9;

/// Finds the frames in what is read, however it is cut.
struct Frames {
    /// Bytes that belong to something whose kind is known.
    to_skip: usize,
    header: [u8; HEADER],
    /// Bytes of the next header that are there.
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
    /// The numbers are those of RFC 9113, section 6.
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
    /// When it was last made whole.
    since: Instant,
}

impl Allowance {
    /// False if there are too many.
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
