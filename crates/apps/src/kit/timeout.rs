//! The waits for other processes: at the start, for a reply, and before the next attempt.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time;
use tonic::Status;

use super::statistics::Statistics;

const POLL_EVERY: Duration = Duration::from_millis(2);

/// Waits at the start of a process; false if the condition does not hold in this time.
pub(crate) async fn until(within: Duration, is_there: impl Fn() -> bool) -> bool {
    let waiting = async {
        while !is_there() {
            time::sleep(POLL_EVERY).await;
        }
    };
    time::timeout(within, waiting).await.is_ok()
}

/// Awaits a call of `who`, which counts as waiting for others, and ends with the deadline. The call
/// is pinned by the caller, since moving it copies more than a kilobyte.
pub(crate) async fn within<T>(
    deadline: Duration,
    who: &str,
    statistics: &Arc<Statistics>,
    call: Pin<&mut impl Future<Output = Result<T, Status>>>,
) -> Result<T, Status> {
    let _asked = statistics.ask();
    match time::timeout(deadline, call).await {
        Ok(answer) => answer,
        Err(_) => Err(Status::deadline_exceeded(format!("{who} took longer than {deadline:?}"))),
    }
}

/// The time before the next attempt, which doubles each time up to the longest.
pub(crate) struct Pause(Duration);

impl Pause {
    const FIRST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(1);

    pub(crate) fn first() -> Self {
        Pause(Self::FIRST)
    }

    /// Sleeps for the current time; the next one is longer.
    pub(crate) async fn rest(&mut self) {
        let length = self.0;
        self.0 = (2 * length).min(Self::LONGEST);
        time::sleep(length).await;
    }
}
