use expect_test::{ExpectFile, expect, expect_file};

use super::*;
use crate::samples::Sequence;
use crate::statistics::table::expected_interval;

const URL: &str = "http://127.0.0.1:8080/index.html";

/// Compares with a golden file, which the expressions of `tests/it` read, too.
fn check(text: &str, golden: ExpectFile) {
    golden.assert_eq(text);
}

/// Latencies in µs: most within a millisecond, one in a hundred up to 0.2 s.
fn latencies(count: usize, seed: u64) -> impl Iterator<Item = u64> {
    let mut sequence = Sequence(seed);
    std::iter::repeat_with(move || {
        let x = sequence.next();
        let slow = if (x >> 20).is_multiple_of(100) { (x >> 40) % 200_000 } else { 0 };
        300 + (x >> 33) % 700 + slow
    })
    .take(count)
}

fn table(values: impl Iterator<Item = u64>) -> Table {
    let mut table = Table::new(2_000_000);
    values.for_each(|value| table.record(value));
    table
}

fn hdr(values: impl Iterator<Item = u64>) -> Hdr {
    let mut hdr = Hdr::new();
    values.for_each(|value| hdr.record(value));
    hdr
}

fn rates() -> impl Iterator<Item = u64> {
    (0..200).map(|i| 11_800 + i * i % 977)
}

const TOTALS: Totals = Totals {
    requests: 237_004,
    run: Nanos(10_003_217_890),
    bytes: 61_384_036,
    errors: Errors { connect: 0, read: 0, write: 0, timeout: 0, status: 0 },
};

const FAILING: Totals = Totals {
    errors: Errors { connect: 1, read: 22, write: 0, timeout: 333, status: 4444 },
    ..TOTALS
};

const NOTHING: Totals = Totals { requests: 0, bytes: 0, ..TOTALS };

fn wrk_text(totals: &Totals, latency: &Table, rates: &Table, distribution: Distribution) -> String {
    opening(Nanos::from_secs(10), URL, 2, 64)
        + &wrk(&Results { totals, latency, rates, distribution })
}

#[test]
fn wrk_prints_the_distribution() {
    let mut latency = table(latencies(20_000, 1));
    latency.back_fill(expected_interval(TOTALS.run, TOTALS.requests, 64));
    let text = wrk_text(&TOTALS, &latency, &table(rates()), Distribution::Shown);
    check(&text, expect_file!["golden/wrk-latency.txt"]);
}

#[test]
fn wrk_prints_failures() {
    let (latency, rates) = (table(latencies(200, 2)), table(rates()));
    let text = wrk_text(&FAILING, &latency, &rates, Distribution::Hidden);
    check(&text, expect_file!["golden/wrk-failing.txt"]);
}

#[test]
fn wrk_prints_zeros_of_nothing() {
    let nothing = table(std::iter::empty());
    let text = wrk_text(&NOTHING, &nothing, &nothing, Distribution::Shown);
    check(&text, expect_file!["golden/wrk-nothing.txt"]);
}

fn wrk2_text(latency: &Hdr, distribution: Distribution, uncorrected: Option<&Hdr>) -> String {
    let rates = hdr(rates());
    let results = Results { totals: &TOTALS, latency, rates: &rates, distribution };
    opening(Nanos::from_secs(30), URL, 2, 100)
        + &calibration(Calibration { mean_us: 1_234, interval_ms: 10 })
        + &calibration(Calibration { mean_us: 987, interval_ms: 12 })
        + &wrk2(&results, uncorrected)
}

#[test]
fn wrk2_prints_the_spectrum() {
    let text = wrk2_text(&hdr(latencies(200_000, 3)), Distribution::Shown, None);
    check(&text, expect_file!["golden/wrk2-latency.txt"]);
}

#[test]
fn wrk2_prints_uncorrected_latencies() {
    let uncorrected = hdr(latencies(3, 5));
    let text = wrk2_text(&hdr(latencies(1000, 4)), Distribution::Shown, Some(&uncorrected));
    check(&text, expect_file!["golden/wrk2-uncorrected.txt"]);
}

#[test]
fn wrk2_prints_only_the_table() {
    let text = wrk2_text(&hdr(latencies(1000, 4)), Distribution::Hidden, None);
    check(&text, expect_file!["golden/wrk2.txt"]);
}

#[test]
fn wrk2_prints_zeros_of_nothing() {
    let nothing = Hdr::new();
    let distribution = Distribution::Shown;
    let results = Results { totals: &NOTHING, latency: &nothing, rates: &nothing, distribution };
    check(&wrk2(&results, None), expect_file!["golden/wrk2-nothing.txt"]);
}

#[test]
fn dsb_prints_one_target() {
    let (latency, rates) = (hdr(latencies(20_000, 6)), hdr(rates()));
    let distribution = Distribution::Shown;
    let results = Results { totals: &FAILING, latency: &latency, rates: &rates, distribution };
    let text = dsb_opening(Nanos::from_secs(60), URL, 4, 100)
        + &calibration(Calibration { mean_us: 1_234, interval_ms: 10 })
        + &dsb_target(URL, &results, None);
    check(&text, expect_file!["golden/dsb-target.txt"]);
}

#[test]
fn dsb_prints_several_targets_and_all_together() {
    let other = "http://127.0.0.1:8081/";
    let (latency, rates) = (hdr(latencies(20_000, 6)), hdr(rates()));
    let distribution = Distribution::Hidden;
    let results = Results { totals: &TOTALS, latency: &latency, rates: &rates, distribution };
    let all = Totals { requests: 474_008, bytes: 122_768_072, ..FAILING };
    let distribution = Distribution::Shown;
    let overall = Results { totals: &all, latency: &latency, rates: &rates, distribution };
    let text = dsb_opening(Nanos::from_secs(60), URL, 4, 100)
        + &dsb_opening(Nanos::from_secs(60), other, 4, 100)
        + &dsb_target(URL, &results, Some(237_100))
        + &dsb_target(other, &results, Some(237_101))
        + &dsb_overall(&overall, Some(474_201));
    check(&text, expect_file!["golden/dsb-overall.txt"]);
}

#[test]
fn a_long_run_and_large_figures_keep_their_columns() {
    let totals = Totals {
        requests: 36_000_000_123,
        run: Nanos::from_secs(3600),
        bytes: 12_345_678_901_234,
        errors: Errors::default(),
    };
    let nothing = table(std::iter::empty());
    let latency = table([59_999_999, 61_000_000, 3_599_000_000].into_iter());
    let distribution = Distribution::Shown;
    let results = Results { totals: &totals, latency: &latency, rates: &nothing, distribution };
    expect![[r#"
          Thread Stats   Avg      Stdev     Max   +/- Stdev
            Latency    20.67m    34.05m   59.98m    66.67%
            Req/Sec     0.00      0.00     0.00      0.00%
          Latency Distribution
             50%    1.02m 
             75%   59.98m 
             90%   59.98m 
             99%   59.98m 
          36000000123 requests in 60.00m, 11.23TB read
        Requests/sec: 10000000.03
        Transfer/sec:      3.19GB
    "#]]
    .assert_eq(&wrk(&results));
}
