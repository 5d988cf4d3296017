//! The times of the noise: a pure function of the seed and the clock.

use std::time::Duration;

#[cfg(test)]
mod tests;

/// The noise of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// The share of a CPU on average over all spells.
    pub cpu: f64,
    pub burst: Duration,
    pub spell: Duration,
    pub seed: u64,
}

/// The longest pause: a spell without noise is over by then, or soon.
const LONGEST: Duration = Duration::from_millis(200);

impl Noise {
    /// Returns the share of a CPU that is used in the spell of this time since the machine began.
    pub fn share_at(&self, time: Duration) -> f64 {
        let spell = (time.as_nanos() / self.spell.as_nanos()) as u64;
        2.0 * self.cpu * uniform(self.seed, spell)
    }

    /// Returns the pause before the next burst: exponentially distributed, so that a burst comes at any
    /// moment with the same probability. `number` is that of the burst.
    pub fn pause(&self, time: Duration, number: u64) -> Duration {
        let share = self.share_at(time);
        let mean = self.burst.as_secs_f64() * (1.0 - share) / share.max(f64::MIN_POSITIVE);
        let pause = -mean * (1.0 - uniform(!self.seed, number)).ln();
        Duration::from_secs_f64(pause.min(LONGEST.as_secs_f64()))
    }
}

/// Returns a number from 0 up to 1 that is a function of both: a step of SplitMix64 (Steele, Lea and
/// Flood, *OOPSLA* 2014).
fn uniform(seed: u64, number: u64) -> f64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
