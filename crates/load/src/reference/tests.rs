use super::*;

#[test]
fn delays_are_read_and_a_wrong_one_is_explained() {
    let ms = Nanos::from_millis;
    for (text, delay) in [
        ("1ms", Delay::Fixed(ms(1))),
        ("fixed:0s", Delay::Fixed(ms(0))),
        ("exponential:2ms", Delay::Exponential { mean: ms(2) }),
        ("bimodal:1ms,10ms,5%", Delay::Bimodal { fast: ms(1), slow: ms(10), slow_share: 0.05 }),
    ] {
        assert_eq!(text.parse(), Ok(delay), "{text}");
    }
    for text in ["", "1", "normal:1ms", "bimodal:1ms,2ms", "bimodal:1ms,2ms,120%"] {
        let error = text.parse::<Delay>().expect_err(text);
        assert!(error.contains("write"), "{error}");
    }
}

#[test]
fn the_log_tells_disorder_from_simultaneity() {
    let mut log = Log::default();
    for (at, target) in [(1, "/1"), (2, "/3"), (2, "/2"), (3, "/2"), (4, "/about"), (5, "/4")] {
        log.arrived(Instant(at), target);
    }
    assert_eq!((log.requests, log.out_of_order), (6, 1));
}

#[test]
fn lateness_counts_from_the_most_punctual_request_of_a_constant_schedule() {
    let rate = Rate::per_second(1000.0).unwrap();
    let schedule = Some(Schedule { rate, delays: Vec::new() });
    let mut log = Log { schedule, ..Log::default() };
    // The first is 3 ms late, the second on time, the fourth overtakes the third.
    for (at_ms, target) in [(13, "/1"), (11, "/2"), (13, "/4"), (14, "/3"), (14, "/about")] {
        log.last_arrival = None;
        log.arrived(Instant(at_ms * 1_000_000), target);
    }
    let lateness = log.lateness().unwrap();
    assert_eq!(lateness.count(), 4);
    let milliseconds = |level| {
        let quantile = Quantile::new(level).unwrap();
        lateness.quantile(quantile).unwrap().as_millis_f64().round()
    };
    assert_eq!([0.25, 0.5, 0.75, 1.0].map(milliseconds), [0.0, 0.0, 2.0, 3.0]);
    let line = log.to_string();
    assert!(line.ends_with(r#""gap_mean_ns":0,"late_count":4,"late_p99_ns":3000319}"#), "{line}");
}

#[test]
fn without_a_schedule_nothing_is_said_of_lateness() {
    let mut log = Log::default();
    log.arrived(Instant(7), "/1");
    assert_eq!(log.lateness().map(|lateness| lateness.count()), None);
    assert!(!log.to_string().contains("late"));
}
