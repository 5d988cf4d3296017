use super::*;

fn lease(name: &str, created: &str, nodes: &str) -> Value {
    json!({
        "metadata": {
            "name": name,
            "creationTimestamp": created,
            "labels": {RUN: name},
            "annotations": {NODES: nodes, PROCESS: format!("boot/{name}")},
        },
        "spec": {
            "holderIdentity": format!("host {name}"),
            "leaseDurationSeconds": 60,
            "renewTime": "2026-11-23T03:00:00.000000Z",
        },
    })
}

#[test]
fn the_older_of_two_runs_that_share_a_node_comes_first() {
    let older = lease("b", "2026-11-23T02:59:00Z", "w1,w2");
    let younger = lease("a", "2026-11-23T02:59:01Z", "w2,w3");
    let elsewhere = lease("c", "2026-11-23T02:58:00Z", "w3");
    assert_eq!(in_the_way(&older, std::slice::from_ref(&younger)), None);
    let found = in_the_way(&younger, &[elsewhere.clone(), older.clone()]);
    assert_eq!(found, Some(("host c".to_owned(), vec!["w3".to_owned()])));
    assert_eq!(in_the_way(&older, std::slice::from_ref(&elsewhere)), None);
    // In the same second the names decide, for both in the same way.
    let same = lease("a", "2026-11-23T02:59:00Z", "w1");
    assert!(in_the_way(&older, std::slice::from_ref(&same)).is_some());
    assert!(in_the_way(&same, std::slice::from_ref(&older)).is_none());
}

#[test]
fn a_lease_lives_until_it_expires_or_its_process_is_dead() {
    let lease = lease("a", "2026-11-23T02:59:00Z", "w1");
    let renewed = seconds_of("2026-11-23T03:00:00Z").unwrap();
    let living = |_: &str| false;
    assert!(is_alive(&lease, renewed + 59, &living));
    assert!(!is_alive(&lease, renewed + 60, &living));
    assert!(!is_alive(&lease, renewed, &|process| process == "boot/a"));
}

#[test]
fn times_are_written_and_read_as_the_api_does() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_400, "2000-02-29T00:00:00.000000Z"),
        (1_795_402_629, "2026-11-23T02:57:09.000000Z"),
        (4_102_444_799, "2099-12-31T23:59:59.000000Z"),
    ] {
        assert_eq!(time_of(seconds), text);
        assert_eq!(seconds_of(text), Some(seconds));
    }
    assert_eq!(seconds_of("2026-11-23T02:57:09Z"), Some(1_795_402_629));
    for wrong in ["", "2026", "2026-11-23", "2026-11-23T1"] {
        assert_eq!(seconds_of(wrong), None);
    }
}
