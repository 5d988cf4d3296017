//! The merge of what the threads of a load recorded into one measurement.

use ::measure::{Histogram, Instant, Nanos};
use net::{Address, Endpoint, Waited, host};

use super::{Machine, Measurement, Plan};
use crate::hiccup::Hiccups;
use crate::observe::{Recorded, Window};
use crate::shard::{Ended, Failures};
use crate::watch::Observations;

/// The figures of one shard at its end.
pub(super) struct Ending {
    pub(super) recorded: Recorded,
    pub(super) end: Instant,
    pub(super) ended: Ended,
    pub(super) is_behind: bool,
    pub(super) connections: (usize, usize),
    pub(super) opening: Nanos,
    pub(super) failures: Failures,
    pub(super) refused: Vec<(Endpoint, u64)>,
    pub(super) receive_delay: Option<Histogram>,
    pub(super) waited: Waited,
    pub(super) cpu: Option<u32>,
}

/// Returns the number of local ports that are free on our busiest route, if every port that closed
/// connections still hold is on it.
fn free_ports(plan: &Plan, seen: &Observations) -> Option<u64> {
    let pools = plan.pools.iter().map(|pool| (&pool.endpoints[..], pool.connections));
    let most = host::ports_needed(pools).into_values().max()? as u64;
    Some(host::local_ports()?.saturating_sub(most + seen.waiting_ports?))
}

/// Merges what the shards, the hiccup meter and the watch recorded into one measurement.
pub(super) fn merge(
    plan: &Plan,
    start: Instant,
    shards: Vec<Ending>,
    (hiccups, seen): (Hiccups, Observations),
    cpu: Nanos,
    interrupted: bool,
) -> Measurement {
    let end = shards.iter().map(|shard| shard.end).max().expect("a load has a shard");
    let ended = shards.iter().map(|shard| shard.ended).max().expect("a load has a shard");
    let is_behind = shards.iter().any(|shard| shard.is_behind);
    let planned = plan.window(start);
    let share = |part: Nanos, whole: Nanos| match whole {
        Nanos::ZERO => 0.0,
        whole => part.as_secs_f64() / whole.as_secs_f64(),
    };
    let cpus = shards.iter().filter_map(|shard| shard.cpu).collect();
    let connections = |figure: fn(&Ending) -> usize| shards.iter().map(figure).sum::<usize>();
    let (asked, reached) = (connections(|s| s.connections.0), connections(|s| s.connections.1));
    let opening = shards.iter().map(|shard| shard.opening).max().unwrap_or_default();

    let mut connecting_failed = Failures::default();
    shards.iter().for_each(|shard| connecting_failed.add(shard.failures));
    let mut refused: Vec<(Address, u64)> = Vec::new();
    for (Endpoint { address, .. }, count) in shards.iter().flat_map(|shard| &shard.refused) {
        match refused.iter_mut().find(|(known, _)| known == address) {
            Some((_, sum)) => *sum += count,
            None => refused.push((address.clone(), *count)),
        }
    }
    let receive_delay = shards.iter().filter_map(|s| s.receive_delay.clone()).reduce(|a, b| {
        let mut sum = a;
        sum.add(&b);
        sum
    });

    let mut wake_up_delay = Histogram::new();
    shards.iter().for_each(|shard| wake_up_delay.add(&shard.waited.wake_up_delay));
    let spun = shards.iter().map(|shard| shard.waited.spun).max().unwrap_or_default();

    let mut each = shards.into_iter().map(|shard| shard.recorded);
    let mut recorded = each.next().expect("a load has a shard");
    each.for_each(|other| recorded.add(other));
    let window_end = recorded.window_end.min(end).max(planned.start);
    let window = Window { start: planned.start, end: window_end };
    let length = window.length();
    Measurement {
        hiccups: hiccups.overshoot,
        hiccup_series: hiccups.worst.iter().map(|(at, worst)| (at, worst.0)).collect(),
        taken_series: seen.taken.iter().map(|(at, taken)| (at, *taken)).collect(),
        receive_delay,
        wake_up_delay,
        start,
        window,
        end,
        ended,
        is_behind,
        partial: interrupted && (window.end < planned.end || ended == Ended::Halted),
        connections_asked: asked as u64,
        connections_reached: reached as u64,
        opening,
        connecting_failed,
        refused,
        machine: Machine {
            cpus,
            cpu,
            busy_share: 1.0 - share(recorded.waited, length).min(1.0),
            script_share: share(recorded.scripted, length).min(1.0),
            spin_share: share(spun, length).min(1.0),
            turn_max: recorded.turn_max,
            steal_share: seen.whole.steal,
            throttled_share: seen.whole.throttled,
            run_queue_wait_share: seen.whole.run_queue_wait,
            segments: seen.segments,
            free_ports: free_ports(plan, &seen),
        },
        parts: recorded.parts,
        labels: recorded.labels,
        segments: recorded.segments,
        balance: recorded.balance,
        sessions: recorded.sessions,
        series: recorded.series,
        drained: recorded.drained,
    }
}
