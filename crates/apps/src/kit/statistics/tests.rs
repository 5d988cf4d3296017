use super::*;

#[test]
fn the_integral_counts_ended_and_open_entries() {
    let level = Level::default();
    level.enter(100);
    level.enter(200);
    level.leave(300);
    // One entry with a length of 100 or 200 has ended, the other goes on.
    assert_eq!(level.integral(1_000), 1_000 - 100 + 300 - 200);
    level.leave(1_000);
    assert_eq!(level.integral(5_000), 1_000);
}

#[test]
fn a_request_that_waits_for_others_is_in_progress_as_well() {
    let statistics = Arc::new(Statistics::default());
    let served = statistics.serve();
    let asked = statistics.ask();
    assert_eq!(statistics.in_hand(), 1);
    drop(asked);
    drop(served);
    assert_eq!(statistics.in_hand(), 0);
    let line = statistics.line(now());
    assert_eq!(line.len(), LINE + 1);
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(json["calls"], 1);
    assert!(json["in_others_ns"].as_i64().unwrap() > 0, "{line}");
    assert!(json["in_others_ns"].as_i64() < json["in_service_ns"].as_i64(), "{line}");
}
