use expect_test::{Expect, expect};

use ::measure::Random;

use super::*;

fn read(text: &str) -> Result<Trace, String> {
    Trace::read("day.trace", text.as_bytes(), 1.0)
}

fn lines(trace: &Trace) -> Vec<(u64, Option<&str>)> {
    (0..)
        .map_while(|number| trace.get(number))
        .map(|(time, label)| {
            (time.0, trace.labels().get(usize::from(label.0)).map(|label| &**label))
        })
        .collect()
}

#[test]
fn a_line_is_a_time_and_perhaps_a_label() {
    let trace =
        read("# seconds, label\n0\n\n  # more\n0.5\tsearch\r\n.75\tlog in\n1.\t\n 2 \tsearch")
            .unwrap();
    let millis = |ms: u64| ms * 1_000_000;
    assert_eq!(
        lines(&trace),
        [
            (0, None),
            (millis(500), Some("search")),
            (millis(750), Some("log in")),
            (millis(1_000), None),
            (millis(2_000), Some("search")),
        ]
    );
    assert_eq!(trace.labels(), ["search", "log in"]);
    assert_eq!(trace.length(), Nanos::from_secs(2));
}

#[test]
fn times_are_read_exactly() {
    let trace = read("0.1\n0.123456789\n0.1234567899\n1700000000.000000001\n").unwrap();
    let times: Vec<u64> = lines(&trace).iter().map(|line| line.0).collect();
    assert_eq!(times, [100_000_000, 123_456_789, 123_456_789, 1_700_000_000_000_000_001]);
}

#[test]
fn a_time_may_have_an_exponent() {
    let trace = read("0e9\n1e-30\n1e-3\n12.5E-3\n.1234567899e+0\n2e0\n0.0017e6\n").unwrap();
    let times: Vec<u64> = lines(&trace).iter().map(|line| line.0).collect();
    let expected = [0, 0, 1_000_000, 12_500_000, 123_456_789, 2_000_000_000, 1_700_000_000_000];
    assert_eq!(times, expected);
    for wrong in ["1e", "e3", "1e1.5", "1e3e3", "1e11", "1e99999999999", "1e2147483647", "1 e3"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_byte_order_mark_is_skipped_where_a_file_may_have_one() {
    assert_eq!(lines(&read("\u{feff}0.5\ta\n").unwrap()), [(500_000_000, Some("a"))]);
    assert_eq!(lines(&read("\u{feff}# comment\n1\n").unwrap()), [(1_000_000_000, None)]);
    assert!(read("1\n\u{feff}2\n").is_err());
}

#[test]
fn speed_makes_it_shorter() {
    let at = |speed| Trace::read("t", "1\n3\n".as_bytes(), speed).unwrap();
    assert_eq!(at(2.0).length(), Nanos::from_millis(1_500));
    assert_eq!(at(0.5).length(), Nanos::from_secs(6));
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Trace::read("t", "1\n".as_bytes(), speed).unwrap_err();
        assert!(error.contains("is not a valid speed; write for example 2"), "{error}");
    }
}

#[test]
fn its_rates_are_counted() {
    let trace = read("0\n0.2\n0.4\n1.3\n1.35\n1.39999\n1.4\n5\n").unwrap();
    assert_eq!(trace.count_before(Nanos::ZERO), 0);
    assert_eq!(trace.count_before(Nanos::from_millis(1_350)), 4);
    assert_eq!(trace.count_before(Nanos::from_secs(9)), 8);
    // From 0.4 s until before 1.4 s.
    assert_eq!(trace.highest_rate(), 4.0);
}

#[test]
fn an_invalid_line_is_reported_with_its_number_and_the_remedy() {
    let wrong = |text: &str, expected: Expect| expected.assert_eq(&read(text).unwrap_err());
    wrong(
        "",
        expect![
            "day.trace: it contains no request; write one time per line, in seconds since the start"
        ],
    );
    wrong(
        "# nothing\n\n",
        expect![
            "day.trace: it contains no request; write one time per line, in seconds since the start"
        ],
    );
    wrong(
        "1\n# so far\n0.9\n",
        expect![
            "day.trace:3: its time is before that of the line above; sort the file with `sort -n`"
        ],
    );
    wrong(
        "1\n1.5 search\n",
        expect![
            "day.trace:2: `1.5 search` is not a valid time; write seconds since the start, for example 1.25, then a tab before any label"
        ],
    );
    wrong(
        "-1\n",
        expect![
            "day.trace:1: `-1` is not a valid time; write seconds since the start, for example 1.25, then a tab before any label"
        ],
    );
    wrong(
        "1\ta\tb\n",
        expect![[r#"day.trace:1: `a\tb` is not a valid label; write one without tabs"#]],
    );
    for time in [".", "1e", "+1", "inf", "NaN", "1,5", "0x1", "1s", "99999999999", "1.2.3", "١"] {
        let error = read(&format!("0\n{time}\n")).unwrap_err();
        assert!(
            error.starts_with(&format!("day.trace:2: `{time}` is not a valid time")),
            "{error}"
        );
    }
    let error = Trace::read("t", &b"1\t\xff\n"[..], 1.0).unwrap_err();
    assert_eq!(error, "t:1: it is not UTF-8; convert the file");
}

#[test]
fn its_size_is_limited() {
    let bounds = Bounds { lines: 3, labels: 2 };
    let read = |text: &str| bounds.read("t", text.as_bytes(), 1.0);
    assert_eq!(lines(&read("1\n# none\n\n2\n3\n").unwrap()).len(), 3);
    expect!["t:4: a trace holds at most 3 requests; split it into several loads"]
        .assert_eq(&read("1\n2\n3\n4\n").unwrap_err());
    assert_eq!(read("1\ta\n2\tb\n3\ta\n").unwrap().labels().len(), 2);
    expect!["t:3: there are more than 2 labels with `c`; label kinds of requests only"]
        .assert_eq(&read("1\ta\n2\tb\n3\tc\n").unwrap_err());

    let labelled = |length| format!("1\t{}\n", "x".repeat(length - 3));
    assert!(read(&labelled(LONGEST_LINE)).is_ok());
    let error = read(&labelled(LONGEST_LINE + 1)).unwrap_err();
    assert_eq!(error, "t:1: it is longer than 1024 bytes; shorten the label");
}

/// A line without end is rejected as soon as it is too long.
#[test]
fn an_endless_line_is_not_kept() {
    let endless = std::io::BufReader::new(std::io::repeat(b'1'));
    let error = Trace::read("t", endless, 1.0).unwrap_err();
    assert_eq!(error, "t:1: it is longer than 1024 bytes; shorten the label");
}

#[test]
fn any_bytes_are_a_trace_or_an_error() {
    let mut random = Random::new(4);
    let pieces = ["0", "1", ".", "\n", "\t", "#", "e", "-", "x", " ", "\r", "\u{e9}", "99999999"];
    let mut traces = 0;
    for _ in 0..20_000 {
        let length = random.below(12);
        let text: String =
            (0..length).map(|_| pieces[random.below(pieces.len() as u64) as usize]).collect();
        if let Ok(trace) = read(&text) {
            traces += 1;
            assert!(lines(&trace).is_sorted_by_key(|line| line.0));
        }
    }
    assert!(1_000 < traces, "{traces}");
}

#[test]
fn a_time_too_far_in_the_future_is_refused() {
    let error = Trace::read("a", b"0\n2000000002\n".as_slice(), 1.0 / 16.0).unwrap_err();
    assert!(error.starts_with("a:2: its time is more than 146 years"), "{error}");
    assert!(read("0\n99999999999\n").is_err());
    assert_eq!(read("0\n2000000002\n").unwrap().highest_rate(), 1.0);
}
