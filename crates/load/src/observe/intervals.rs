//! The writer of a series of intervals, on a thread of its own.
//!
//! Reading the figures of an interval's histograms and clearing them costs a shard more time than a
//! hundred requests, and memory. So the shard fills buffers. The interval writer, for which no request
//! waits, reads them and gives them back empty.

use std::mem;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use ::measure::series::{Merge, Series, Sparse};
use ::measure::{Histogram, Instant, Nanos};

use super::{ByLabel, Interval, Live, Window};

/// The most buffers that wait for the interval writer, each of most of a megabyte. The shard waits only
/// for a writer that was not scheduled for so many intervals.
const MOST_WAITING: usize = 64;
/// The number of empty buffers when the load begins. If the writer is late, the shard makes another one.
const BLANK: usize = 2;

/// The interval that is being recorded.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) begin: Instant,
    pub(super) end: Instant,
    /// The figures that are not in the histograms below.
    pub(super) figures: Interval,
    pub(super) response: Histogram,
    pub(super) service: Histogram,
    pub(super) lateness: Histogram,
    pub(super) labels: ByLabel,
    /// The window of the load, which the series covers.
    pub(super) window: Window,
}

/// The figures of one shard's buffers.
#[derive(Debug)]
pub(super) struct Kept {
    /// The intervals of the window.
    pub(super) series: Series<Interval>,
    /// The time after the window, as one interval.
    pub(super) drained: Interval,
}

/// Keeps the intervals of one shard, and sends them to a watcher.
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
                // A writer that was late has more buffers than are ever used at once.
                let _ = back.try_send(buffer);
            }
            kept
        });
        IntervalWriter { full, blank, thread }
    }

    /// Takes a full buffer, and leaves an empty one in its place.
    pub(super) fn turn_over(&mut self, buffer: &mut Buffer) {
        let blank = self.blank.try_recv().unwrap_or_default();
        let full = mem::replace(buffer, blank);
        self.full.send(full).expect("the interval writer reads until there are no more buffers");
    }

    /// Returns the figures; `None` if no interval has ended.
    pub(super) fn end(self) -> Option<Kept> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Buffer {
    /// Moves its figures into the series, whose intervals may have become longer than its own. Intervals
    /// before the window are only sent to the watcher.
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
            // The queue is full if the watcher is slow; the measurement does not wait for it.
            let Buffer { begin, end, window, .. } = *self;
            let (interval, labels) = (interval.clone(), self.labels.clone());
            let _ = live.try_send(Live { begin, end, window, interval, labels });
        }
        self.labels.clear();
        match self.begin {
            begin if self.window.end <= begin => kept.drained.merge(interval),
            begin if self.window.start <= begin => kept.series.at(begin).merge(interval),
            _ => {}
        }
    }
}
