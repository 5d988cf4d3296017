use super::*;

const SECONDS: usize = 5;

fn component(step: &str, cpu: f64) -> Component {
    Component {
        step: step.into(),
        role: "sut".into(),
        cpus: 2.0,
        cpu: all(cpu),
        busiest_thread: all(cpu.min(1.0)),
        ..Component::default()
    }
}

/// A component with statistics, on average: requests in it, and of these those that wait for
/// others.
fn reporting(step: &str, cpu: f64, in_service: f64, in_others: f64) -> Component {
    Component {
        in_service: all(in_service),
        in_others: all(in_others),
        unread_bytes: vec![Some(0); SECONDS],
        ..component(step, cpu)
    }
}

fn all<T: Clone>(value: T) -> Series<T> {
    vec![Some(value); SECONDS]
}

fn found(
    components: &[(&str, Component)],
    outstanding: Option<u64>,
    shortfall: Shortfall,
) -> Option<Found> {
    let mut components = Components {
        schema: results::components::SCHEMA.into(),
        interval_s: 1.0,
        roles: BTreeMap::from([("sut".into(), 2.0)]),
        outstanding: outstanding.map_or(Vec::new(), |number| all(number as f64)),
        components: components.iter().map(|(n, c)| ((*n).to_owned(), c.clone())).collect(),
        speed: BTreeMap::new(),
        machine: None,
        events: Vec::new(),
        monitors: Vec::new(),
    };
    crate::queued::work_out(&mut components, SECONDS);
    first(&components, shortfall)
}

fn limited(components: &[(&str, Component)], outstanding: u64) -> String {
    let found = found(components, Some(outstanding), Shortfall::Saturated);
    found.map_or("nothing".to_owned(), |found| {
        format!("{} since {}: {}", found.limit, found.limit.since, found.words)
    })
}

#[test]
fn a_system_that_follows_its_load_has_no_limit() {
    let busy = component("geo", 1.99);
    assert_eq!(found(&[("geo", busy.clone())], Some(9), Shortfall::None), None);
    assert!(found(&[("geo", busy)], Some(9), Shortfall::Slow).is_some());
    // Requests are queued in every system: only where they pile up do they show a limit.
    let holding = reporting("geo", 0.1, 9.0, 0.0);
    assert_eq!(found(&[("geo", holding)], Some(9), Shortfall::Slow), None);
}

#[test]
fn a_component_is_limited_by_its_cpu_limit_if_it_used_it_or_was_throttled() {
    let limit = |cpu, throttled| Component {
        cpus: 0.3,
        cpu_limit: Some(0.3),
        throttled: all(throttled),
        ..component("store", cpu)
    };
    let limited = |cpu, throttled| limited(&[("store", limit(cpu, throttled))], 9);
    assert_eq!(limited(0.29, 0.0), "store (CPU limit) since 0: store, CPU 0.29 of 0.3");
    assert_eq!(
        limited(0.2, 0.14),
        "store (CPU limit) since 0: store, CPU 0.20 of 0.3, throttled 14 % of the time"
    );
    assert_eq!(limited(0.28, 0.09), "nothing");
}

#[test]
fn a_component_that_has_all_its_roles_cpus_is_named_by_itself() {
    assert_eq!(limited(&[("hotel", component("hotel", 1.96))], 9), {
        "hotel (CPU) since 0: hotel, CPU 1.96 of 2"
    });
}

#[test]
fn a_service_of_one_thread_is_used_up_by_one_cpu() {
    assert_eq!(
        limited(&[("geo-1.1", component("geo", 0.97)), ("rate", component("rate", 0.2))], 9),
        "geo-1.1 (thread) since 0: geo-1.1, one thread 0.97 of 1 CPU, of 2 that it may use"
    );
}

#[test]
fn components_that_use_up_their_role_together_are_named_as_the_role() {
    let many: Vec<(String, Component)> =
        (0..9).map(|i| (format!("geo.{i}"), component("geo", 0.2))).collect();
    let mut many: Vec<(&str, Component)> = many.iter().map(|(n, c)| (&**n, c.clone())).collect();
    many.push(("frontend-1.1", component("frontend", 0.18)));
    assert_eq!(
        limited(&many, 9),
        "role sut (CPU) since 0: CPU of role sut (1.98 of 2), most by geo (9 processes, 1.80)"
    );
    many.pop();
    assert_eq!(limited(&many, 9), "nothing");
}

#[test]
fn threads_that_wait_for_each_other_on_an_idle_cpu_are_not_a_limit() {
    let waiting = |threads: f64| Component { run_queue: all(threads), ..component("geo", 0.2) };
    assert_eq!(limited(&[("geo.1", waiting(1.2)), ("geo.2", waiting(1.2))], 9), "nothing");
}

#[test]
fn memory_is_named_at_its_limit_and_where_it_is_refused() {
    let store = |mib: u64, failures: u64| Component {
        memory_limit_bytes: Some(100 << 20),
        memory_bytes: all(mib << 20),
        memory_failures: all(failures),
        ..component("store", 0.1)
    };
    let expected = "store (memory) since 0: store, memory 96 of 100 MiB";
    assert_eq!(limited(&[("store", store(96, 0))], 9), expected);
    let expected = "store (memory) since 0: store, memory 60 of 100 MiB";
    assert_eq!(limited(&[("store", store(60, 1))], 9), expected);
    assert_eq!(limited(&[("store", store(60, 0))], 9), "nothing");
}

#[test]
fn open_connections_are_named_where_files_run_out() {
    let front = Component {
        connections: all(1_010),
        open_files_limit: Some(1_024),
        ..component("front", 0.1)
    };
    assert_eq!(
        limited(&[("front", front)], 9),
        "front (connections) since 0: front, 1,010 connections of 1,024 open files"
    );
}

#[test]
fn a_service_that_refuses_because_others_are_slow_is_not_the_limit() {
    let refusing = |step, in_service, in_others| Component {
        refused: all(120),
        ..reporting(step, 0.1, in_service, in_others)
    };
    let geo = ("geo", refusing("geo", 64.0, 0.0));
    let front = ("front", refusing("front", 100.0, 98.0));
    assert_eq!(
        limited(&[geo, front.clone()], 100),
        "geo (refusals) since 0: geo, at its bound: refused 120/s"
    );
    let slow = ("geo", reporting("geo", 0.02, 98.0, 0.0));
    assert_eq!(
        limited(&[front, slow], 100),
        "geo (requests) since 0: geo (98 of 100 requests queued, 0.02 CPUs)"
    );
}

#[test]
fn the_earliest_second_decides_if_the_state_lasts() {
    let busy = |from: usize, to: usize| {
        let cpu: Series<f64> =
            (0..10).map(|i| Some(if (from..to).contains(&i) { 1.0 } else { 0.1 })).collect();
        Component { busiest_thread: cpu.clone(), cpu, cpus: 4.0, ..component("x", 0.0) }
    };
    let named = |a: Component, b: Component| {
        let found = found(&[("a", a), ("b", b)], None, Shortfall::Saturated);
        found.map(|found| (found.limit.component, found.limit.since))
    };
    assert_eq!(named(busy(3, 10), busy(2, 10)), Some(("b".to_owned(), 2)));
    assert_eq!(named(busy(0, 1), busy(2, 10)), Some(("b".to_owned(), 2)), "a pause does not count");
    assert_eq!(named(busy(1, 4), busy(9, 10)), None, "neither lasted");
    assert_eq!(named(busy(1, 4), busy(7, 10)), Some(("b".to_owned(), 7)));
}

#[test]
fn of_two_in_one_second_the_one_with_queued_requests_is_named() {
    let front = ("a-front", reporting("front", 0.99, 100.0, 95.0));
    let geo = ("geo", reporting("geo", 0.96, 95.0, 0.0));
    assert!(limited(&[front, geo], 100).starts_with("geo (thread)"));
}

/// frontend → search → geo: requests that wait for a callee are not queued in the caller.
#[test]
fn a_slow_service_behind_two_hops_is_named_if_it_keeps_its_requests() {
    let system = [
        ("frontend-1.1", reporting("frontend", 0.10, 131.0, 126.0)),
        ("geo-1.1", reporting("geo", 0.02, 120.0, 0.0)),
        ("rate-1.1", reporting("rate", 0.05, 1.0, 0.0)),
        ("search-1.1", reporting("search", 0.06, 125.0, 121.0)),
    ];
    assert_eq!(
        limited(&system, 131),
        "geo-1.1 (requests) since 0: geo-1.1 (120 of 131 requests queued, 0.02 CPUs)"
    );
}

/// The only thread sleeps: requests wait in the socket, and the statistics show one at most.
#[test]
fn a_slow_service_behind_two_hops_is_named_if_it_does_not_read_its_requests() {
    let unread = |bytes: u64, component: Component| Component {
        unread_bytes: all(bytes),
        unread_connections: all(bytes.min(2)),
        ..component
    };
    let system = [
        ("frontend", unread(400, reporting("frontend", 0.10, 125.0, 122.0))),
        ("geo", unread(6_000, reporting("geo", 0.02, 1.0, 0.0))),
        ("search", reporting("search", 0.06, 121.0, 119.0)),
    ];
    assert_eq!(
        limited(&system, 131),
        "geo (requests) since 0: geo (118 of 131 requests queued, 0.02 CPUs)"
    );
}

#[test]
fn replicas_count_together_and_the_one_with_most_is_named() {
    let geo = |in_service| reporting("geo", 0.02, in_service, 0.0);
    let system = [
        ("frontend", reporting("frontend", 0.1, 131.0, 91.0)),
        ("geo.1", geo(30.0)),
        ("geo.2", geo(31.0)),
        ("geo.3", geo(30.0)),
    ];
    assert_eq!(
        limited(&system, 131),
        "geo.2 (requests) since 0: geo.2 (31 of 131 requests queued, all 3 of geo 91, 0.02 CPUs)"
    );
}

#[test]
fn a_store_without_statistics_is_named_by_the_requests_that_are_in_no_service() {
    let postgres = Component { connections: all(8), ..component("postgres", 0.3) };
    let system = [("postgres", postgres), ("user", reporting("user", 0.1, 60.0, 58.0))];
    assert_eq!(
        limited(&system, 60),
        "postgres (requests) since 0: postgres (58 of 60 requests queued, 0.30 CPUs)"
    );
}

#[test]
fn without_statistics_the_sockets_are_used() {
    let unread = |step, n: u64| Component { unread_connections: all(n), ..component(step, 0.1) };
    let system = [("back", unread("back", 12)), ("front", unread("front", 1))];
    assert_eq!(
        limited(&system, 50),
        "back (requests) since 0: back (12 of 13 connections with unread requests, 0.10 CPUs)"
    );
    assert_eq!(limited(&[("back", component("back", 0.1))], 50), "nothing");
}

/// A watch that got no CPU time until the end has seen one moment only.
#[test]
fn one_second_of_six_names_no_component() {
    let mut geo = reporting("geo", 0.02, 0.0, 0.0);
    geo.in_service = vec![None, None, None, None, Some(90.0)];
    geo.in_others = vec![None, None, None, None, Some(0.0)];
    assert_eq!(limited(&[("geo", geo)], 90), "nothing");
}
