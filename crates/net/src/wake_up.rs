//! The delay with which this machine wakes a sleeper, and how much earlier a sleep has to end for
//! it.
//!
//! An idle CPU takes some 20–60 µs until it runs a thread again. A virtual one is halted meanwhile,
//! and its host may take milliseconds to give it back. A wait that must end in time therefore ends
//! its sleep earlier by a *margin*, and watches the clock from then on. A longer margin costs CPU,
//! a shorter one punctuality: [`WakeUps`] keeps the shortest margin with which hardly a request would
//! have been late in the last quarter of a minute.
//!
//! No clock is read here, and no memory is allocated.

use measure::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// The shortest margin: what the kernel usually takes to wake a thread.
pub(crate) const LEAST: Nanos = Nanos::from_micros(60);
/// A start at most this late counts as punctual: a fourth of the lateness that a load may always
/// have.
const TOLERATED: Nanos = Nanos::from_micros(25);
/// The share of requests that may be late because of a sleep. A load is refused if its lateness leaves
/// the p99 of its response times uncertain by a tenth: where few responses are as slow, one late
/// request in a thousand does so (measured: 9 of 20 loads of 1,000/s). Sleeps that last too long use
/// this share up, so it also determines how often a machine that may have become better is tried again.
const MOST_LATE: f64 = 0.0002;
/// The memory of wake-ups, in ns: a weight falls to 37 % in this time. It is as long as it takes to
/// see so small a share at 1,000/s; a machine that has become better is believed after two minutes.
const MEMORY: f64 = 15e9;
/// The interval between two updates of the weights.
const STEP: Nanos = Nanos::from_millis(20);
/// The smallest denominators of a rate, until more was observed.
const FEWEST_STARTS: f64 = 20.0;
const LEAST_TIME: f64 = 1e8;

/// The number of buckets: delays in steps of a fourth of an octave, from the longest that the
/// shortest margin covers up to 4.6 ms. A longer one counts as 4.6 ms: it is a pause of the
/// machine, which also delays threads that spin.
const BUCKETS: usize = 23;
const SHORTEST: f64 = (LEAST.0 + TOLERATED.0) as f64;

/// The recent observations, as weights that fade.
#[derive(Clone, Debug)]
pub(crate) struct WakeUps {
    /// Wake-ups by their delay; those that the shortest margin covers are not kept.
    delays: [f64; BUCKETS],
    /// Waits that lasted until something was due to start.
    starts: f64,
    /// The time in which all this was observed, in ns.
    time: f64,
    faded: Option<Instant>,
    margin: Nanos,
}

impl WakeUps {
    pub(crate) fn new() -> WakeUps {
        WakeUps { delays: [0.0; BUCKETS], starts: 0.0, time: 0.0, faded: None, margin: LEAST }
    }

    /// The time by which a sleeper should be woken early.
    pub(crate) fn margin(&self) -> Nanos {
        self.margin
    }

    /// Learns from a sleep that was to end at `asked` and ended at `woke`.
    pub(crate) fn woke(&mut self, asked: Instant, woke: Instant) {
        self.fade(woke);
        let delay = woke.saturating_since(asked).0 as f64;
        if SHORTEST < delay {
            let steps = 4.0 * (delay / SHORTEST).log2();
            self.delays[(steps as usize).min(BUCKETS - 1)] += 1.0;
            self.margin = self.shortest_margin();
        }
    }

    /// Learns that something was due to start at `now`.
    pub(crate) fn start(&mut self, now: Instant) {
        self.fade(now);
        self.starts += 1.0;
    }

    fn fade(&mut self, now: Instant) {
        let elapsed = now.saturating_since(*self.faded.get_or_insert(now));
        if elapsed < STEP {
            return;
        }
        let kept = (-(elapsed.0 as f64) / MEMORY).exp();
        self.delays.iter_mut().for_each(|weight| *weight *= kept);
        self.starts *= kept;
        self.time = self.time * kept + MEMORY * (1.0 - kept);
        self.faded = Some(now);
        self.margin = self.shortest_margin();
    }

    /// The shortest margin that leaves few enough requests late. A wake-up that comes after the
    /// margin delays its own request, and all others that are due until then.
    fn shortest_margin(&self) -> Nanos {
        let starts = self.starts.max(FEWEST_STARTS);
        let time = self.time.max(LEAST_TIME);
        let (mut count, mut sum) = (0.0, 0.0);
        for bucket in (0..BUCKETS).rev() {
            let (least, most) = (bound(bucket), bound(bucket + 1));
            count += self.delays[bucket];
            sum += self.delays[bucket] * (least + most) / 2.0;
            let late = count / starts + (sum - count * least) / time;
            if MOST_LATE < late {
                return Nanos(most as u64).saturating_sub(TOLERATED);
            }
        }
        LEAST
    }
}

/// The shortest delay of a bucket, in ns.
fn bound(bucket: usize) -> f64 {
    SHORTEST * (bucket as f64 / 4.0).exp2()
}
