use measure::{Nanos, Offset};
use serde_json::json;

use super::*;

const S: u64 = 1_000_000_000;
/// 2026-11-20T10:00:00Z
const TEN: u64 = 1_795_168_800;

fn event(object: &str, time: &str, host: &str) -> Value {
    json!({
        "involvedObject": {"kind": "Pod", "name": object},
        "reason": "Unhealthy",
        "message": "probe failed",
        "lastTimestamp": time,
        "source": {"component": "kubelet", "host": host},
    })
}

/// The runner's clock is at 100 s at ten o'clock; the clock of w1 is 3 s ahead.
fn clocks() -> Clocks {
    let ahead_ns = (TEN * S).cast_signed() - (100 * S).cast_signed();
    let w1 = Offset { ahead_ns: ahead_ns + (3 * S).cast_signed(), error: Nanos::from_millis(5) };
    let others = Offset { ahead_ns, error: Nanos::SECOND };
    Clocks { nodes: BTreeMap::from([("w1".to_owned(), w1)]), others }
}

fn during_ten_seconds(events: &[Value]) -> Vec<Happened> {
    during(events, (Instant(100 * S), Instant(110 * S)), "load-7-", &clocks())
}

#[test]
fn an_event_has_the_second_of_the_clock_that_said_it() {
    let events =
        [event("geo-0", "2026-11-20T10:00:08Z", "w1"), event("geo-1", "2026-11-20T10:00:02Z", "")];
    let what = |pod: &str| format!("Pod {pod}: Unhealthy: probe failed");
    let ms = 1_000_000;
    let expected = [
        Happened { from: Instant(101 * S), to: Instant(104 * S), what: what("geo-1") },
        Happened {
            from: Instant(105 * S - 5 * ms),
            to: Instant(106 * S + 5 * ms),
            what: what("geo-0"),
        },
    ];
    assert_eq!(during_ten_seconds(&events), expected);
}

#[test]
fn events_of_other_times_of_generators_and_without_a_time_are_left_out() {
    let events = [
        event("geo-0", "2026-11-20T09:59:00Z", ""),
        event("geo-0", "2026-11-20T10:01:00Z", ""),
        event("load-7-1-0-abcde", "2026-11-20T10:00:05Z", "w1"),
        event("geo-0", "soon", ""),
        json!({}),
    ];
    assert_eq!(during_ten_seconds(&events), []);
}

#[test]
fn at_most_a_hundred_events_are_kept() {
    let events = vec![event("geo-0", "2026-11-20T10:00:05Z", ""); 3 * MOST];
    assert_eq!(during_ten_seconds(&events).len(), MOST);
}
