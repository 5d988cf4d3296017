use std::collections::BTreeMap;

use super::*;

/// The figures of one second: in service, of these in others, unread bytes.
fn reporting(in_service: f64, in_others: f64, unread: u64) -> Component {
    Component {
        in_service: vec![Some(in_service)],
        in_others: vec![Some(in_others)],
        unread_bytes: vec![Some(unread)],
        ..Component::default()
    }
}

fn queued(components: &[(&str, Component)], outstanding: f64) -> Vec<(String, Option<f64>)> {
    let mut components = Components {
        schema: results::components::SCHEMA.into(),
        interval_s: 1.0,
        roles: BTreeMap::new(),
        outstanding: vec![Some(outstanding)],
        components: components.iter().map(|(n, c)| ((*n).to_owned(), c.clone())).collect(),
        speed: BTreeMap::new(),
        machine: None,
        events: Vec::new(),
        monitors: Vec::new(),
    };
    work_out(&mut components, 1);
    let all = components.components.into_iter();
    all.map(|(name, c)| (name, c.queued.first().copied().flatten())).collect()
}

fn named(expected: &[(&str, Option<f64>)]) -> Vec<(String, Option<f64>)> {
    expected.iter().map(|(name, queued)| ((*name).to_owned(), *queued)).collect()
}

/// A case measured with `--delay 5ms`: the one thread of `geo` sleeps while its socket is full.
#[test]
fn unread_requests_are_queued_where_unread_bytes_are() {
    let system = [
        ("frontend", reporting(254.0, 253.75, 0)),
        ("geo", reporting(1.0, 0.0, 4_004)),
        ("search", reporting(249.0, 248.75, 0)),
    ];
    // 256 + 502.5 are waited for, 504 are in a service.
    let expected = [("frontend", Some(0.25)), ("geo", Some(255.5)), ("search", Some(0.25))];
    assert_eq!(queued(&system, 256.0), named(&expected));
}

#[test]
fn requests_that_wait_for_a_store_without_statistics_are_queued_there() {
    let store = Component { connections: vec![Some(8)], ..Component::default() };
    let system = [("postgres", store), ("user", reporting(60.0, 58.0, 0))];
    assert_eq!(queued(&system, 60.0), named(&[("postgres", Some(58.0)), ("user", Some(2.0))]));
}

#[test]
fn without_statistics_it_is_not_known_where_requests_are_queued() {
    let unread = Component { unread_bytes: vec![Some(90)], ..Component::default() };
    assert_eq!(queued(&[("a", unread)], 60.0), named(&[("a", None)]));
}
