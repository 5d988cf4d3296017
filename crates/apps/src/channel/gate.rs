//! The times at which accepted events go on to the subscribers.

use std::time::Duration;

/// A rule for these times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// At once.
    Open,
    /// This time after the first event that waits.
    Linger(Duration),
    /// At each multiple of this time.
    SharedPoll(Duration),
}

impl Gate {
    /// Returns the time until the next opening, for an event that nothing waits before. `since` is
    /// the age of the channel.
    pub fn wait(self, since: Duration) -> Option<Duration> {
        match self {
            Gate::Open => None,
            Gate::Linger(length) => Some(length),
            Gate::SharedPoll(length) => {
                let period = length.as_nanos();
                let into = since.as_nanos() % period;
                Some(Duration::from_nanos((period - into) as u64))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_shared_poll_ends_at_multiples_of_its_length() {
        let poll = Gate::SharedPoll(250 * MS);
        assert_eq!(poll.wait(Duration::ZERO), Some(250 * MS));
        assert_eq!(poll.wait(249 * MS), Some(MS));
        assert_eq!(poll.wait(250 * MS), Some(250 * MS));
        assert_eq!(poll.wait(1130 * MS), Some(120 * MS));
    }

    #[test]
    fn a_linger_begins_with_the_first_event_and_an_open_gate_never_waits() {
        assert_eq!(Gate::Linger(5 * MS).wait(123 * MS), Some(5 * MS));
        assert_eq!(Gate::Open.wait(123 * MS), None);
    }
}
