use measure::{Histogram, Nanos};

use super::*;
use crate::load::{Gate, Slo, Validity};

#[test]
fn the_quantiles_of_the_whole_are_those_of_all_requests() {
    // A tenth of the requests take 3 ms, so the p99 is 3 ms; an average over the loads says 1.2 ms.
    let quick = load("a.json", &[1_000; 900]);
    let slow = load("b.json", &[3_000; 100]);
    let whole = merge(&[quick, slow]).unwrap();

    let mut expected = Histogram::new();
    expected.record_n(Nanos::from_micros(1_000), 900);
    expected.record_n(Nanos::from_micros(3_000), 100);
    assert_eq!(whole.total.response_time, Times::of(&expected));
    assert_eq!(whole.total.counts.completed, 1_000);
    assert_eq!(whole.total.rates_per_s.completed, 125.0);
    assert_eq!(whole.total.rates_per_s.asked, Some(100.0));
    assert_eq!(whole.total.outcomes, BTreeMap::from([("ok".to_owned(), 1_000)]));
}

#[test]
fn the_order_does_not_matter_for_figures() {
    let parts = [load("a", &[5, 9, 11]), load("b", &[7, 2_000]), load("c", &[1])];
    let [a, b, c] = parts.clone();
    let (one, other) = (merge(&parts).unwrap(), merge(&[c, a, b]).unwrap());
    assert_eq!(one.total, other.total);
    assert_eq!(one.targets, other.targets);
    assert_eq!(one.series, other.series);
}

#[test]
fn one_target_is_one_and_two_are_two() {
    let (a, mut b) = (load("a", &[1; 3]), load("b", &[1; 4]));
    let of_each = |whole: &Load| -> Vec<u64> {
        whole.targets.iter().map(|target| target.part.counts.completed).collect()
    };
    assert_eq!(of_each(&merge(&[a.clone(), b.clone()]).unwrap()), [7]);
    b.1.targets[0].url = "http://b/".to_owned();
    assert_eq!(of_each(&merge(&[a, b]).unwrap()), [3, 4]);
}

#[test]
fn one_that_is_not_valid_makes_the_whole_so_and_is_named() {
    let (a, mut b) = (load("a.json", &[1]), load("b.json", &[2]));
    let gate = Gate { name: "late".to_owned(), passed: false, figure: "p99 9 ms".to_owned() };
    b.1.validity = Validity { valid: false, reasons: vec!["late".to_owned()], gates: vec![gate] };
    let whole = merge(&[a, b]).unwrap();
    assert!(!whole.validity.valid);
    assert_eq!(whole.validity.reasons, ["b.json: late"]);
    assert_eq!(whole.validity.gates[0].figure, "b.json: p99 9 ms");
}

#[test]
fn what_cannot_be_known_of_the_whole_is_absent_and_said() {
    let (mut a, b) = (load("a", &[1]), load("b", &[2]));
    a.1.slo = Some(Slo { text: "p99<1ms".to_owned(), met: true, missed: Vec::new() });
    a.1.generator.io = Some("epoll".to_owned());
    let whole = merge(&[a, b]).unwrap();
    assert_eq!(whole.slo, None);
    assert_eq!(whole.findings, ["a: p99<1ms was met by this part"]);
    assert_eq!(whole.generator.io, None);
    assert_eq!(whole.series[0].offered, 2);
    assert_eq!(whole.series[0].p99_ns, None);
}

#[test]
fn loads_that_did_not_measure_at_one_time_are_warned_of() {
    let at = |name: &str, begin_s: u64| {
        let (name, load) = load(name, &[begin_s + 1]);
        let (start_ns, end_ns) = (begin_s * 1_000_000_000, (begin_s + 10) * 1_000_000_000);
        let clock =
            Clock { start_ns, measurement_start_ns: start_ns, measurement_end_ns: end_ns, end_ns };
        (name, Load { clock: Some(clock), ..load })
    };
    let together = merge(&[at("a", 0), at("b", 1)]).unwrap();
    assert_eq!(together.warnings, [""; 0]);
    assert_eq!(together.clock.unwrap().measurement_start_ns, 1_000_000_000);
    for begin in [5, 20] {
        let apart = merge(&[at("a", 0), at("b", begin)]).unwrap();
        assert!(apart.warnings[0].contains("at one time"), "{:?}", apart.warnings);
    }
}

#[test]
fn what_does_not_belong_together_is_refused_by_name() {
    let refusal = |parts: &[(String, Load)]| merge(parts).unwrap_err();
    let (a, b) = (load("a", &[1]), load("b", &[2]));
    assert_eq!(refusal(&[]), "there is nothing to merge");
    let again = ("c".to_owned(), a.1.clone());
    assert_eq!(refusal(&[a.clone(), b.clone(), again]), "c: it is the same load as a");

    let mut closed = b.clone();
    closed.1.pacing = Pacing::Closed { think_ns: 0 };
    assert!(refusal(&[a.clone(), closed]).starts_with("b: its requests are started"));

    // Whichever of the two has more of a shape.
    let mut shaped = b.clone();
    let group = Group {
        completed: 1,
        failed: 0,
        outcomes: BTreeMap::new(),
        response_time: None,
        service_time: None,
    };
    let name = "hold 1k/s".to_owned();
    shaped.1.segments = vec![Segment { name, begin_s: 0.0, end_s: 1.0, group }];
    for parts in [[a.clone(), shaped.clone()], [shaped, a.clone()]] {
        assert!(refusal(&parts).contains("another shape"), "{parts:?}");
    }

    let mut damaged = b;
    damaged.1.total.response_time.as_mut().unwrap().histogram = "no base64".to_owned();
    assert_eq!(refusal(&[a, damaged]), "b: a histogram is unreadable");
}

/// A load of 8 s whose requests were answered after so many microseconds.
fn load(name: &str, answered_us: &[u64]) -> (String, Load) {
    let mut times = Histogram::new();
    answered_us.iter().for_each(|&us| times.record(Nanos::from_micros(us)));
    let count = times.count();
    let total = Part {
        counts: Counts { intended: count, completed: count, ok: count, ..Counts::default() },
        rates_per_s: Rates { asked: Some(50.0), completed: count as f64 / 8.0, ..Rates::default() },
        outcomes: BTreeMap::from([("ok".to_owned(), count)]),
        response_time: Times::of(&times),
        ..Part::default()
    };
    let load = Load {
        pacing: Pacing::Open { arrivals: "poisson".to_owned() },
        targets: vec![Target { url: "http://a/".to_owned(), part: total.clone() }],
        total,
        series: vec![Interval { offered: 1, p99_ns: Some(1), ..Interval::default() }],
        ..Load::empty("benchwright 0.1.0")
    };
    (name.to_owned(), load)
}
