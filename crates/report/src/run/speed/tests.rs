use std::collections::BTreeMap;

use results::components::Speed;

use super::*;

/// A usual time of 100 ns of the sweep.
fn usual() -> Usual {
    Usual::from_times([("sweep".to_owned(), 100.0)])
}

fn components(sweep: &[Option<f64>]) -> Components {
    let work_ns = BTreeMap::from([("sweep".to_owned(), sweep.to_vec())]);
    Components {
        schema: results::components::SCHEMA.into(),
        interval_s: 1.0,
        roles: BTreeMap::new(),
        outstanding: Vec::new(),
        components: BTreeMap::new(),
        speed: BTreeMap::from([(0, Speed { cpu_share: 0.001, work_ns })]),
        machine: None,
        events: Vec::new(),
        monitors: Vec::new(),
    }
}

#[test]
fn slow_seconds_in_a_row_are_one_event_with_the_slowest() {
    let sweep = [100.0, 105.0, 125.0, 200.0, 100.0, 160.0].map(Some);
    let events = slow(&components(&sweep), &usual());
    let seen: Vec<_> = events.iter().map(|e| (e.from_s, e.to_s, e.text.as_str())).collect();
    assert_eq!(
        seen,
        [
            (2.0, 4.0, "the machine ran at 50 % of its usual speed"),
            (5.0, 6.0, "the machine ran at 62 % of its usual speed"),
        ]
    );
}

#[test]
fn a_second_that_was_not_measured_is_not_slow() {
    assert_eq!(slow(&components(&[None, Some(200.0), None]), &usual()).len(), 1);
    assert_eq!(slow(&components(&[None, None]), &usual()), Vec::new());
    assert_eq!(slow(&components(&[Some(200.0)]), &Usual::default()), Vec::new());
}
