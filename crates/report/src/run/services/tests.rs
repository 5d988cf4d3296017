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
        components: cpus.iter().map(|(n, s, c)| ((*n).to_owned(), component(s, *c))).collect(),
    }
}

fn cpu(component: &Component, interval: usize) -> Option<f64> {
    component.cpu[interval]
}

#[test]
fn replicas_are_summed_and_small_services_stand_together() {
    let all = components(&[
        ("front", "front", 0.25),
        ("geo.1", "geo", 0.25),
        ("geo.2", "geo", 0.5),
        ("rate", "rate", 0.125),
        ("user", "user", 0.125),
    ]);
    let service = |name: &str, cpu: f64| Service {
        name: name.into(),
        values: vec![Some(cpu), None, Some(2.0 * cpu)],
    };
    assert_eq!(
        largest(&all, 2, cpu),
        [service("geo ×2", 0.75), service("front", 0.25), service("2 others", 0.25)]
    );
    assert_eq!(largest(&all, 2, cpu)[0].at(1.0), None);
    assert_eq!(largest(&all, 2, cpu)[0].at(2.0), Some(1.5));
    assert_eq!(largest(&all, 2, Component::held), [], "nobody keeps an account");
}
