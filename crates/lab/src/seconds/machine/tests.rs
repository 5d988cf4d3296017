use super::*;

const S: u64 = 1_000_000_000;

fn samples(points: &[(f64, f64)]) -> Samples {
    let ns = |s: f64| (s * S as f64) as u64;
    points.iter().map(|&(at, value)| (Instant(ns(at)), ns(value))).collect()
}

fn seconds(n: u64) -> Vec<Second> {
    (0..n).map(|i| (Instant(i * S), Instant((i + 1) * S))).collect()
}

fn cpu(busy: &[(f64, f64)], stolen: &[(f64, f64)]) -> CpuTimes {
    CpuTimes { busy: samples(busy), stolen: samples(stolen) }
}

fn share(role: &str, cpus: &[u32], own: Vec<Samples>) -> (String, Shared) {
    let shared = Shared { names: vec![role.to_owned()], cpus: cpus.to_vec(), own };
    (role.to_owned(), shared)
}

fn component(role: &str, used: &[(f64, f64)]) -> (String, Consumed) {
    let consumed = Consumed { role: role.to_owned(), cpu: samples(used), ..Consumed::default() };
    (format!("a component of {role}"), consumed)
}

#[test]
fn others_use_what_the_cpus_were_busy_beyond_our_own() {
    let idle: &[(f64, f64)] = &[(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)];
    let full: &[(f64, f64)] = &[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)];
    // The generator runs in the second second only.
    let own = vec![samples(&[(1.0, 0.0), (2.0, 0.75)]), samples(&[(0.0, 0.0), (2.0, 0.5)])];
    let machine = Machine {
        cpus: [(0, cpu(full, idle)), (1, cpu(full, idle)), (2, cpu(full, idle))].into(),
        roles: [share("load", &[0], own), share("sut", &[1, 2], Vec::new())].into(),
        pressure: samples(&[(0.0, 0.0), (1.0, 0.25), (2.0, 1.25)]),
    };
    let consumed = [component("sut", &[(0.0, 0.0), (1.0, 2.0), (2.0, 3.0)])].into();
    let figures = of(&machine, &consumed, &seconds(2)).unwrap();
    assert_eq!(figures.pressure, [Some(0.25), Some(1.0)]);
    let (load, sut) = (&figures.roles["load"], &figures.roles["sut"]);
    assert_eq!(load.foreign, [Some(0.75), Some(0.0)]);
    // Of two CPUs one was used by others in the second second.
    assert_eq!(sut.foreign, [Some(0.0), Some(0.5)]);
    assert_eq!(sut.stolen, [Some(0.0), Some(0.0)]);
}

#[test]
fn a_counter_that_is_behind_makes_no_negative_use() {
    let busy = samples(&[(0.0, 0.0), (1.0, 0.5), (2.0, 1.5)]);
    let own = samples(&[(0.0, 0.0), (1.0, 0.9), (2.0, 1.4)]);
    let used = used_by_others([&busy].into_iter(), &[&own]);
    assert_eq!(used, samples(&[(0.0, 0.0), (1.0, 0.0), (2.0, 0.5)]));
}

#[test]
fn steal_is_that_of_the_cpu_that_lost_most() {
    let times =
        |second: f64| cpu(&[(0.0, 0.0), (2.0, 0.0)], &[(0.0, 0.0), (1.0, 0.1), (2.0, second)]);
    let machine = Machine {
        cpus: [(0, times(0.1)), (1, times(0.5)), (2, times(1.1))].into(),
        roles: [share("sut", &[0, 1], Vec::new())].into(),
        ..Machine::default()
    };
    let figures = of(&machine, &BTreeMap::new(), &seconds(2)).unwrap();
    assert_eq!(figures.roles["sut"].stolen, [Some(0.1), Some(0.4)]);
    assert_eq!(figures.pressure, []);
}

#[test]
fn roles_that_share_cpus_are_on_all_of_the_machine() {
    let full: &[(f64, f64)] = &[(0.0, 0.0), (1.0, 1.0)];
    let names = vec!["load".to_owned(), "sut".to_owned()];
    let shared = Shared { names, cpus: Vec::new(), own: vec![samples(&[(0.0, 0.0), (1.0, 0.5)])] };
    let machine = Machine {
        cpus: [(0, cpu(full, &[])), (1, cpu(full, &[]))].into(),
        roles: [("machine".to_owned(), shared)].into(),
        ..Machine::default()
    };
    let consumed = [component("sut", &[(0.0, 0.0), (1.0, 0.5)])].into();
    let figures = of(&machine, &consumed, &seconds(1)).unwrap();
    assert_eq!(figures.roles["machine"].foreign, [Some(0.5)]);
}

#[test]
fn a_machine_that_was_not_watched_has_no_figures() {
    assert_eq!(of(&Machine::default(), &BTreeMap::new(), &seconds(2)), None);
    let roles = [share("sut", &[0], Vec::new())].into();
    let unread = Machine { roles, ..Machine::default() };
    assert_eq!(of(&unread, &BTreeMap::new(), &seconds(2)), None);
}
