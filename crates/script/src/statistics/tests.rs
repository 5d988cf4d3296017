use super::{Distribution, Errors, Results, Summary};
use crate::Compatibility;
use crate::support::Setting;

#[test]
fn done_gets_the_figures_of_the_run() {
    check(
        Compatibility::Wrk2,
        r#"
            assert(summary.duration == 10000123 and summary.requests == 4000000000)
            assert(summary.bytes == 123456789012)
            local e = summary.errors
            assert(e.connect == 1 and e.read == 2 and e.write == 3 and e.status == 4 and e.timeout == 5)
            for _, x in ipairs({ latency, requests }) do
                assert(x.min == 100 and x.max == 400.5 and x.mean == 250 and x.stdev == 12.5)
                assert(x.nothing == nil and type(x) == "userdata")
            end
        "#,
    );
}

#[test]
fn wrk_counts_distinct_values() {
    check(
        Compatibility::Wrk,
        r#"
            local values = {}
            for i = 1, #latency do
                local value, count = latency(i)
                values[i] = value .. "x" .. count
            end
            assert(table.concat(values, " ") == "100x50 200x40 300x9 400.5x1")
            assert(select(2, latency(0)) == 0 and select(2, latency(5)) == 0 and latency(-1) == 0)
            assert(latency[50] == 100 and latency[51] == 200)
        "#,
    );
}

#[test]
fn wrk2_counts_samples() {
    for compatibility in [Compatibility::Wrk2, Compatibility::Dsb, Compatibility::Native] {
        check(
            compatibility,
            r#"
                assert(#latency == 100)
                assert(latency[1] == 100 and latency[50] == 100 and latency[51] == 200)
                assert(latency[90] == 200 and latency[91] == 300 and latency[100] == 400.5)
                assert(latency[0] == 100 and latency[-1] == 100 and latency[101] == 400.5)
                local value, count = latency(2)
                assert(value == 200 and count == 40)
            "#,
        );
    }
}

#[test]
fn percentiles_are_values_that_occurred() {
    for compatibility in [Compatibility::Wrk, Compatibility::Wrk2] {
        check(
            compatibility,
            r#"
                assert(latency:percentile(50) == 200 or latency:percentile(50) == 100)
                assert(latency:percentile(0) == 100 and latency:percentile(49) == 100)
                assert(latency:percentile(75) == 200 and latency:percentile(95) == 300)
                assert(latency:percentile(100) == 400.5 and latency:percentile(99.999) == 400.5)
                assert(latency.percentile(latency, 75) == 200)
            "#,
        );
    }
    check(Compatibility::Wrk, "assert(latency:percentile(50) == 200, 'wrk rounds 50.5 up')");
    check(Compatibility::Wrk2, "assert(latency:percentile(50) == 100, 'wrk2 rounds 50.5 down')");
}

#[test]
fn nothing_measured_is_zeros() {
    for compatibility in [Compatibility::Wrk, Compatibility::Wrk2] {
        let source = "function done(summary, latency)
            assert(#latency == 0 and latency[1] == 0 and latency(1) == 0 and latency.mean == 0)
            assert(latency:percentile(99) == 0 and summary.requests == 0)
        end";
        let (script_set, _) = Setting::of(compatibility).play(source).unwrap();
        script_set.done(0, &Results::default()).unwrap();
    }
}

fn check(compatibility: Compatibility, body: &str) {
    let source = format!("function done(summary, latency, requests)\n{body}\nend");
    let (script_set, _) = Setting::of(compatibility).play(&source).unwrap();
    let figures = Distribution {
        values: vec![(100.0, 50), (200.0, 40), (300.0, 9), (400.5, 1)],
        min: 100.0,
        max: 400.5,
        mean: 250.0,
        stdev: 12.5,
    };
    let errors = Errors { connect: 1, read: 2, write: 3, status: 4, timeout: 5 };
    let summary = Summary {
        duration_us: 10_000_123,
        requests: 4_000_000_000,
        bytes: 123_456_789_012,
        errors,
    };
    script_set.done(0, &Results { summary, latency: figures.clone(), requests: figures }).unwrap();
}
