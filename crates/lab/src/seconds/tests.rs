use super::*;
use crate::backend::{Death, Machine, Thread};

const S: u64 = 1_000_000_000;

fn whole(n: u64) -> Vec<Second> {
    (0..n).map(|i| (Instant(i * S), Instant((i + 1) * S))).collect()
}

fn samples(points: &[(f64, u64)]) -> Samples {
    points.iter().map(|&(s, value)| (Instant((s * S as f64) as u64), value)).collect()
}

#[test]
fn growth_is_given_by_the_second_between_samples_at_arbitrary_times() {
    let cpu = samples(&[(0.0, 0), (0.5, S / 2), (1.5, S), (2.5, S + S / 10)]);
    assert_eq!(rates(&cpu, &whole(2)), [Some(0.75), Some(0.3)]);
    assert_eq!(counts(&samples(&[(0.0, 0), (2.0, 240)]), &whole(2)), [Some(120), Some(120)]);
}

#[test]
fn a_second_that_was_half_watched_has_a_value_and_less_has_none() {
    let cpu = samples(&[(0.4, 0), (2.4, 2 * S)]);
    assert_eq!(rates(&cpu, &whole(4)), [Some(1.0), Some(1.0), None, None]);
    assert_eq!(rates(&Samples::new(), &whole(4)), []);
}

/// Two containers of a pod: one is stopped on two CPUs for 0.8 s of each second, in every period of its limit,
/// the other one not at all.
#[test]
fn the_share_of_a_limit_is_no_sum_over_cpus_or_containers() {
    let quota = |ns: u64, stopped: u64| Quota {
        time: samples(&[(0.0, 0), (2.0, 2 * ns)]),
        ran: samples(&[(0.0, 0), (2.0, 8 * S / 10)]),
        stopped: samples(&[(0.0, 0), (2.0, 2 * stopped)]),
        periods: samples(&[(0.0, 0), (2.0, 20)]),
    };
    let both = [quota(16 * S / 10, 10), quota(0, 0)];
    assert_eq!(throttled(&both, &whole(3)), [Some(0.8), Some(0.8), None]);
    assert_eq!(throttled_periods(&both, &whole(3)), [Some(10), Some(10), None]);
    let twice = [quota(16 * S / 10, 10), quota(16 * S / 10, 10)];
    assert_eq!(throttled(&twice, &whole(1)), [Some(0.8)]);
    assert_eq!((throttled(&[], &whole(2)), throttled_periods(&[], &whole(2))), (vec![], vec![]));
}

#[test]
fn a_level_is_the_last_one_of_its_second() {
    let memory = samples(&[(0.2, 7), (0.9, 8), (2.5, 9)]);
    assert_eq!(levels(&memory, &whole(3)), [Some(8), None, Some(9)]);
}

#[test]
fn the_busiest_thread_may_be_another_one_each_second() {
    let thread = |points| Thread { cpu: samples(points), waited: samples(&[(0.0, 0), (2.0, S)]) };
    let one = thread(&[(0.0, 0), (1.0, 9 * S / 10), (2.0, S)]);
    let two = thread(&[(0.0, 0), (1.0, S / 10), (2.0, 3 * S / 10)]);
    let consumed = Consumed { threads: [(1, one), (2, two)].into(), ..Consumed::default() };
    assert_eq!(busiest_thread(&consumed, &whole(2)), [Some(0.9), Some(0.2)]);
    assert_eq!(run_queue(&consumed, &whole(2)), [Some(1.0), Some(1.0)]);
}

/// Four requests in the service, three of them waiting for others.
#[test]
fn self_reported_statistics_show_how_many_requests_are_queued() {
    let reading = |s: u64| Reading {
        at_ns: s * S / 2,
        calls: s * 50,
        in_service_ns: s * 2 * S,
        in_others_ns: s * 3 * S / 2,
        connections: 5,
        refused: s,
    };
    let consumed = Consumed { statistics: (0..5).map(reading).collect(), ..Consumed::default() };
    let component = component(&consumed, &whole(2));
    assert_eq!(component.in_service, [Some(4.0), Some(4.0)]);
    assert_eq!((component.held(0), component.held(1)), (Some(1.0), Some(1.0)));
    assert_eq!(component.calls, [Some(100), Some(100)]);
    assert_eq!(component.refused, [Some(2), Some(2)]);
    assert_eq!(component.connections, [Some(5), Some(5)]);
}

/// The highest number of a second is that of its worst moment: by it, requests would be queued that were only sent
/// together.
#[test]
fn the_generator_waits_for_as_many_requests_as_on_average() {
    let interval = |t_s: f64, mean: Option<f64>| results::load::Interval {
        t_s,
        length_s: 1.0,
        outstanding: Some(40),
        outstanding_mean: mean,
        ..Default::default()
    };
    let series = vec![interval(0.0, Some(2.5)), interval(1.0, None), interval(2.0, Some(4.0))];
    let load = Load { series, ..Load::empty("") };
    assert_eq!(outstanding(&load, &whole(4)), [Some(2.5), None, Some(4.0), None]);
}

#[test]
fn events_are_those_that_touch_the_measurement_in_their_order() {
    let at = |s: f64| Instant((s * S as f64) as u64);
    let clock = results::load::Clock {
        measurement_start_ns: at(10.0).0,
        measurement_end_ns: at(15.0).0,
        ..results::load::Clock::default()
    };
    let happened =
        |from, to, what: &str| Happened { from: at(from), to: at(to), what: what.to_owned() };
    let death = Death {
        component: "geo.2".to_owned(),
        at: at(11.5),
        why: "was killed by SIGKILL".to_owned(),
        last_lines: Vec::new(),
    };
    let driven = Driven {
        load: Load { clock: Some(clock), ..Load::empty("") },
        parts: Vec::new(),
        consumed: BTreeMap::new(),
        gauged: Vec::new(),
        machine: Machine::default(),
        deaths: vec![death],
        events: vec![
            happened(14.5, 15.5, "at the end"),
            happened(9.5, 10.5, "at the begin"),
            happened(8.0, 9.0, "before"),
            happened(16.0, 17.0, "after"),
        ],
    };
    let seen = events(&driven).into_iter().map(|event| (event.from_s, event.to_s, event.text));
    let expected = [
        (0.0, 0.5, "at the begin"),
        (1.5, 1.5, "geo.2 was killed by SIGKILL"),
        (4.5, 5.0, "at the end"),
    ];
    let expected = expected.map(|(from, to, what)| (from, to, what.to_owned()));
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}
