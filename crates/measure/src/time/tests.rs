use super::*;

#[test]
fn lengths_are_read_with_their_unit() {
    for (text, ns) in [
        ("10ms", 10_000_000),
        ("1.5s", 1_500_000_000),
        ("250us", 250_000),
        ("250 µs", 250_000),
        ("40ns", 40),
        ("2m", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("0s", 0),
    ] {
        assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
    }
}

#[test]
fn a_length_without_a_unit_is_refused_with_the_remedy() {
    for text in ["10", "", "ms", "-1s", "1e400s", "10 parsecs", "nans"] {
        let error = text.parse::<Nanos>().expect_err(text).to_string();
        assert!(error.contains("write for example 10ms"), "{error}");
    }
}

#[test]
fn lengths_are_printed_in_a_suitable_unit() {
    let print = |ns| Nanos(ns).to_string();
    assert_eq!(
        [0, 950, 1_230, 45_600_000, 12_000_000_000, 150_000_000_000, 4_260_000_000_000].map(print),
        ["0", "950 ns", "1.23 µs", "45.6 ms", "12.0 s", "2 min 30 s", "1 h 11 min"]
    );
    assert_eq!(print(999_499), "999 µs");
    assert_eq!(print(999_500), "1.00 ms");
}

#[test]
#[should_panic(expected = "time ran backwards")]
fn time_never_runs_backwards() {
    let _ = Instant(1) - Instant(2);
}

#[test]
fn a_length_beyond_a_century_is_refused_and_not_cut() {
    let text = "`100000000h` is not a valid length of time up to 876000h; write for example 10ms, 1.5s or 2m";
    assert_eq!("100000000h".parse::<Nanos>().unwrap_err().to_string(), text);
    assert_eq!("876000h".parse(), Ok(Nanos::from_secs(876_000 * 3600)));
}
