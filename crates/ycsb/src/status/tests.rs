use expect_test::{Expect, expect};

use super::*;
use crate::measurements::tests::{ended, terms};
use crate::measurements::{Name, Status};

fn state(seconds: u64, operations: u64, form: Form) -> State {
    let mut measurements = Measurements::new(terms(form));
    for i in 0..operations {
        measurements.record(&ended(Name::Read, Status::Ok, i, 1000 + i));
    }
    measurements.operations = operations;
    let remaining = Some(1000 - operations);
    State { elapsed: Nanos::from_millis(seconds * 1000 + 2), remaining, measurements }
}

fn check(form: Form, expected: Expect) {
    let (before, now) = (state(10, 100, form), state(20, 300, form));
    expected.assert_eq(&line("lab ", 1_700_000_020_007, &now, Some(&before), Interval::Operation));
}

#[test]
fn a_line_has_the_figures_since_the_line_before() {
    check(
        Form::Hdr,
        expect![
            "lab 2023-11-14 22:13:40:007 20 sec: 300 operations; 20 current ops/sec; est completion in 47 seconds [READ: Count=200, Max=1299, Min=1099, Avg=1199.5, 50=1199, 90=1279, 99=1297, 99.9=1299, 99.99=1299] "
        ],
    );
    check(
        Form::Series,
        expect![
            "lab 2023-11-14 22:13:40:007 20 sec: 300 operations; 20 current ops/sec; est completion in 47 seconds [READ AverageLatency(us)=1199.5] "
        ],
    );
    check(
        Form::Raw,
        expect![
            "lab 2023-11-14 22:13:40:007 20 sec: 300 operations; 20 current ops/sec; est completion in 47 seconds READ count: 200, average latency(us): 1199.50 "
        ],
    );
    check(
        Form::HdrAndBuckets,
        expect![[r#"
        lab 2023-11-14 22:13:40:007 20 sec: 300 operations; 20 current ops/sec; est completion in 47 seconds [HdrREAD: Count=200, Max=1299, Min=1099, Avg=1199.5, 50=1199, 90=1279, 99=1297, 99.9=1299, 99.99=1299]
        [BucketREAD AverageLatency(us)=1199.5] "#]],
    );
}

#[test]
fn the_first_line_counts_from_the_start_and_the_last_has_no_estimate() {
    let first = line("", 0, &state(10, 0, Form::Hdr), None, Interval::Both);
    assert_eq!(first, "1970-01-01 00:00:00:000 10 sec: 0 operations; ");
    let last = State { remaining: Some(0), ..state(10, 2, Form::Hdr) };
    expect!["1970-01-01 00:00:00:000 10 sec: 2 operations; 0.2 current ops/sec; [READ: Count=2, Max=1001, Min=999, Avg=1000.5, 50=1000, 90=1001, 99=1001, 99.9=1001, 99.99=1001] [Intended-READ: Count=2, Max=2001, Min=1999, Avg=2000.5, 50=2000, 90=2001, 99=2001, 99.9=2001, 99.99=2001] "].assert_eq(&line("", 0, &last, None, Interval::Both));
    let timed = State { remaining: None, ..last };
    assert!(!line("", 0, &timed, None, Interval::Both).contains("est completion"));
}

#[test]
fn numbers_have_at_most_two_decimals_half_to_even() {
    let texts = [0.0, 0.5, 0.125, 0.375, 99.999, 100.0, 1234.5].map(short);
    assert_eq!(texts.join(" "), "0 0.5 0.12 0.38 100 100 1234.5");
}

#[test]
fn the_remaining_time_is_in_the_unit_of_its_size() {
    for (seconds, text) in [
        (1, "1 seconds "),
        (59, "59 seconds "),
        (60, "1 minute "),
        (125, "2 minutes "),
        (3600, "1 hour "),
        (7380, "2 hours 3 minutes "),
        (86_400, "1 day "),
        (180_000, "2 days 2 hours "),
    ] {
        assert_eq!(rough(seconds), text, "{seconds}");
    }
}
