//! The five guides in the words of a spec, as far as they exist: each can be planned. The programs
//! of applications that are missing yet are named, but not started.

use super::*;

/// Checks the number of strands of a guide, and parts of its plan.
#[track_caller]
fn check(guide: &str, strands: usize, says: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for file in ["mixed-workload_type_1.lua", "read-home-timeline.jsonl", "ycsb-f.jsonl"] {
        fs::write(folder.path().join(file), "").unwrap();
    }
    let read = spec::from_bytes("guide.yaml", guide.as_bytes(), folder.path(), None, &[]);
    let resolved = read.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(Plan::of(&resolved).unwrap().strands.len(), strands);
    let plan = plan(&resolved).unwrap_or_else(|error| panic!("{error}"));
    for part in says {
        assert!(plan.contains(part), "`{part}` is not in\n{plan}");
    }
}

#[test]
fn the_hotel_guide_can_be_planned() {
    check(
        include_str!("guides/hotel-reservation.yaml"),
        3,
        &["4 instances", "1,920 connections", "Poisson arrivals"],
    );
}

#[test]
fn the_social_network_guide_can_be_planned() {
    let says = ["0.1 connections for each request/s", "python3 init_social_graph.py"];
    check(include_str!("guides/social-network.yaml"), 5, &says);
}

#[test]
fn the_event_channel_guide_can_be_planned() {
    check(include_str!("guides/event-channel.yaml"), 4, &["hardening=pinned"]);
}

#[test]
fn the_users_service_guide_can_be_planned() {
    let says = ["replicas=10", "POST http://lb/auth/register"];
    check(include_str!("guides/users-service.yaml"), 12, &says);
}

#[test]
fn the_key_value_guide_can_be_planned() {
    check(include_str!("guides/kv-ycsb.yaml"), 4, &["servers=6", "kv-ycsb load --servers"]);
}
