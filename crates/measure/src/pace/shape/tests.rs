use expect_test::{Expect, expect};

use super::*;

const CONTRACT: &str = "1k/s 30s, ->5k/s 60s, 5k/s 60s, spike 20k/s 2s, sine 2k/s..8k/s 1h 24h";

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

fn seconds(seconds: f64) -> Nanos {
    Nanos::from_secs_f64(seconds)
}

#[test]
fn a_shape_is_its_parts_one_after_the_other() {
    let shape = shape(CONTRACT);
    let described: String = shape
        .segments()
        .map(|Segment { name, begin, end }| {
            let (before, after) = (shape.integral(begin), shape.integral(end.unwrap()));
            let rate = shape.rate_at(begin).unwrap().as_per_second();
            let end = end.unwrap().as_secs_f64();
            format!("{name}: {}..{end} s, from {rate}/s, {}\n", begin.as_secs_f64(), after - before)
        })
        .collect();
    expect![[r#"
        1k/s 30s: 0..30 s, from 1000/s, 30000
        ->5k/s 60s: 30..90 s, from 1000/s, 180000
        5k/s 60s: 90..150 s, from 5000/s, 300000
        spike 20k/s 2s: 150..152 s, from 20000/s, 40000
        sine 2k/s..8k/s 1h 24h: 152..86552 s, from 5000/s, 432000000
    "#]]
    .assert_eq(&described);
    assert_eq!(shape.length(), Some(Nanos::from_secs(86_552)));
    assert_eq!(shape.rate_at(Nanos::from_secs(86_552)), None);
    assert_eq!(
        shape.integral(Nanos::from_secs(1_000_000)),
        shape.integral(Nanos::from_secs(86_552))
    );
}

#[test]
fn a_shape_has_a_rate_at_every_time() {
    let shape = shape(CONTRACT);
    for (time, rate) in [
        (0.0, 1_000.0),
        (29.9, 1_000.0),
        (30.0, 1_000.0),
        (60.0, 3_000.0),
        (90.0, 5_000.0),
        (150.0, 20_000.0),
        (152.0, 5_000.0),
        // A quarter and three quarters of the first period.
        (152.0 + 900.0, 8_000.0),
        (152.0 + 2_700.0, 2_000.0),
    ] {
        let at = shape.rate_at(seconds(time)).unwrap().as_per_second();
        assert!((at - rate).abs() < 1e-6, "{time}: {at}");
    }
    assert_eq!(shape.highest_rate(), 20_000.0);
}

#[test]
fn a_ramp_begins_at_the_rate_reached_so_far() {
    for (before, reached) in
        [("10/s 1s", 10.0), ("10/s 1s, spike 50/s 1s", 50.0), ("sine 10/s..30/s 4s 5s", 30.0)]
    {
        let shape = shape(&format!("{before}, ->100/s 1s, ->1/s 2s"));
        let ramps: Vec<Segment> = shape.segments().collect();
        let [.., up, down] = &ramps[..] else { panic!("two ramps") };
        let at = |time: Nanos| shape.rate_at(time).unwrap().as_per_second();
        assert!((at(up.begin) - reached).abs() < 1e-9, "{before}: {}", at(up.begin));
        assert!((at(down.begin) - 100.0).abs() < 1e-9);
    }
}

#[test]
fn a_constant_rate_has_no_end() {
    let shape = Shape::constant(Rate::per_second(5_000.0).unwrap());
    assert_eq!(shape.length(), None);
    let name = "5000/s".to_owned();
    assert_eq!(
        shape.segments().collect::<Vec<_>>(),
        [Segment { name, begin: Nanos::ZERO, end: None }]
    );
    assert_eq!(shape.integral(Nanos::from_secs(1_000)), 5e6);
    assert_eq!(shape.mean_rate(Nanos(1), Nanos(4)), 5_000.0);
    assert_eq!(shape.after_warm_up(Nanos::SECOND), shape);
}

#[test]
fn a_warm_up_holds_the_first_rate_before_the_shape() {
    let cold = shape("sine 10/s..30/s 4s 8s, 5/s 1s");
    let warm = cold.after_warm_up(Nanos::from_secs(3));
    assert_eq!(warm.length(), Some(Nanos::from_secs(12)));
    assert_eq!(warm.rate_at(Nanos(1)), Rate::per_second(20.0));
    assert_eq!(warm.integral(Nanos::from_secs(3)), 60.0);
    for t in [0.0, 1.0, 2.5, 8.0, 8.5] {
        let (cold, warm) = (cold.rate_at(seconds(t)), warm.rate_at(seconds(t + 3.0)));
        let [cold, warm] = [cold, warm].map(|rate| rate.unwrap().as_per_second());
        assert!((cold - warm).abs() < 1e-9);
    }
    let names: Vec<String> = warm.segments().map(|segment| segment.name).collect();
    assert_eq!(names, ["warm-up", "sine 10/s..30/s 4s 8s", "5/s 1s"]);
    assert_eq!(cold.after_warm_up(Nanos::ZERO), cold);
}

#[test]
fn the_mean_rate_is_what_is_asked_for_between_two_times() {
    let shape = shape("10/s 10s, ->30/s 10s");
    let mean = |from, to| shape.mean_rate(Nanos::from_secs(from), Nanos::from_secs(to));
    assert_eq!(mean(0, 10), 10.0);
    assert_eq!(mean(10, 20), 20.0);
    assert_eq!(mean(0, 20), 15.0);
    // It ends within this time.
    assert_eq!(mean(10, 30), 10.0);
    assert_eq!(mean(5, 5), 0.0);
}

/// Uses the trapezoidal rule, from the rate alone.
#[test]
fn the_integral_adds_up_the_rate() {
    let text = "1k/s 3s, ->5k/s 6s, spike 20k/s 200ms, ->100/s 1s, sine 2k/s..8k/s 3s 10s";
    let shape = shape(text);
    for Segment { name, begin, end } in shape.segments() {
        let steps = 10_000;
        let step = Nanos((end.unwrap().0 - begin.0) / steps);
        let rate = |i| shape.rate_at(begin + step * i).unwrap().as_per_second();
        let mut sum = 0.0;
        for i in 0..steps - 1 {
            sum += (rate(i) + rate(i + 1)) / 2.0 * step.as_secs_f64();
            let asked = shape.integral(begin + step * (i + 1)) - shape.integral(begin);
            assert!((asked - sum).abs() < 0.01, "{name}: {asked} for {sum}");
        }
    }
}

/// Compares with bisection over the whole part, which keeps no state.
#[test]
fn the_inverse_is_exact_to_the_nanosecond() {
    for text in [
        "3/s 1000s",
        "1k/s 1s, ->7k/s 10s",
        "7k/s 1s, ->3/s 10s",
        "100/s 1s, ->100/s 10s",
        "sine 2k/s..8k/s 10ms 10s",
        "sine 1/s..10k/s 1h 24h",
        "sine 5/s..5/s 1s 100s",
    ] {
        let shape = shape(text);
        let whole = shape.last().after;
        let mut walk = Walk::new(shape.clone());
        for i in 0..1_000 {
            let u = whole * (f64::from(i) + 0.37) / 1_000.0;
            let time = walk.time(u).unwrap();
            let (mut low, mut high) = (0, shape.length().unwrap().0);
            while low + 1 < high {
                let middle = low.midpoint(high);
                if shape.integral(Nanos(middle)) < u { low = middle } else { high = middle }
            }
            assert!(time.0.abs_diff(low) <= 1, "{text}: {} for {low}", time.0);
        }
        assert_eq!(walk.time(whole), None);
    }
}

/// At the lowest rate, a nanosecond is less of a request than the rounding error: adjacent
/// numbers would change places.
#[test]
fn times_never_decrease_however_close_together() {
    for (text, slowest) in [
        ("sine 1/s..1M/s 1h 24h", Nanos::from_secs(2_700)),
        ("1M/s 1s, ->1/s 100s, ->1M/s 10s", Nanos::from_secs(101)),
        ("1G/s 1s, 1/s 10s, 1G/s 1s", Nanos::from_secs(11)),
    ] {
        let shape = shape(text);
        let mut u = shape.integral(slowest);
        (0..500).for_each(|_| u = u.next_down());
        let mut walk = Walk::new(shape);
        let mut before = Nanos::ZERO;
        for _ in 0..1_000 {
            let time = walk.time(u).unwrap();
            assert!(before <= time, "{text}: {time:?} after {before:?}");
            assert!(time.0.abs_diff(slowest.0) < 1_000_000, "{text}: {time:?}");
            before = time;
            u = u.next_up();
        }
    }
}

#[test]
fn an_invalid_shape_is_refused_with_the_part_and_the_remedy() {
    let wrong = |text: &str, expected: Expect| {
        expected.assert_eq(&text.parse::<Shape>().unwrap_err());
    };
    wrong(
        "",
        expect![
            "part 1 of the shape, ``: write a hold `1k/s 30s`, a ramp `->5k/s 60s`, a spike `spike 20k/s 2s`, a sine with its period and length `sine 2k/s..8k/s 1h 24h`, or a rest `rest 8s`"
        ],
    );
    wrong(
        "1k/s 30s,",
        expect![
            "part 2 of the shape, ``: write a hold `1k/s 30s`, a ramp `->5k/s 60s`, a spike `spike 20k/s 2s`, a sine with its period and length `sine 2k/s..8k/s 1h 24h`, or a rest `rest 8s`"
        ],
    );
    wrong(
        "1k/s",
        expect![
            "part 1 of the shape, `1k/s`: write a hold `1k/s 30s`, a ramp `->5k/s 60s`, a spike `spike 20k/s 2s`, a sine with its period and length `sine 2k/s..8k/s 1h 24h`, or a rest `rest 8s`"
        ],
    );
    wrong(
        "1k/s 30s, 5k 60s",
        expect!["part 2 of the shape, `5k 60s`: `5k` is not a valid rate; write for example 5k/s"],
    );
    wrong(
        "1k/s 30",
        expect![
            "part 1 of the shape, `1k/s 30`: `30` is not a valid length of time; write for example 10ms, 1.5s or 2m"
        ],
    );
    wrong(
        "1k/s 0s",
        expect![
            "part 1 of the shape, `1k/s 0s`: `0s` is not a time above zero; write for example 30s"
        ],
    );
    wrong(
        "0/s 1s",
        expect![
            "part 1 of the shape, `0/s 1s`: `0/s` is not a valid rate above zero; write for example 5k/s"
        ],
    );
    wrong(
        "->5k/s 60s",
        expect![
            "part 1 of the shape, `->5k/s 60s`: a ramp starts at the rate before it; write for example `1/s 1s, ->5k/s 60s`"
        ],
    );
    wrong(
        "1/s 1s, sine 2k/s 1h 24h",
        expect![
            "part 2 of the shape, `sine 2k/s 1h 24h`: `2k/s` is not a valid range of rates; write for example 2k/s..8k/s"
        ],
    );
    wrong(
        "sine 8k/s..2k/s 1h 24h",
        expect![
            "part 1 of the shape, `sine 8k/s..2k/s 1h 24h`: `8k/s..2k/s` is in the wrong order; write the lower rate first"
        ],
    );
    wrong(
        "sine 2k/s..8k/s 0s 24h",
        expect![
            "part 1 of the shape, `sine 2k/s..8k/s 0s 24h`: `0s` is not a time above zero; write for example 30s"
        ],
    );
    wrong(
        "sine 2k/s..8k/s 24h",
        expect![
            "part 1 of the shape, `sine 2k/s..8k/s 24h`: write a hold `1k/s 30s`, a ramp `->5k/s 60s`, a spike `spike 20k/s 2s`, a sine with its period and length `sine 2k/s..8k/s 1h 24h`, or a rest `rest 8s`"
        ],
    );
    wrong(
        "2G/s 1s",
        expect![
            "part 1 of the shape, `2G/s 1s`: `2G/s` is not a valid rate of at most 1G/s, one each nanosecond; write for example 5k/s"
        ],
    );
    wrong(
        "1/s 2000h, 1/s 2000h",
        expect![
            "part 2 of the shape, `1/s 2000h`: the shape becomes longer than 104 days; shorten it"
        ],
    );
}

#[test]
fn a_rate_is_positive_even_where_rounding_would_lose_it() {
    for text in ["sine 0.000000001/s..1G/s 1s 2s", "1G/s 1s, ->0.000000001/s 104000m"] {
        let shape = shape(text);
        let length = shape.length().unwrap();
        for time in [750_000_000, length.0 - 1] {
            assert!(0.0 < shape.rate_at(Nanos(time)).unwrap().as_per_second());
        }
        let mut walk = Walk::new(shape.clone());
        let times: Vec<Nanos> = (0..100)
            .map(|i| walk.time(shape.last().after * f64::from(i) / 100.0).unwrap())
            .collect();
        assert!(times.is_sorted() && times[99] <= length);
    }
}

#[test]
fn spaces_do_not_matter() {
    assert_eq!(
        shape(" 1k/s   30s ,-> 5k/s 60s,spike  20k/s 2s").segments().count(),
        shape("1k/s 30s, ->5k/s 60s, spike 20k/s 2s").segments().count()
    );
    assert_eq!(
        shape("1k/s 30s, -> 5k/s 60s").rate_at(Nanos::from_secs(60)),
        shape("1k/s 30s, ->5k/s 60s").rate_at(Nanos::from_secs(60))
    );
}

#[test]
fn no_request_is_in_a_rest() {
    let shape = shape("10/s 1s, rest 8s, 20/s 1s");
    let mut walk = Walk::new(shape.clone());
    let times: Vec<f64> = (0..30).map(|u| walk.time(u.into()).unwrap().as_secs_f64()).collect();
    assert_eq!(walk.time(30.0), None);
    assert_eq!((times[9], times[10], times[11]), (0.9, 9.0, 9.05));
    assert_eq!(shape.rate_at(seconds(1.0)), None);
    assert_eq!(shape.mean_rate(seconds(1.0), seconds(9.0)), 0.0);
    assert_eq!(shape.mean_rate(Nanos::ZERO, seconds(10.0)), 3.0);
    let why = |text: &str| text.parse::<Shape>().unwrap_err();
    assert!(
        why("rest 8s, 1/s 1s").ends_with("a shape begins with requests; put the rest behind them")
    );
    assert!(why("1/s 1s, rest 1s, ->5/s 1s").contains("a ramp starts at the rate before it"));
    assert!(why("1/s 1s, rest 0s").contains("is not a time above zero"));
}
