use super::*;

fn components(cpus: &[(&str, &str, f64)]) -> Components {
    let component = |step: &str, cpu| Component {
        step: step.into(),
        cpu: vec![Some(cpu), None, Some(2.0 * cpu)],
        ..Component::default()
    };
    Components {
        schema: results::components::SCHEMA.into(),
        interval_s: 1.0,
        roles: BTreeMap::new(),
        outstanding: Vec::new(),
        components: cpus.iter().map(|(n, s, c)| ((*n).to_owned(), component(s, *c))).collect(),
        speed: BTreeMap::new(),
        machine: None,
        events: Vec::new(),
        monitors: Vec::new(),
    }
}

#[test]
fn replicas_are_summed_and_small_services_are_grouped() {
    let all = components(&[
        ("front", "front", 0.25),
        ("geo.1", "geo", 0.25),
        ("geo.2", "geo", 0.5),
        ("rate", "rate", 0.125),
        ("user", "user", 0.125),
    ]);
    let service = |name: &str, cpu: f64| Service {
        name: name.into(),
        cpu: vec![Some(cpu), None, Some(2.0 * cpu)],
        held: Vec::new(),
    };
    assert_eq!(
        largest(&all, 2),
        [service("geo ×2", 0.75), service("front", 0.25), service("2 others", 0.25)]
    );
}

#[test]
fn a_service_that_queues_requests_is_shown_even_if_it_uses_little_cpu() {
    let mut all =
        components(&[("front", "front", 0.5), ("geo", "geo", 0.1), ("rate", "rate", 0.2)]);
    for (name, held) in [("front", 1.0), ("geo", 50.0), ("rate", 1.0)] {
        let component = all.components.get_mut(name).unwrap();
        component.queued = vec![Some(held), None, Some(held)];
    }
    let names: Vec<String> = largest(&all, 2).into_iter().map(|service| service.name).collect();
    assert_eq!(names, ["geo", "front", "1 other"]);
    assert_eq!(largest(&all, 1)[0].held, [Some(50.0), None, Some(50.0)]);
}
