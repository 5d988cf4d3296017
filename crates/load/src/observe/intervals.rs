//! How intervals become a series: on a thread of its own.
//!
//! Taking the figures out of an interval's histograms and making room for them costs a shard more
//! than a hundred requests would, and memory. So the shard fills buffers, and the interval_writer, which no
//! request waits for, reads them and gives them back blank.

use std::mem;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use ::measure::series::{Merge, Series, Sparse};
use ::measure::{Histogram, Instant, Nanos};

use super::{Interval, Live, Window};

/// Buffers that may wait for the interval_writer, each of most of a megabyte. Only one who does not get to run
/// for as many intervals holds up the shard.
const MOST_WAITING: usize = 64;
/// Buffers that are blank when the load begins; a interval writer that is late has another one made.
const BLANK: usize = 2;

/// An interval as it is recorded.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) begin: Instant,
    pub(super) end: Instant,
    /// But for what its histograms say.
    pub(super) figures: Interval,
    pub(super) response: Histogram,
    pub(super) service: Histogram,
    pub(super) lateness: Histogram,
    /// The series begins with it, and does not go beyond it.
    pub(super) window: Window,
}

/// What became of the buffers of one shard.
#[derive(Debug)]
pub(super) struct Kept {
    /// Of the window.
    pub(super) series: Series<Interval>,
    /// What happened after the window, as one interval.
    pub(super) drained: Interval,
}

/// Keeps the intervals of one shard, and shows them to whoever watches.
#[derive(Debug)]
pub(super) struct IntervalWriter {
    full: SyncSender<Buffer>,
    blank: Receiver<Buffer>,
    thread: JoinHandle<Option<Kept>>,
}

impl IntervalWriter {
    pub(super) fn begin(length: Nanos, live: Option<SyncSender<Live>>) -> IntervalWriter {
        let (full, buffers) = mpsc::sync_channel::<Buffer>(MOST_WAITING);
        let (back, blank) = mpsc::sync_channel(MOST_WAITING);
        for _ in 0..BLANK {
            back.try_send(Buffer::default()).expect("there is room for more of them");
        }
        let thread = thread::spawn(move || {
            let mut kept = None;
            for mut buffer in buffers {
                let kept = kept.get_or_insert_with(|| Kept {
                    series: Series::new(buffer.window.start, length),
                    drained: Interval::default(),
                });
                buffer.keep(kept, live.as_ref());
                // Who is late has had more buffers made than are ever used at once.
                let _ = back.try_send(buffer);
            }
            kept
        });
        IntervalWriter { full, blank, thread }
    }

    /// Takes a full buffer, and leaves a blank one in its place.
    pub(super) fn turn_over(&mut self, buffer: &mut Buffer) {
        let blank = self.blank.try_recv().unwrap_or_default();
        let full = mem::replace(buffer, blank);
        self.full.send(full).expect("the interval writer reads until there are no more buffers");
    }

    /// What was kept; `None` if no interval has ended.
    pub(super) fn end(self) -> Option<Kept> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Buffer {
    /// Moves what it holds into the series, whose intervals may have become longer than its own. What
    /// came before the window is only shown.
    fn keep(&mut self, kept: &mut Kept, live: Option<&SyncSender<Live>>) {
        let mut interval = mem::take(&mut self.figures);
        interval.response = Sparse::of(&self.response);
        interval.service = Sparse::of(&self.service);
        interval.lateness = Sparse::of(&self.lateness);
        let whole = (interval.worked + interval.waited).as_secs_f64();
        interval.busy = if 0.0 < whole { interval.worked.as_secs_f64() / whole } else { 0.0 };
        self.response.clear();
        self.service.clear();
        self.lateness.clear();
        if let Some(live) = live {
            // A full queue means that the watcher is slow, and that is no affair of ours.
            let Buffer { begin, end, window, .. } = *self;
            let _ = live.try_send(Live { begin, end, window, interval: interval.clone() });
        }
        match self.begin {
            begin if self.window.end <= begin => kept.drained.merge(interval),
            begin if self.window.start <= begin => kept.series.at(begin).merge(interval),
            _ => {}
        }
    }
}
