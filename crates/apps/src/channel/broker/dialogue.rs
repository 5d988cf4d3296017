//! The words of a dialogue with any broker: what it is told, and what it says.

use std::time::Duration;

use tokio::time;

use super::Position;
use super::address::Address;

/// The rules of a connection.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) address: Address,
    /// The longest time for an answer.
    pub(super) timeout: Duration,
    /// The length of a long poll on a connection that publishing shares with it; `None` if they have
    /// their own.
    pub(super) shared_poll: Option<Duration>,
    /// The most events of a subscriber that are read and have not ended.
    pub(super) window: usize,
}

impl Settings {
    /// Returns the time that a read waits in the broker for the next event.
    pub(super) fn poll(&self) -> Duration {
        self.shared_poll.unwrap_or(Duration::from_secs(1))
    }
}

/// A subscriber as the broker knows it.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: String,
    /// The position after the last event that was read, if this process has read any.
    pub(super) next: Option<Position>,
}

/// The reason why a broker did not do what it was asked.
#[derive(Debug)]
pub(super) enum Failure {
    /// It refused. The connection is good.
    Refused(String),
    Broken(String),
}

/// Ends a question to a broker that takes longer than an answer may take.
pub(super) async fn within<T>(
    timeout: Duration,
    asked: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let late = |_| Err(format!("no answer within {timeout:?}"));
    time::timeout(timeout, asked).await.unwrap_or_else(late)
}

/// Returns the position before which all subscribers are done, if it is known.
pub(super) fn floor(lows: &[Option<Position>]) -> Option<Position> {
    lows.iter().copied().min().flatten()
}
