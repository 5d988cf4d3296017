use expect_test::{Expect, expect};

use super::*;
use crate::measurements::tests::{ended, terms};

fn output(interval: Interval) -> Output {
    Output {
        interval,
        percentiles: vec![50.0, 99.0, 99.9],
        has_buckets: false,
        has_summary: true,
        exporter: Exporter::Text,
        file: None,
        raw_file: None,
        hdr_prefix: None,
    }
}

/// Ten reads of 0.5 to 9.5 ms, of which the last fails, and an insert, over five seconds.
fn measured(form: Form) -> Measurements {
    let mut measurements = Measurements::new(terms(form));
    for i in 0..10 {
        let status = if i == 9 { Status::Error } else { Status::Ok };
        measurements.record(&ended(Name::Read, status, i * 500, 500 + i * 1000));
    }
    measurements.record(&ended(Name::Insert, Status::NotFound, 4999, 123));
    measurements.record(&ended(Name::Cleanup, Status::Ok, 5000, 7));
    measurements.operations = 11;
    measurements
}

fn check(form: Form, output: &Output, expected: Expect) {
    let lines = lines(Nanos::from_millis(5001), &measured(form), output);
    expected.assert_eq(&output.exporter.text(&lines));
}

#[test]
fn hdrhistogram_is_printed_as_the_original_does() {
    check(
        Form::Hdr,
        &output(Interval::Operation),
        expect![[r#"
            [OVERALL], RunTime(ms), 5001
            [OVERALL], Throughput(ops/sec), 2.1995600879824035
            [READ], Operations, 9
            [READ], AverageLatency(us), 4500.0
            [READ], MinLatency(us), 500
            [READ], MaxLatency(us), 8500
            [READ], 50thPercentileLatency(us), 4501
            [READ], 99thPercentileLatency(us), 8500
            [READ], 99.9PercentileLatency(us), 8500
            [READ], Return=OK, 9
            [READ], Return=ERROR, 1
            [READ-FAILED], Operations, 1
            [READ-FAILED], AverageLatency(us), 9500.0
            [READ-FAILED], MinLatency(us), 9500
            [READ-FAILED], MaxLatency(us), 9500
            [READ-FAILED], 50thPercentileLatency(us), 9500
            [READ-FAILED], 99thPercentileLatency(us), 9500
            [READ-FAILED], 99.9PercentileLatency(us), 9500
            [INSERT], Operations, 0
            [INSERT], Return=NOT_FOUND, 1
            [INSERT-NOT_FOUND], Operations, 1
            [INSERT-NOT_FOUND], AverageLatency(us), 123.0
            [INSERT-NOT_FOUND], MinLatency(us), 123
            [INSERT-NOT_FOUND], MaxLatency(us), 123
            [INSERT-NOT_FOUND], 50thPercentileLatency(us), 123
            [INSERT-NOT_FOUND], 99thPercentileLatency(us), 123
            [INSERT-NOT_FOUND], 99.9PercentileLatency(us), 123
            [CLEANUP], Operations, 1
            [CLEANUP], AverageLatency(us), 7.0
            [CLEANUP], MinLatency(us), 7
            [CLEANUP], MaxLatency(us), 7
            [CLEANUP], 50thPercentileLatency(us), 7
            [CLEANUP], 99thPercentileLatency(us), 7
            [CLEANUP], 99.9PercentileLatency(us), 7
        "#]],
    );
}

#[test]
fn hdrhistogram_has_both_times_if_both_are_asked_for() {
    check(
        Form::Hdr,
        &output(Interval::Both),
        expect![[r#"
            [OVERALL], RunTime(ms), 5001
            [OVERALL], Throughput(ops/sec), 2.1995600879824035
            [READ], Operations, 9
            [READ], AverageLatency(us), 4500.0
            [READ], MinLatency(us), 500
            [READ], MaxLatency(us), 8500
            [READ], 50thPercentileLatency(us), 4501
            [READ], 99thPercentileLatency(us), 8500
            [READ], 99.9PercentileLatency(us), 8500
            [READ], Return=OK, 9
            [READ], Return=ERROR, 1
            [READ-FAILED], Operations, 1
            [READ-FAILED], AverageLatency(us), 9500.0
            [READ-FAILED], MinLatency(us), 9500
            [READ-FAILED], MaxLatency(us), 9500
            [READ-FAILED], 50thPercentileLatency(us), 9500
            [READ-FAILED], 99thPercentileLatency(us), 9500
            [READ-FAILED], 99.9PercentileLatency(us), 9500
            [INSERT], Operations, 0
            [INSERT], Return=NOT_FOUND, 1
            [INSERT-NOT_FOUND], Operations, 1
            [INSERT-NOT_FOUND], AverageLatency(us), 123.0
            [INSERT-NOT_FOUND], MinLatency(us), 123
            [INSERT-NOT_FOUND], MaxLatency(us), 123
            [INSERT-NOT_FOUND], 50thPercentileLatency(us), 123
            [INSERT-NOT_FOUND], 99thPercentileLatency(us), 123
            [INSERT-NOT_FOUND], 99.9PercentileLatency(us), 123
            [CLEANUP], Operations, 1
            [CLEANUP], AverageLatency(us), 7.0
            [CLEANUP], MinLatency(us), 7
            [CLEANUP], MaxLatency(us), 7
            [CLEANUP], 50thPercentileLatency(us), 7
            [CLEANUP], 99thPercentileLatency(us), 7
            [CLEANUP], 99.9PercentileLatency(us), 7
            [Intended-READ], Operations, 9
            [Intended-READ], AverageLatency(us), 5500.0
            [Intended-READ], MinLatency(us), 1500
            [Intended-READ], MaxLatency(us), 9500
            [Intended-READ], 50thPercentileLatency(us), 5500
            [Intended-READ], 99thPercentileLatency(us), 9500
            [Intended-READ], 99.9PercentileLatency(us), 9500
            [Intended-READ-FAILED], Operations, 1
            [Intended-READ-FAILED], AverageLatency(us), 10500.0
            [Intended-READ-FAILED], MinLatency(us), 10500
            [Intended-READ-FAILED], MaxLatency(us), 10500
            [Intended-READ-FAILED], 50thPercentileLatency(us), 10500
            [Intended-READ-FAILED], 99thPercentileLatency(us), 10500
            [Intended-READ-FAILED], 99.9PercentileLatency(us), 10500
            [Intended-INSERT-NOT_FOUND], Operations, 1
            [Intended-INSERT-NOT_FOUND], AverageLatency(us), 1123.0
            [Intended-INSERT-NOT_FOUND], MinLatency(us), 1123
            [Intended-INSERT-NOT_FOUND], MaxLatency(us), 1123
            [Intended-INSERT-NOT_FOUND], 50thPercentileLatency(us), 1123
            [Intended-INSERT-NOT_FOUND], 99thPercentileLatency(us), 1123
            [Intended-INSERT-NOT_FOUND], 99.9PercentileLatency(us), 1123
            [Intended-CLEANUP], Operations, 1
            [Intended-CLEANUP], AverageLatency(us), 1007.0
            [Intended-CLEANUP], MinLatency(us), 1007
            [Intended-CLEANUP], MaxLatency(us), 1007
            [Intended-CLEANUP], 50thPercentileLatency(us), 1007
            [Intended-CLEANUP], 99thPercentileLatency(us), 1007
            [Intended-CLEANUP], 99.9PercentileLatency(us), 1007
        "#]],
    );
}

#[test]
fn intended_times_alone_take_the_place_of_the_others() {
    check(
        Form::Hdr,
        &output(Interval::Intended),
        expect![[r#"
            [OVERALL], RunTime(ms), 5001
            [OVERALL], Throughput(ops/sec), 2.1995600879824035
            [READ], Operations, 9
            [READ], AverageLatency(us), 5500.0
            [READ], MinLatency(us), 1500
            [READ], MaxLatency(us), 9500
            [READ], 50thPercentileLatency(us), 5500
            [READ], 99thPercentileLatency(us), 9500
            [READ], 99.9PercentileLatency(us), 9500
            [READ], Return=OK, 9
            [READ], Return=ERROR, 1
            [READ-FAILED], Operations, 1
            [READ-FAILED], AverageLatency(us), 10500.0
            [READ-FAILED], MinLatency(us), 10500
            [READ-FAILED], MaxLatency(us), 10500
            [READ-FAILED], 50thPercentileLatency(us), 10500
            [READ-FAILED], 99thPercentileLatency(us), 10500
            [READ-FAILED], 99.9PercentileLatency(us), 10500
            [INSERT], Operations, 0
            [INSERT], Return=NOT_FOUND, 1
            [INSERT-NOT_FOUND], Operations, 1
            [INSERT-NOT_FOUND], AverageLatency(us), 1123.0
            [INSERT-NOT_FOUND], MinLatency(us), 1123
            [INSERT-NOT_FOUND], MaxLatency(us), 1123
            [INSERT-NOT_FOUND], 50thPercentileLatency(us), 1123
            [INSERT-NOT_FOUND], 99thPercentileLatency(us), 1123
            [INSERT-NOT_FOUND], 99.9PercentileLatency(us), 1123
            [CLEANUP], Operations, 1
            [CLEANUP], AverageLatency(us), 1007.0
            [CLEANUP], MinLatency(us), 1007
            [CLEANUP], MaxLatency(us), 1007
            [CLEANUP], 50thPercentileLatency(us), 1007
            [CLEANUP], 99thPercentileLatency(us), 1007
            [CLEANUP], 99.9PercentileLatency(us), 1007
        "#]],
    );
}

#[test]
fn histogram_has_the_variance_and_buckets_of_a_millisecond() {
    let output = Output { has_buckets: true, ..output(Interval::Operation) };
    check(
        Form::Buckets,
        &output,
        expect![[r#"
            [OVERALL], RunTime(ms), 5001
            [OVERALL], Throughput(ops/sec), 2.1995600879824035
            [READ], Operations, 9
            [READ], AverageLatency(us), 4500.0
            [READ], LatencyVariance(us), 6666666.666666668
            [READ], MinLatency(us), 500
            [READ], MaxLatency(us), 8500
            [READ], 95thPercentileLatency(us), 8000
            [READ], 99thPercentileLatency(us), 8000
            [READ], Return=OK, 9
            [READ], Return=ERROR, 1
            [READ], 0, 1
            [READ], 1, 1
            [READ], 2, 1
            [READ], 3, 1
            [READ], 4, 1
            [READ], 5, 1
            [READ], 6, 1
            [READ], 7, 1
            [READ], 8, 1
            [READ], >9, 0
            [READ-FAILED], Operations, 1
            [READ-FAILED], AverageLatency(us), 9500.0
            [READ-FAILED], LatencyVariance(us), 0.0
            [READ-FAILED], MinLatency(us), 9500
            [READ-FAILED], MaxLatency(us), 9500
            [READ-FAILED], 0, 0
            [READ-FAILED], 1, 0
            [READ-FAILED], 2, 0
            [READ-FAILED], 3, 0
            [READ-FAILED], 4, 0
            [READ-FAILED], 5, 0
            [READ-FAILED], 6, 0
            [READ-FAILED], 7, 0
            [READ-FAILED], 8, 0
            [READ-FAILED], >9, 1
            [INSERT], Operations, 0
            [INSERT], Return=NOT_FOUND, 1
            [INSERT], 0, 0
            [INSERT], 1, 0
            [INSERT], 2, 0
            [INSERT], 3, 0
            [INSERT], 4, 0
            [INSERT], 5, 0
            [INSERT], 6, 0
            [INSERT], 7, 0
            [INSERT], 8, 0
            [INSERT], >9, 0
            [INSERT-NOT_FOUND], Operations, 1
            [INSERT-NOT_FOUND], AverageLatency(us), 123.0
            [INSERT-NOT_FOUND], LatencyVariance(us), 0.0
            [INSERT-NOT_FOUND], MinLatency(us), 123
            [INSERT-NOT_FOUND], MaxLatency(us), 123
            [INSERT-NOT_FOUND], 95thPercentileLatency(us), 0
            [INSERT-NOT_FOUND], 99thPercentileLatency(us), 0
            [INSERT-NOT_FOUND], 0, 1
            [INSERT-NOT_FOUND], 1, 0
            [INSERT-NOT_FOUND], 2, 0
            [INSERT-NOT_FOUND], 3, 0
            [INSERT-NOT_FOUND], 4, 0
            [INSERT-NOT_FOUND], 5, 0
            [INSERT-NOT_FOUND], 6, 0
            [INSERT-NOT_FOUND], 7, 0
            [INSERT-NOT_FOUND], 8, 0
            [INSERT-NOT_FOUND], >9, 0
            [CLEANUP], Operations, 1
            [CLEANUP], AverageLatency(us), 7.0
            [CLEANUP], LatencyVariance(us), 0.0
            [CLEANUP], MinLatency(us), 7
            [CLEANUP], MaxLatency(us), 7
            [CLEANUP], 95thPercentileLatency(us), 0
            [CLEANUP], 99thPercentileLatency(us), 0
            [CLEANUP], 0, 1
            [CLEANUP], 1, 0
            [CLEANUP], 2, 0
            [CLEANUP], 3, 0
            [CLEANUP], 4, 0
            [CLEANUP], 5, 0
            [CLEANUP], 6, 0
            [CLEANUP], 7, 0
            [CLEANUP], 8, 0
            [CLEANUP], >9, 0
        "#]],
    );
}

#[test]
fn timeseries_has_the_mean_of_each_interval() {
    check(
        Form::Series,
        &output(Interval::Operation),
        expect![[r#"
            [OVERALL], RunTime(ms), 5001
            [OVERALL], Throughput(ops/sec), 2.1995600879824035
            [READ], Operations, 9
            [READ], AverageLatency(us), 4500.0
            [READ], MinLatency(us), 500
            [READ], MaxLatency(us), 8500
            [READ], 95thPercentileLatency(us), 8500
            [READ], 99thPercentileLatency(us), 8500
            [READ], Return=OK, 9
            [READ], Return=ERROR, 1
            [READ], 0, 1000.0
            [READ], 1000, 3000.0
            [READ], 2000, 5000.0
            [READ], 3000, 7000.0
            [READ], 4000, 8500.0
            [READ-FAILED], Operations, 1
            [READ-FAILED], AverageLatency(us), 9500.0
            [READ-FAILED], MinLatency(us), 9500
            [READ-FAILED], MaxLatency(us), 9500
            [READ-FAILED], 95thPercentileLatency(us), 9500
            [READ-FAILED], 99thPercentileLatency(us), 9500
            [READ-FAILED], 4000, 9500.0
            [INSERT], Operations, 0
            [INSERT], Return=NOT_FOUND, 1
            [INSERT-NOT_FOUND], Operations, 1
            [INSERT-NOT_FOUND], AverageLatency(us), 123.0
            [INSERT-NOT_FOUND], MinLatency(us), 123
            [INSERT-NOT_FOUND], MaxLatency(us), 123
            [INSERT-NOT_FOUND], 95thPercentileLatency(us), 123
            [INSERT-NOT_FOUND], 99thPercentileLatency(us), 123
            [INSERT-NOT_FOUND], 4000, 123.0
            [CLEANUP], Operations, 1
            [CLEANUP], AverageLatency(us), 7.0
            [CLEANUP], MinLatency(us), 7
            [CLEANUP], MaxLatency(us), 7
            [CLEANUP], 95thPercentileLatency(us), 7
            [CLEANUP], 99thPercentileLatency(us), 7
            [CLEANUP], 5000, 7.0
        "#]],
    );
}

#[test]
fn raw_has_a_summary_and_every_operation() {
    let output = output(Interval::Operation);
    check(
        Form::Raw,
        &output,
        expect![[r#"
        [OVERALL], RunTime(ms), 5001
        [OVERALL], Throughput(ops/sec), 2.1995600879824035
        [READ], Total Operations, 9
        [READ], Below is a summary of latency in microseconds:, -1
        [READ], Average, 4500.0
        [READ], Min, 500
        [READ], Max, 8500
        [READ], p1, 500
        [READ], p5, 500
        [READ], p50, 4500
        [READ], p90, 8500
        [READ], p95, 8500
        [READ], p99, 8500
        [READ], p99.9, 8500
        [READ], p99.99, 8500
        [READ], Return=OK, 9
        [READ], Return=ERROR, 1
        [READ-FAILED], Total Operations, 1
        [READ-FAILED], Below is a summary of latency in microseconds:, -1
        [READ-FAILED], Average, 9500.0
        [READ-FAILED], Min, 9500
        [READ-FAILED], Max, 9500
        [READ-FAILED], p1, 9500
        [READ-FAILED], p5, 9500
        [READ-FAILED], p50, 9500
        [READ-FAILED], p90, 9500
        [READ-FAILED], p95, 9500
        [READ-FAILED], p99, 9500
        [READ-FAILED], p99.9, 9500
        [READ-FAILED], p99.99, 9500
        [INSERT], Total Operations, 0
        [INSERT], Return=NOT_FOUND, 1
        [INSERT-NOT_FOUND], Total Operations, 1
        [INSERT-NOT_FOUND], Below is a summary of latency in microseconds:, -1
        [INSERT-NOT_FOUND], Average, 123.0
        [INSERT-NOT_FOUND], Min, 123
        [INSERT-NOT_FOUND], Max, 123
        [INSERT-NOT_FOUND], p1, 123
        [INSERT-NOT_FOUND], p5, 123
        [INSERT-NOT_FOUND], p50, 123
        [INSERT-NOT_FOUND], p90, 123
        [INSERT-NOT_FOUND], p95, 123
        [INSERT-NOT_FOUND], p99, 123
        [INSERT-NOT_FOUND], p99.9, 123
        [INSERT-NOT_FOUND], p99.99, 123
        [CLEANUP], Total Operations, 1
        [CLEANUP], Below is a summary of latency in microseconds:, -1
        [CLEANUP], Average, 7.0
        [CLEANUP], Min, 7
        [CLEANUP], Max, 7
        [CLEANUP], p1, 7
        [CLEANUP], p5, 7
        [CLEANUP], p50, 7
        [CLEANUP], p90, 7
        [CLEANUP], p95, 7
        [CLEANUP], p99, 7
        [CLEANUP], p99.9, 7
        [CLEANUP], p99.99, 7
    "#]],
    );
    let mut rows = Vec::new();
    raw(1_700_000_000_000, &measured(Form::Raw), &output, &mut rows).unwrap();
    expect![[r#"
        READ latency raw data: op, timestamp(ms), latency(us)
        READ,1700000000000,500
        READ,1700000000500,1500
        READ,1700000001000,2500
        READ,1700000001500,3500
        READ,1700000002000,4500
        READ,1700000002500,5500
        READ,1700000003000,6500
        READ,1700000003500,7500
        READ,1700000004000,8500
        READ-FAILED latency raw data: op, timestamp(ms), latency(us)
        READ-FAILED,1700000004500,9500
        INSERT latency raw data: op, timestamp(ms), latency(us)
        INSERT-NOT_FOUND latency raw data: op, timestamp(ms), latency(us)
        INSERT-NOT_FOUND,1700000004999,123
        CLEANUP latency raw data: op, timestamp(ms), latency(us)
        CLEANUP,1700000005000,7
    "#]]
    .assert_eq(&String::from_utf8(rows).unwrap());
    let bare = Output { has_summary: false, ..output };
    let lines = lines(Nanos::SECOND, &measured(Form::Raw), &bare);
    assert!(lines.iter().all(|line| line.name != "Average" && line.name != "p50"));
}

#[test]
fn two_forms_are_printed_one_after_the_other() {
    let output = Output { percentiles: vec![95.0], ..output(Interval::Operation) };
    check(
        Form::HdrAndBuckets,
        &output,
        expect![[r#"
            [OVERALL], RunTime(ms), 5001
            [OVERALL], Throughput(ops/sec), 2.1995600879824035
            [HdrREAD], Operations, 9
            [HdrREAD], AverageLatency(us), 4500.0
            [HdrREAD], MinLatency(us), 500
            [HdrREAD], MaxLatency(us), 8500
            [HdrREAD], 95thPercentileLatency(us), 8500
            [HdrREAD], Return=OK, 9
            [HdrREAD], Return=ERROR, 1
            [BucketREAD], Operations, 9
            [BucketREAD], AverageLatency(us), 4500.0
            [BucketREAD], LatencyVariance(us), 6666666.666666668
            [BucketREAD], MinLatency(us), 500
            [BucketREAD], MaxLatency(us), 8500
            [BucketREAD], 95thPercentileLatency(us), 8000
            [BucketREAD], 99thPercentileLatency(us), 8000
            [HdrREAD-FAILED], Operations, 1
            [HdrREAD-FAILED], AverageLatency(us), 9500.0
            [HdrREAD-FAILED], MinLatency(us), 9500
            [HdrREAD-FAILED], MaxLatency(us), 9500
            [HdrREAD-FAILED], 95thPercentileLatency(us), 9500
            [BucketREAD-FAILED], Operations, 1
            [BucketREAD-FAILED], AverageLatency(us), 9500.0
            [BucketREAD-FAILED], LatencyVariance(us), 0.0
            [BucketREAD-FAILED], MinLatency(us), 9500
            [BucketREAD-FAILED], MaxLatency(us), 9500
            [HdrINSERT], Operations, 0
            [HdrINSERT], Return=NOT_FOUND, 1
            [BucketINSERT], Operations, 0
            [HdrINSERT-NOT_FOUND], Operations, 1
            [HdrINSERT-NOT_FOUND], AverageLatency(us), 123.0
            [HdrINSERT-NOT_FOUND], MinLatency(us), 123
            [HdrINSERT-NOT_FOUND], MaxLatency(us), 123
            [HdrINSERT-NOT_FOUND], 95thPercentileLatency(us), 123
            [BucketINSERT-NOT_FOUND], Operations, 1
            [BucketINSERT-NOT_FOUND], AverageLatency(us), 123.0
            [BucketINSERT-NOT_FOUND], LatencyVariance(us), 0.0
            [BucketINSERT-NOT_FOUND], MinLatency(us), 123
            [BucketINSERT-NOT_FOUND], MaxLatency(us), 123
            [BucketINSERT-NOT_FOUND], 95thPercentileLatency(us), 0
            [BucketINSERT-NOT_FOUND], 99thPercentileLatency(us), 0
            [HdrCLEANUP], Operations, 1
            [HdrCLEANUP], AverageLatency(us), 7.0
            [HdrCLEANUP], MinLatency(us), 7
            [HdrCLEANUP], MaxLatency(us), 7
            [HdrCLEANUP], 95thPercentileLatency(us), 7
            [BucketCLEANUP], Operations, 1
            [BucketCLEANUP], AverageLatency(us), 7.0
            [BucketCLEANUP], LatencyVariance(us), 0.0
            [BucketCLEANUP], MinLatency(us), 7
            [BucketCLEANUP], MaxLatency(us), 7
            [BucketCLEANUP], 95thPercentileLatency(us), 0
            [BucketCLEANUP], 99thPercentileLatency(us), 0
        "#]],
    );
    check(
        Form::HdrAndRaw,
        &output,
        expect![[r#"
            [OVERALL], RunTime(ms), 5001
            [OVERALL], Throughput(ops/sec), 2.1995600879824035
            [HdrREAD], Operations, 9
            [HdrREAD], AverageLatency(us), 4500.0
            [HdrREAD], MinLatency(us), 500
            [HdrREAD], MaxLatency(us), 8500
            [HdrREAD], 95thPercentileLatency(us), 8500
            [HdrREAD], Return=OK, 9
            [HdrREAD], Return=ERROR, 1
            [RawREAD], Total Operations, 9
            [RawREAD], Below is a summary of latency in microseconds:, -1
            [RawREAD], Average, 4500.0
            [RawREAD], Min, 500
            [RawREAD], Max, 8500
            [RawREAD], p1, 500
            [RawREAD], p5, 500
            [RawREAD], p50, 4500
            [RawREAD], p90, 8500
            [RawREAD], p95, 8500
            [RawREAD], p99, 8500
            [RawREAD], p99.9, 8500
            [RawREAD], p99.99, 8500
            [HdrREAD-FAILED], Operations, 1
            [HdrREAD-FAILED], AverageLatency(us), 9500.0
            [HdrREAD-FAILED], MinLatency(us), 9500
            [HdrREAD-FAILED], MaxLatency(us), 9500
            [HdrREAD-FAILED], 95thPercentileLatency(us), 9500
            [RawREAD-FAILED], Total Operations, 1
            [RawREAD-FAILED], Below is a summary of latency in microseconds:, -1
            [RawREAD-FAILED], Average, 9500.0
            [RawREAD-FAILED], Min, 9500
            [RawREAD-FAILED], Max, 9500
            [RawREAD-FAILED], p1, 9500
            [RawREAD-FAILED], p5, 9500
            [RawREAD-FAILED], p50, 9500
            [RawREAD-FAILED], p90, 9500
            [RawREAD-FAILED], p95, 9500
            [RawREAD-FAILED], p99, 9500
            [RawREAD-FAILED], p99.9, 9500
            [RawREAD-FAILED], p99.99, 9500
            [HdrINSERT], Operations, 0
            [HdrINSERT], Return=NOT_FOUND, 1
            [RawINSERT], Total Operations, 0
            [HdrINSERT-NOT_FOUND], Operations, 1
            [HdrINSERT-NOT_FOUND], AverageLatency(us), 123.0
            [HdrINSERT-NOT_FOUND], MinLatency(us), 123
            [HdrINSERT-NOT_FOUND], MaxLatency(us), 123
            [HdrINSERT-NOT_FOUND], 95thPercentileLatency(us), 123
            [RawINSERT-NOT_FOUND], Total Operations, 1
            [RawINSERT-NOT_FOUND], Below is a summary of latency in microseconds:, -1
            [RawINSERT-NOT_FOUND], Average, 123.0
            [RawINSERT-NOT_FOUND], Min, 123
            [RawINSERT-NOT_FOUND], Max, 123
            [RawINSERT-NOT_FOUND], p1, 123
            [RawINSERT-NOT_FOUND], p5, 123
            [RawINSERT-NOT_FOUND], p50, 123
            [RawINSERT-NOT_FOUND], p90, 123
            [RawINSERT-NOT_FOUND], p95, 123
            [RawINSERT-NOT_FOUND], p99, 123
            [RawINSERT-NOT_FOUND], p99.9, 123
            [RawINSERT-NOT_FOUND], p99.99, 123
            [HdrCLEANUP], Operations, 1
            [HdrCLEANUP], AverageLatency(us), 7.0
            [HdrCLEANUP], MinLatency(us), 7
            [HdrCLEANUP], MaxLatency(us), 7
            [HdrCLEANUP], 95thPercentileLatency(us), 7
            [RawCLEANUP], Total Operations, 1
            [RawCLEANUP], Below is a summary of latency in microseconds:, -1
            [RawCLEANUP], Average, 7.0
            [RawCLEANUP], Min, 7
            [RawCLEANUP], Max, 7
            [RawCLEANUP], p1, 7
            [RawCLEANUP], p5, 7
            [RawCLEANUP], p50, 7
            [RawCLEANUP], p90, 7
            [RawCLEANUP], p95, 7
            [RawCLEANUP], p99, 7
            [RawCLEANUP], p99.9, 7
            [RawCLEANUP], p99.99, 7
        "#]],
    );
}

#[test]
fn json_and_json_arrays_have_the_bytes_of_the_original() {
    let few = [
        Line {
            metric: "OVERALL".to_owned(),
            name: "RunTime(ms)".to_owned(),
            value: Number::Whole(5001),
        },
        Line {
            metric: "READ".to_owned(),
            name: "AverageLatency(us)".to_owned(),
            value: Number::Decimal(4.0),
        },
    ];
    expect![[r#"
        {
          "metric" : "OVERALL",
          "measurement" : "RunTime(ms)",
          "value" : 5001
        } {
          "metric" : "READ",
          "measurement" : "AverageLatency(us)",
          "value" : 4.0
        }
    "#]]
    .assert_eq(&Exporter::Json.text(&few));
    expect![[r#"
        [ {
          "metric" : "OVERALL",
          "measurement" : "RunTime(ms)",
          "value" : 5001
        }, {
          "metric" : "READ",
          "measurement" : "AverageLatency(us)",
          "value" : 4.0
        } ]
    "#]]
    .assert_eq(&Exporter::JsonArray.text(&few));
}

#[test]
fn decimals_have_a_point_and_no_exponent() {
    for (number, text) in [
        (0.0, "0.0"),
        (4.0, "4.0"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (1e21, "1000000000000000000000.0"),
        (-2.5, "-2.5"),
        (1.0 / 3.0, "0.3333333333333333"),
    ] {
        assert_eq!(shown(Number::Decimal(number)), text);
    }
}

#[test]
fn percentiles_have_ordinals() {
    let ordinals =
        [1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 21.0, 50.0, 93.0, 100.0, 99.9].map(ordinal);
    assert_eq!(ordinals.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 50th 93rd 100th 99.9");
}

#[test]
fn histograms_for_files_are_in_microseconds() {
    let histograms = histograms(&measured(Form::HdrAndRaw), &output(Interval::Both));
    let names: Vec<_> = histograms.iter().map(|(name, _)| &**name).collect();
    assert_eq!(
        names.join(" "),
        "HdrREAD HdrREAD-FAILED HdrINSERT HdrINSERT-NOT_FOUND HdrCLEANUP HdrIntended-READ \
         HdrIntended-READ-FAILED HdrIntended-INSERT-NOT_FOUND HdrIntended-CLEANUP"
    );
    // The longest was 8500 µs, which three digits cannot tell from 8503.
    let read = &histograms[0].1;
    assert_eq!((read.count(), read.min(), read.max()), (9, Some(Nanos(500)), Some(Nanos(8503))));
    assert!(super::histograms(&measured(Form::Raw), &output(Interval::Both)).is_empty());
}
