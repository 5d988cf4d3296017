//! The limit that a load sets itself: its connections.
//!
//! A request that finds no connection with a free slot waits, and this is part of its response time. So a load
//! misses its SLO, and completes less than it offers, where the system at its limit is slow to free the connections,
//! but also where there are too few of them. These differ in the time from sending to the answer: a system at its
//! limit has requests queued in itself, and answers later than at low load. One that answers as fast as ever, and
//! none of whose resources was used up, was never asked for more.

use measure::Nanos;
use results::journal::{Connections, Observed};

#[cfg(test)]
mod tests;

/// The least wait for a connection, as a share of the service time, of which a limit is made.
const WAITED: f64 = 0.1;
/// The service time, as a multiple of the shortest, up to which the system is as fast as ever. The shortest may be
/// that of a load near the limit already.
const AS_FAST: f64 = 1.1;
/// The share of a load below which another one is lower, and not the same by chance.
const LOWER: f64 = 0.95;

/// Returns what shows that the connections were the limit of these trials, which missed the SLO or completed less
/// than was offered, from all trials of their search. `None` if the system may have been the limit.
pub(crate) fn limit<'a>(
    at_limit: impl Iterator<Item = &'a Observed>,
    all: impl Iterator<Item = &'a Observed>,
) -> Option<String> {
    let times = |observed: &Observed| observed.connections;
    let at_limit: Vec<&Observed> = at_limit.collect();
    let load = at_limit.iter().map(|observed| observed.offered_per_s).reduce(f64::min)?;
    // One load alone does not show how fast the system is with less of it.
    let lower = all.filter(|observed| observed.offered_per_s < LOWER * load);
    let shortest = lower.filter_map(times).map(|times| times.service_ns).min()?;
    let is_limited = |observed: &&Observed| {
        observed.limit.is_none()
            && times(observed).is_some_and(|Connections { waited_ns, service_ns }| {
                let service = service_ns as f64;
                WAITED * service <= waited_ns as f64 && service <= AS_FAST * shortest as f64
            })
    };
    let first = times(at_limit.first()?)?;
    at_limit.iter().all(is_limited).then(|| {
        format!(
            "all connections were in use, and a request waited {} for one, while the system answered in {}, as fast \
             as ever ({}): with more of them (load.connections) it may do more",
            Nanos(first.waited_ns),
            Nanos(first.service_ns),
            Nanos(shortest)
        )
    })
}
