use results::components::{Component, Disturbance, Machine};

use super::*;

fn components(machine: Option<Machine>, throttled: &[(&str, &str, [f64; 3])]) -> Components {
    let component = |(name, step, shares): &(&str, &str, [f64; 3])| {
        let throttled = shares.map(Some).to_vec();
        (
            (*name).to_owned(),
            Component { step: (*step).to_owned(), throttled, ..Component::default() },
        )
    };
    Components {
        schema: results::components::SCHEMA.into(),
        interval_s: 1.0,
        roles: BTreeMap::new(),
        outstanding: Vec::new(),
        components: throttled.iter().map(component).collect(),
        speed: BTreeMap::new(),
        machine,
        events: Vec::new(),
        monitors: Vec::new(),
    }
}

fn machine(role: &str, stolen: [f64; 3], foreign: [f64; 3]) -> Option<Machine> {
    let disturbance =
        Disturbance { stolen: stolen.map(Some).to_vec(), foreign: foreign.map(Some).to_vec() };
    Some(Machine { pressure: Vec::new(), roles: [(role.to_owned(), disturbance)].into() })
}

fn seen(events: &[Event]) -> Vec<(f64, f64, &str)> {
    events.iter().map(|event| (event.from_s, event.to_s, event.text.as_str())).collect()
}

#[test]
fn what_others_take_from_a_role_is_an_event() {
    let of_role = components(machine("sut", [0.02, 0.05, 0.3], [0.4, 0.02, 0.1]), &[]);
    assert_eq!(
        seen(&disturbed(&of_role)),
        [
            (1.0, 3.0, "the hypervisor took up to 30 % of a CPU of role sut"),
            (0.0, 1.0, "other processes used up to 40 % of the CPUs of role sut"),
            (2.0, 3.0, "other processes used up to 10 % of the CPUs of role sut"),
        ]
    );
    let of_all = components(machine("machine", [0.0, 0.0, 0.1], [0.0; 3]), &[]);
    let expected = [(2.0, 3.0, "the hypervisor took up to 10 % of a CPU")];
    assert_eq!(seen(&disturbed(&of_all)), expected);
}

#[test]
fn a_calm_or_an_unwatched_machine_has_no_events() {
    let calm = components(machine("sut", [0.02, 0.01, 0.0], [0.05, 0.09, 0.0]), &[]);
    assert_eq!(disturbed(&calm), []);
    assert_eq!(disturbed(&components(None, &[])), []);
    assert_eq!(Worst::of(&components(None, &[])), Worst::default());
}

#[test]
fn a_limit_that_stops_a_replica_is_an_event_of_its_service() {
    let throttled_ones = [
        ("users.1", "users", [0.0, 0.2, 0.05]),
        ("users.2", "users", [0.0, 0.1, 0.6]),
        ("balancer", "balancer", [0.09, 0.0, 0.0]),
    ];
    let components = components(None, &throttled_ones);
    let expected = [(1.0, 3.0, "its limit stopped users ×2 for up to 60 % of the time")];
    assert_eq!(seen(&throttled(&components)), expected);
    assert_eq!(Worst::of(&components).throttled, [Some(0.09), Some(0.2), Some(0.6)]);
}

#[test]
fn the_worst_of_series_of_different_lengths_has_the_longest() {
    let (short, long) = (vec![Some(0.5)], vec![Some(0.1), None, Some(0.2)]);
    assert_eq!(worst([&short, &long].into_iter()), [Some(0.5), None, Some(0.2)]);
}
