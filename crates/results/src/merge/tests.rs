use measure::{Histogram, Nanos};

use super::*;
use crate::load::{Gate, GateName, Validity};
use crate::slo;

#[test]
fn the_quantiles_of_the_whole_are_those_of_all_requests() {
    // A tenth of the requests take 3 ms, so the p99 is 3 ms; an average over the loads gives 1.2
    // ms.
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
fn the_parts_of_a_load_are_merged_only_if_all_are_there_once() {
    let part = |text: &str, seed| {
        let (name, load) = load(text, &[u64::from(text.as_bytes()[0])]);
        (name, Load { part: Some(text.to_owned()), seed, ..load })
    };
    let whole = merge(&[part("2/3", 1), part("1/3", 1), part("3/3", 1)]).unwrap();
    assert_eq!((whole.total.counts.completed, whole.part), (3, None));

    let why = |parts: &[(String, Load)]| merge(parts).unwrap_err();
    let missing = why(&[part("1/3", 1), part("3/3", 1)]);
    assert_eq!(missing, "part 2/3 of the load is missing");
    let mut again = part("1/2", 1);
    again.0 = "again".to_owned();
    let twice = why(&[part("1/2", 1), part("2/2", 1), again]);
    assert_eq!(twice, "again: it is part 1/2 of the load, as 1/2 is");
    let of_another = "2/2: it is part 2/2 of another load than the others";
    assert_eq!(why(&[part("1/2", 1), part("2/2", 2)]), of_another);
    let none = why(&[part("1/2", 1), load("whole", &[7])]);
    assert_eq!(none, "whole: it is not a part of a load, as the others are");
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
fn operations_and_redirects_add_up_and_stay_absent_without_any() {
    let plain = load("a", &[1_000; 10]);
    let whole = merge(&[plain.clone(), load("b", &[2_000; 10])]).unwrap();
    assert_eq!((whole.total.operations, whole.total.redirected), (None, None));
    assert!(whole.series.iter().all(|interval| interval.operations.is_none()));

    let with = |name: &str, ok, status| {
        let (name, mut load) = load(name, &[1_000; 10]);
        let outcomes = [("ok".to_owned(), ok), ("status".to_owned(), status)].into();
        let count = ok + status;
        load.total.operations =
            Some(Operations { count, completed_per_s: count as f64 / 2.0, outcomes });
        load.total.redirected = Some(status);
        load.series[0].operations = Some(ok);
        (name, load)
    };
    let whole = merge(&[with("a", 70, 10), with("b", 40, 20)]).unwrap();
    let operations = whole.total.operations.unwrap();
    assert_eq!((operations.count, operations.completed_per_s), (140, 70.0));
    assert_eq!((operations.outcomes["ok"], operations.outcomes["status"]), (110, 30));
    assert_eq!(whole.total.redirected, Some(30));
    assert_eq!(whole.series[0].operations, Some(110));
}

#[test]
fn requests_in_progress_add_up_unless_those_of_one_are_unknown() {
    let with = |name: &str, in_progress| {
        let (name, mut load) = load(name, &[1_000; 100]);
        load.total.in_progress = in_progress;
        (name, load)
    };
    let whole = |one, other| merge(&[with("a", one), with("b", other)]).unwrap().total.in_progress;
    assert_eq!(whole(Some(1.5), Some(2.0)), Some(3.5));
    assert_eq!(whole(Some(1.5), None), None);
}

#[test]
fn the_worst_of_all_is_unknown_if_that_of_one_is() {
    let merged = |one: Generator, other: Generator| {
        let with = |name: &str, generator| {
            let (name, load) = load(name, &[name.len() as u64]);
            (name, Load { generator, ..load })
        };
        merge(&[with("a", one), with("bb", other)]).unwrap().generator
    };
    let times = || load("x", &[7]).1.total.response_time;
    let known = Generator {
        wake_up_delay: times(),
        hiccup: times(),
        receive_delay: times(),
        steal_share: Some(0.02),
        busy_share: Some(0.5),
        script_share: Some(0.1),
        turn_max_ns: Some(9),
        generator_bound: Some(false),
        ..Generator::default()
    };
    let both = merged(known.clone(), Generator { steal_share: Some(0.03), ..known.clone() });
    assert_eq!((both.steal_share, both.turn_max_ns), (Some(0.03), Some(9)));
    let count = |times: &Option<Times>| times.as_ref().map(|times| times.count);
    assert_eq!((count(&both.hiccup), count(&both.receive_delay)), (Some(2), Some(2)));
    for one in [merged(known.clone(), Generator::default()), merged(Generator::default(), known)] {
        let unknown = (one.steal_share, one.busy_share, one.turn_max_ns, one.generator_bound);
        assert_eq!(unknown, (None, None, None, None));
        assert_eq!((one.hiccup, one.receive_delay), (None, None));
        assert_eq!(one.script_share, Some(0.1), "a load without a script spends no time in one");
        assert_eq!(one.wake_up_delay, times(), "a shard that never slept was never woken");
    }
}

#[test]
fn a_target_that_one_of_them_saturated_is_saturated() {
    let of_both = |one, other| {
        let part = |name, seed, saturated| {
            let (name, load) = load(name, &[1]);
            (name, Load { seed, saturated, ..load })
        };
        merge(&[part("a", 1, one), part("b", 2, other)]).unwrap().saturated
    };
    assert_eq!(of_both(Some(false), Some(true)), Some(true));
    assert_eq!(of_both(Some(false), Some(false)), Some(false));
    assert_eq!(of_both(None, Some(true)), Some(true));
    assert_eq!(of_both(None, Some(false)), None, "the other one may be");
    assert_eq!(of_both(Some(false), None), None);
    assert_eq!(of_both(None, None), None);
}

#[test]
fn times_less_lateness_of_some_requests_are_not_those_of_all() {
    let (plain, mut known) = (load("a", &[1_000]), load("b", &[2_000]));
    let total = &mut known.1.total;
    total.response_time_less_lateness = total.response_time.clone();
    for parts in [[plain.clone(), known.clone()], [known.clone(), plain]] {
        assert_eq!(merge(&parts).unwrap().total.response_time_less_lateness, None);
    }
    let mut other = known.clone();
    other.1.seed = 1;
    let whole = merge(&[known, other]).unwrap();
    assert_eq!(whole.total.response_time_less_lateness, whole.total.response_time);
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
fn an_invalid_part_makes_the_whole_invalid_and_is_named() {
    let (a, mut b) = (load("a.json", &[1]), load("b.json", &[2]));
    let gate = Gate { name: GateName::Late, passed: false, figure: "p99 9 ms".to_owned() };
    let reasons = vec!["late".to_owned()];
    b.1.validity = Validity { valid: false, reasons, gates: vec![gate], unknown: Vec::new() };
    let whole = merge(&[a, b]).unwrap();
    assert!(!whole.validity.valid);
    assert_eq!(whole.validity.reasons, ["b.json: late"]);
    assert_eq!(whole.validity.gates[0].figure, "b.json: p99 9 ms");
}

#[test]
fn what_cannot_be_derived_for_the_whole_is_absent() {
    let (mut a, b) = (load("a", &[1]), load("b", &[2]));
    a.1.generator.io = Some("epoll".to_owned());
    let whole = merge(&[a, b]).unwrap();
    assert_eq!(whole.generator.io, None);
    assert_eq!(whole.series[0].offered, 2);
    assert_eq!(whole.series[0].p99_ns, None);
}

#[test]
fn percentiles_of_an_interval_are_those_of_all_its_requests() {
    let part = |name: &str, times: &[u64]| {
        let (name, mut load) = load(name, times);
        let recorded = |times: &[u64]| {
            let mut histogram = Histogram::new();
            times.iter().for_each(|&us| histogram.record(Nanos::from_micros(us)));
            histogram
        };
        let mut alone = Interval { t_s: 1.0, length_s: 1.0, ..Interval::default() };
        alone.set_times(&recorded(&[times[0]]), &Histogram::new());
        load.series[0].set_times(&recorded(times), &recorded(&[1]));
        load.series.push(if name == "a" { alone } else { Interval { t_s: 2.0, ..alone } });
        (name, load)
    };
    let (a, b) = (part("a", &[10; 98]), part("b", &[2_000, 3_000]));
    let whole = merge(&[a.clone(), b.clone()]).unwrap();
    let near = |ns: Option<u64>, us: u64| ns.unwrap().abs_diff(us * 1_000) <= us;
    let first = &whole.series[0];
    assert!(near(first.p50_ns, 10) && near(first.p99_ns, 2_000) && near(first.max_ns, 3_000));
    let (response, lateness) = first.times().unwrap();
    assert_eq!((response.count(), lateness.count()), (100, 2));
    // Only one part has these intervals.
    assert!(near(whole.series[1].p99_ns, 10) && near(whole.series[2].p99_ns, 2_000));

    // An older document has no histograms: its part of the requests is unknown, and stays so.
    let (_, old) = load("old", &[1]);
    let whole = merge(&[a.clone(), ("old".to_owned(), old), b]).unwrap();
    assert_eq!((whole.series[0].p50_ns, whole.series[0].lateness_p99_ns), (None, None));
    assert!(near(whole.series[0].max_ns, 3_000));
}

/// Uses a small part that misses its objective, and a large one that meets it.
#[test]
fn an_objective_of_the_parts_is_judged_anew_for_the_whole() {
    let objective = slo::read("p99<=1ms").unwrap();
    let part = |name: &str, times: &[u64]| {
        let (name, mut load) = load(name, times);
        load.slo = verdict::judge(&objective, &load.total);
        (name, load)
    };
    let (few, many) = (part("few", &[5_000_000; 3]), part("many", &[1_000; 20_000]));
    assert_eq!(few.1.slo.as_ref().map(|slo| slo.met), Some(false));
    let slo = merge(&[few, many]).unwrap().slo.unwrap();
    assert!(slo.met, "{slo:?}");
    assert_eq!((slo.objectives[0].over, slo.objectives[0].of), (3, 20_003));
}

#[test]
fn loads_that_did_not_measure_at_the_same_time_get_a_warning() {
    let at = |name: &str, begin_s: u64| {
        let (name, load) = load(name, &[begin_s + 1]);
        let (start_ns, end_ns) = (begin_s * 1_000_000_000, (begin_s + 10) * 1_000_000_000);
        let (measurement_start_ns, measurement_end_ns) = (start_ns, end_ns);
        let clock =
            Clock { start_ns, measurement_start_ns, measurement_end_ns, end_ns, boot: None };
        (name, Load { clock: Some(clock), ..load })
    };
    let together = merge(&[at("a", 0), at("b", 1)]).unwrap();
    assert_eq!(together.warnings, [""; 0]);
    assert_eq!(together.clock.unwrap().measurement_start_ns, 1_000_000_000);
    for begin in [5, 20] {
        let apart = merge(&[at("a", 0), at("b", begin)]).unwrap();
        assert!(apart.warnings[0].contains("at the same time"), "{:?}", apart.warnings);
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

    // In both orders.
    let mut shaped = b.clone();
    let group = Group {
        completed: 1,
        failed: 0,
        outcomes: BTreeMap::new(),
        reasons: BTreeMap::new(),
        ok_statuses: BTreeMap::new(),
        response_time: None,
        service_time: None,
    };
    let name = "hold 1k/s".to_owned();
    shaped.1.segments = vec![Segment { name, begin_s: 0.0, end_s: 1.0, group }];
    for parts in [[a.clone(), shaped.clone()], [shaped, a.clone()]] {
        assert!(refusal(&parts).contains("another shape"), "{parts:?}");
    }

    let mut damaged = b;
    damaged.1.total.response_time.as_mut().unwrap().histogram =
        serde_json::from_str(r#""no base64""#).unwrap();
    assert_eq!(refusal(&[a, damaged]), "b: a histogram is unreadable");
}

/// The offered requests in each second of the merged series of parts of ten seconds each, which
/// offer 1, 10, 100, … a second. A part is given by its boot id and the second of its clock when it
/// begins.
fn offered(parts: &[(Option<&str>, f64)]) -> Vec<(f64, u64)> {
    let part = |(place, &(boot, start_s)): (u32, &(Option<&str>, f64))| {
        let (name, load) = load("part", &[u64::from(place) + 1]);
        let measurement_start_ns = (start_s * 1e9) as u64;
        let clock = Clock {
            boot: boot.map(str::to_owned),
            measurement_start_ns,
            measurement_end_ns: measurement_start_ns + 10_000_000_000,
            ..Clock::default()
        };
        let second = |t: u32| {
            let (t_s, length_s) = (f64::from(t), 1.0);
            Interval { t_s, length_s, offered: 10u64.pow(place), ..Interval::default() }
        };
        let series = (0..10).map(second).collect();
        (name, Load { clock: Some(clock), series, measured_s: 10.0, ..load })
    };
    let parts: Vec<_> = (0..).zip(parts).map(part).collect();
    let series = merge(&parts).unwrap().series;
    series.iter().map(|second| (second.t_s, second.offered)).collect()
}

#[test]
fn the_series_of_one_machine_share_one_time_axis() {
    // The second part begins 2.8 s after the first, in either order.
    let together = |(t, sum): (u32, u64)| (f64::from(t), sum);
    let expected = |early: u64, late: u64| -> Vec<(f64, u64)> {
        let sums = (0..13).map(|t| {
            if t < 3 {
                early
            } else if t < 10 {
                early + late
            } else {
                late
            }
        });
        (0..).zip(sums).map(together).collect()
    };
    for boot in [None, Some("a")] {
        assert_eq!(offered(&[(boot, 7.0), (boot, 9.8)]), expected(1, 10), "{boot:?}");
        assert_eq!(offered(&[(boot, 9.8), (boot, 7.0)]), expected(10, 1), "{boot:?}");
    }
    // The parts follow each other, which is known by the boot id.
    let after: Vec<u64> =
        offered(&[(Some("a"), 7.0), (Some("a"), 17.0)]).iter().map(|s| s.1).collect();
    assert_eq!(after, [[1; 10], [10; 10]].concat());
}

#[test]
fn the_series_of_several_machines_begin_with_their_own_measurements() {
    let each = (0..10).map(|t| (f64::from(t), 11)).collect::<Vec<_>>();
    assert_eq!(offered(&[(Some("a"), 7.0), (Some("b"), 9.8)]), each);
    // Without a boot id, loads at different times may be of different machines.
    assert_eq!(offered(&[(None, 7.0), (None, 70_000.0)]), each);
}

#[test]
fn intervals_of_different_lengths_make_no_series() {
    let (a, mut b) = (load("a", &[1]), load("b", &[2]));
    let interval = |t_s| Interval { t_s, length_s: 0.1, ..Interval::default() };
    b.1.series = vec![interval(0.0), interval(0.1)];
    let whole = merge(&[a, b]).unwrap();
    assert_eq!(whole.series, []);
    assert!(whole.warnings[0].contains("--interval"), "{:?}", whole.warnings);
}

#[test]
fn loads_without_a_series_have_nothing_to_differ_in() {
    let part = |name: &str, us: u64| {
        let (name, load) = load(name, &[us]);
        (name, Load { series: Vec::new(), ..load })
    };
    let whole = merge(&[part("a", 1), part("b", 2)]).unwrap();
    assert_eq!((whole.series, whole.warnings), (Vec::new(), Vec::new()));
}

/// A load with an interval that is shorter, and a drain: neither is added to the other.
#[test]
fn drains_and_short_intervals_are_merged_with_their_like() {
    let part = |name: &str, offered: u64| {
        let (name, load) = load(name, &[offered]);
        let interval = |t_s, length_s| Interval { t_s, length_s, offered, ..Interval::default() };
        let series = vec![interval(0.0, 1.0), interval(1.0, 0.3), interval(1.3, 5.0)];
        (name, Load { measured_s: 1.3, series, ..load })
    };
    let whole = merge(&[part("a", 1), part("b", 10)]).unwrap();
    let series: Vec<_> = whole.series.iter().map(|i| (i.t_s, i.length_s, i.offered)).collect();
    assert_eq!(series, [(0.0, 1.0, 11), (1.0, 0.3, 11), (2.0, 5.0, 11)]);

    // A part that ended in its first interval takes nothing away from the others.
    let (name, short) = load("short", &[100]);
    let only = Interval { length_s: 0.6, offered: 100, ..Interval::default() };
    let short = (name, Load { measured_s: 0.6, series: vec![only], ..short });
    for parts in [[part("a", 1), short.clone()], [short, part("a", 1)]] {
        let whole = merge(&parts).unwrap();
        let series: Vec<_> = whole.series.iter().map(|i| (i.t_s, i.offered)).collect();
        assert_eq!(series, [(0.0, 101), (1.0, 1), (2.0, 1)]);
    }
}

/// A load of 8 s whose requests were answered after these times in microseconds.
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
        measured_s: 8.0,
        pacing: Pacing::Open { arrivals: "poisson".to_owned() },
        targets: vec![Target { url: "http://a/".to_owned(), path: None, part: total.clone() }],
        total,
        series: vec![Interval {
            length_s: 1.0,
            offered: 1,
            p99_ns: Some(1),
            max_ns: Some(1),
            ..Interval::default()
        }],
        ..Load::empty("benchwright 0.1.0")
    };
    (name.to_owned(), load)
}
