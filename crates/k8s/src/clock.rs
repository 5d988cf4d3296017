//! The clocks of other machines, against the runner's.
//!
//! A generator says its time when it is asked, to the nanosecond. A node has no such voice, but its
//! kubelet dates its answers, in seconds: each answer says on which side of a full second its clock
//! was between the question and the answer. Asked when the next full second is as likely past as to
//! come, each answer halves what is unknown, down to the time of a round trip.

use measure::{Nanos, Offset};

use crate::api::Api;
use crate::paths;

#[cfg(test)]
mod tests;

/// The number of questions for a node's clock: from a second down to 8 ms.
const QUESTIONS: usize = 8;
const SECOND: i128 = 1_000_000_000;

/// Returns the runner's date, against its monotonic clock.
pub(crate) fn own_date() -> Offset {
    let (date, now) = (lab::host::unix(), lab::host::now());
    Offset { ahead_ns: date.0.cast_signed() - now.0.cast_signed(), error: Nanos::ZERO }
}

/// The bounds of a clock's time less the runner's, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    least: i128,
    most: i128,
}

impl Bounds {
    /// Returns the bounds by one answer, which was given in this full second of its clock.
    fn by(sent: u64, its_second: u64, received: u64) -> Bounds {
        let second = i128::from(its_second) * SECOND;
        Bounds { least: second - i128::from(received), most: second + SECOND - i128::from(sent) }
    }

    /// Returns the bounds by both; `None` if no clock has both.
    fn and(self, other: Bounds) -> Option<Bounds> {
        let both = Bounds { least: self.least.max(other.least), most: self.most.min(other.most) };
        (both.least <= both.most).then_some(both)
    }

    fn middle(&self) -> i128 {
        i128::midpoint(self.least, self.most)
    }

    /// Returns the time to wait until a clock in the middle of the bounds begins a second.
    fn until_a_second(&self, now: u64) -> Nanos {
        let past = (i128::from(now) + self.middle()).rem_euclid(SECOND);
        Nanos(u64::try_from((SECOND - past) % SECOND).unwrap_or(0))
    }

    fn clock(&self) -> Offset {
        let width = u64::try_from(self.most - self.least).unwrap_or(u64::MAX);
        let middle = self.middle().clamp(i64::MIN.into(), i64::MAX.into());
        Offset { ahead_ns: middle as i64, error: Nanos(width / 2) }
    }
}

/// Returns the difference of a node's clock (seconds since 1970) from the runner's; `None` if its
/// kubelet cannot be asked.
pub(crate) fn of_node(api: &Api, node: &str, now: fn() -> u64) -> Option<Offset> {
    let path = paths::healthz(node);
    let mut bounds: Option<Bounds> = None;
    for _ in 0..QUESTIONS {
        if let Some(bounds) = bounds {
            lab::host::rest(bounds.until_a_second(now()).into());
        }
        let sent = now();
        let its_second = api.date(&path).ok().flatten()?;
        let one = Bounds::by(sent, its_second, now());
        // A clock that was set meanwhile begins anew.
        bounds = Some(bounds.and_then(|bounds| bounds.and(one)).unwrap_or(one));
    }
    bounds.map(|bounds| bounds.clock())
}
