use super::*;

/// A trial whose requests waited and were served for so many milliseconds.
fn trial(waited_ms: u64, service_ms: u64) -> Observed {
    let [waited_ns, service_ns] = [waited_ms, service_ms].map(|ms| ms * 1_000_000);
    let nothing = r#"{"offered_per_s": 0, "completed_per_s": 0, "sustained_per_s": 0,
        "goodput_per_s": 0, "requests": 0, "failures": 0, "saturated": false, "cpu": {}}"#;
    let nothing: Observed = serde_json::from_str(nothing).unwrap();
    Observed { connections: Some(Connections { waited_ns, service_ns }), ..nothing }
}

fn found(at_limit: &[Observed], below: &[Observed]) -> Option<String> {
    let at = |offered_per_s, trials: &[Observed]| -> Vec<Observed> {
        trials.iter().map(|trial| Observed { offered_per_s, ..trial.clone() }).collect()
    };
    let (at_limit, below) = (at(200.0, at_limit), at(100.0, below));
    limit(at_limit.iter(), below.iter().chain(&at_limit))
}

#[test]
fn connections_are_the_limit_of_a_system_that_answers_as_fast_as_ever() {
    let words = found(&[trial(900, 61)], &[trial(0, 60), trial(2, 62)]).unwrap();
    assert_eq!(
        words,
        "all connections were in use, and a request waited 900 ms for one, while the system answered in 61.0 ms, \
         as fast as ever (60.0 ms): with more of them (load.connections) it may do more"
    );
}

#[test]
fn a_system_that_answers_later_than_at_low_load_is_its_own_limit() {
    assert_eq!(found(&[trial(900, 64)], &[trial(0, 1), trial(0, 2)]), None);
    // One trial of several shows it.
    assert_eq!(found(&[trial(900, 61), trial(900, 90)], &[trial(0, 60)]), None);
}

#[test]
fn a_system_that_used_up_a_resource_is_its_own_limit() {
    let limit = results::journal::Limit {
        component: "role sut".to_owned(),
        resource: "CPU".to_owned(),
        since: 0,
    };
    let used_up = Observed { limit: Some(limit), ..trial(900, 61) };
    assert_eq!(found(&[used_up], &[trial(0, 60)]), None);
}

#[test]
fn a_system_that_misses_its_slo_without_a_wait_is_its_own_limit() {
    assert_eq!(found(&[trial(1, 61)], &[trial(0, 60)]), None);
    let unknown = Observed { connections: None, ..trial(0, 0) };
    assert_eq!(found(&[unknown], &[trial(0, 60)]), None);
    assert_eq!(found(&[], &[trial(0, 60)]), None);
}

/// Its own trials do not show how fast the system is with less load.
#[test]
fn one_load_alone_shows_no_limit() {
    assert_eq!(found(&[trial(900, 61), trial(900, 60)], &[]), None);
}
