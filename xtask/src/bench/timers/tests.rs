use super::*;

#[test]
fn gaps_as_long_as_asked_are_even() {
    let even = "1000\t/\t0\n1001000\t/\t1\n2001000\t/\t0\n";
    assert!(unevenness(even, 1000.0).unwrap() < 1e-9);
    // A gap of half, then one of half as much again.
    let uneven = "0\t/\t0\n500000\t/\t1\n2000000\t/\t0\n";
    assert!((unevenness(uneven, 1000.0).unwrap() - 0.5).abs() < 1e-9);
}

#[test]
fn a_log_without_gaps_has_no_unevenness() {
    assert_eq!(unevenness("", 1000.0), None);
    assert_eq!(unevenness("7\t/\t0\n", 1000.0), None);
    assert_eq!(unevenness("seven\t/\t0\n8\t/\t0\n", 1000.0), None);
}

fn attempt(p99: f64, hiccup_p99: f64) -> Attempt {
    Attempt {
        reasons: Vec::new(),
        median: 0.1,
        p99,
        hiccup_p99,
        wake_up_p99: 0.0,
        cpu_of_request: 60.0,
        cpu_share: 0.6,
        others_share: 0.0,
    }
}

#[test]
fn the_default_is_valid_in_as_many_loads_as_the_best_timer_but_for_one() {
    let reasons = |is_valid| if is_valid { Vec::new() } else { vec!["late".to_owned()] };
    let one = move |is_valid| Attempt { reasons: reasons(is_valid), ..attempt(9.0, 9.0) };
    let valid = |count| (0..5).map(move |n| one(n < count));
    let judge = |[hybrid, sleep, spin]: [u32; 3]| {
        let each = [hybrid, sleep, spin].map(|count| valid(count).collect());
        validity(("5k/s", "poisson"), &each)
    };
    let finding = judge([4, 0, 5]);
    assert!(finding.is_met());
    assert_eq!(finding.what, "hybrid: fewer valid loads than spin, 5k/s poisson");
    let expected = "hybrid: 4 of 5 valid, CPU 60 %; sleep: 0 of 5 valid, CPU 60 %; spin: 5 of 5";
    assert!(finding.beside.starts_with(expected), "{}", finding.beside);
    assert!(!judge([3, 5, 5]).is_met());
    assert!(judge([5, 0, 2]).is_met());
}

#[test]
fn a_p99_that_the_machine_explains_is_judged_by_what_is_above_it() {
    let judge = |timer, p99, hiccup_p99| {
        let [median, p99] = of_timer(timer, ("10k/s", "constant"), &[attempt(p99, hiccup_p99)]);
        assert!(median.is_met());
        (p99.what.clone(), p99.figures[0], p99.is_met())
    };
    let p99 = "hybrid: lateness p99, 10k/s constant".to_owned();
    assert_eq!(judge("hybrid", 40.0, 10.0), (p99.clone(), 40.0, true));
    assert_eq!(judge("hybrid", 90.0, 10.0), (p99, 90.0, false));
    let above = "hybrid: lateness p99 above the hiccup meter's, 10k/s constant".to_owned();
    assert_eq!(judge("hybrid", 90.0, 60.0), (above, 30.0, true));
    assert!(judge("sleep", 90.0, 10.0).2, "only the default is judged");
}
