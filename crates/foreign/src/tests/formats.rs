//! The figures of each sample.

use super::*;

#[test]
fn the_summary_and_the_lines_of_k6() {
    check(
        "k6",
        &expect![[r#"
            k6 of k6: since Sent, loop ?
              requests 12000 failed 24 unanswered – not sent – in 30.0375 s at 399.5/s of –/s
              times of 12000: mean 14200000 p50 9500000 p90 31500000 p99 – p99.9 – max 812400000; statuses {}
              LoopUnknown FailuresAmongTimes OnlyQuantiles GeneratorUnknown OfTool OfTool
            k6 of k6: since Sent, loop Open
              requests 4850 failed – unanswered – not sent 150 in 10.0 s at 485.0/s of –/s
              times of 4850: mean 205500000 p50 120000000 p90 – p99 1500500000 p99.9 1900000000 max 2010750000; statuses {}
              FromSending NotSent OnlyQuantiles FewRequests GeneratorUnknown OfTool
            k6 of k6: since Sent, loop ?
              requests 900 failed 9 unanswered – not sent – in 20.0 s at 45.0/s of –/s
              times of 900: mean 150500000 p50 120000000 p90 210000000 p99 – p99.9 – max 450000000; statuses {}
              LoopUnknown FailuresAmongTimes OnlyQuantiles GeneratorUnknown OfTool OfTool
            k6-json of k6: since Sent, loop Open
              requests 3 failed 2 unanswered 1 not sent 3 in 1.9997 s at 1.0/s of –/s
              times of 3: mean 7416666 p50 9756671 p90 12500991 p99 12500991 p99.9 12500991 max 12500991; statuses {"200": 1, "503": 1}
              Failing FromSending NotSent FailuresAmongTimes FewRequests GeneratorUnknown
        "#]],
    );
}

#[test]
fn the_results_and_the_report_of_vegeta() {
    check(
        "vegeta",
        &expect![[r#"
            vegeta-json of vegeta: since Sent, loop ?
              requests 3 failed 2 unanswered 1 not sent – in 2.0 s at 1.0/s of –/s
              times of 3: mean 335333333 p50 4001791 p90 1000341503 p99 1000341503 p99.9 1000341503 max 1000341503; statuses {"200": 1, "503": 1}
              Failing LoopUnknown FailuresAmongTimes FewRequests GeneratorUnknown OfTool
            vegeta-csv of vegeta: since Sent, loop ?
              requests 3 failed 2 unanswered 1 not sent – in 2.0 s at 1.0/s of –/s
              times of 3: mean 335333333 p50 4001791 p90 1000341503 p99 1000341503 p99.9 1000341503 max 1000341503; statuses {"200": 1, "503": 1}
              Failing LoopUnknown FailuresAmongTimes FewRequests GeneratorUnknown OfTool
            vegeta of vegeta: since Sent, loop ?
              requests 5000 failed 10 unanswered 2 not sent – in 10.0 s at 499.8/s of –/s
              times of 5000: mean 6100000 p50 4000000 p90 9000000 p99 41000000 p99.9 – max 2010000000; statuses {"200": 4990, "503": 8}
              LoopUnknown FailuresAmongTimes OnlyQuantiles GeneratorUnknown OfTool OfTool OfTool
        "#]],
    );
}

#[test]
fn the_json_of_oha() {
    check(
        "oha",
        &expect![[r#"
            oha of oha: since ?, loop ?
              requests 16005 failed 15 unanswered 5 not sent – in 5.0 s at 3200.0/s of –/s
              times of 16000: mean 3100000 p50 2700000 p90 5200000 p99 12100000 p99.9 82000000 max 250000000; statuses {"200": 15990, "500": 10}
              LoopUnknown SinceUnknown LeftOut LeftOut FailuresAmongTimes OnlyQuantiles GeneratorUnknown OfTool
            oha-csv of oha: since ?, loop ?
              requests 3 failed 1 unanswered – not sent – in 1.998 s at 1.502/s of –/s
              times of 3: mean 44666666 p50 31014911 p90 100007935 p99 100007935 p99.9 100007935 max 100007935; statuses {"200": 2, "503": 1}
              Failing LoopUnknown SinceUnknown LeftOut FailuresAmongTimes FewRequests GeneratorUnknown OfTool
        "#]],
    );
}

#[test]
fn the_json_of_fortio() {
    check(
        "fortio",
        &expect![[r#"
        fortio of fortio 1.60.3: since Sent, loop Open
          requests 2703 failed 3 unanswered 0 not sent – in 3.0017 s at 900.5/s of 1000.0/s
          times of 2703: mean 350000 p50 300000 p90 – p99 1200000 p99.9 1600000 max 1700000; statuses {"200": 2700, "503": 3}
          FromSending Behind FailuresAmongTimes OnlyQuantiles FewRequests GeneratorUnknown OfTool OfTool
    "#]],
    );
}

#[test]
fn the_json_of_ghz_with_and_without_its_calls() {
    check(
        "ghz",
        &expect![[r#"
            ghz of ghz: since Sent, loop Closed
              requests 4 failed 1 unanswered – not sent – in 2.0 s at 2.0/s of –/s
              times of 4: mean 2500000 p50 2000895 p90 4001791 p99 4001791 p99.9 4001791 max 4001791; statuses {"OK": 3, "Unavailable": 1}
              Failing ClosedLoop FailuresAmongTimes FewRequests GeneratorUnknown OfTool
            ghz of ghz: since Sent, loop Open
              requests 400 failed 0 unanswered – not sent – in 10.0 s at 40.0/s of 50.0/s
              times of 400: mean 2500000 p50 2000000 p90 – p99 3000000 p99.9 – max 4000000; statuses {"OK": 400}
              FromSending Behind OnlyQuantiles FewRequests GeneratorUnknown OfTool OfTool
        "#]],
    );
}

#[test]
fn the_text_of_wrk() {
    check(
        "wrk",
        &expect![[r#"
            wrk of wrk: since Sent, loop Closed
              requests 281339 failed 9 unanswered 2 not sent – in 10.001 s at 28131.02/s of –/s
              times of 281306: mean 1120000 p50 1050000 p90 1800000 p99 3100000 p99.9 – max 9870000; statuses {}
              ClosedLoop LeftOut LeftOut FailuresAmongTimes OnlyQuantiles GeneratorUnknown OfTool
        "#]],
    );
}

#[test]
fn the_text_of_wrk2() {
    check(
        "wrk2",
        &expect![[r#"
            wrk2 of wrk2: since Intended, loop Open
              requests 20020 failed 0 unanswered 0 not sent – in 19.9996 s at 1001.02/s of –/s
              times of 9980: mean 1120000 p50 1050000 p90 1800000 p99 3100000 p99.9 6200000 max 9870000; statuses {}
              OnlyQuantiles FewRequests GeneratorUnknown OfTool
        "#]],
    );
}

#[test]
fn the_text_and_the_table_of_hey() {
    check(
        "hey",
        &expect![[r#"
            hey of hey: since Sent, loop Closed
              requests 6447 failed 5 unanswered 3 not sent – in 10.0435 s at 641.609/s of –/s
              times of 6444: mean 31100000 p50 26000000 p90 61300000 p99 107700000 p99.9 – max 185700000; statuses {"200": 6442, "404": 2}
              ClosedLoop LeftOut FailuresAmongTimes OnlyQuantiles GeneratorUnknown
            hey-csv of hey: since Sent, loop Closed
              requests 3 failed 1 unanswered – not sent – in 2.0 s at 1.5/s of –/s
              times of 3: mean 51666666 p50 30015487 p90 100007935 p99 100007935 p99.9 100007935 max 100007935; statuses {"200": 2, "500": 1}
              Failing ClosedLoop LeftOut FailuresAmongTimes FewRequests GeneratorUnknown OfTool
        "#]],
    );
}

#[test]
fn both_tables_of_locust() {
    check(
        "locust",
        &expect![[r#"
        locust of Locust: since Sent, loop Closed
          requests 1000 failed 4 unanswered – not sent – in 30.03 s at 33.3/s of –/s
          times of 1000: mean 16500000 p50 13000000 p90 33000000 p99 180000000 p99.9 700000000 max 1200000000; statuses {}
          ClosedLoop FailuresAmongTimes OnlyQuantiles FewRequests CoarseTimes GeneratorUnknown OfTool
        locust-history of Locust: since Sent, loop Closed
          requests 330 failed 1 unanswered – not sent – in 10.0 s at 33.0/s of –/s
          times of 330: mean 16500000 p50 13000000 p90 – p99 – p99.9 – max 1200000000; statuses {}
          ClosedLoop FailuresAmongTimes OnlyQuantiles OnlyQuantiles CoarseTimes GeneratorUnknown OfTool
    "#]],
    );
}

#[test]
fn the_results_of_jmeter() {
    check(
        "jmeter",
        &expect![[r#"
            jmeter of JMeter: since Sent, loop ?
              requests 3 failed 2 unanswered 1 not sent – in 3.0 s at 0.667/s of –/s
              times of 3: mean 685333333 p50 35028991 p90 2000683007 p99 2000683007 p99.9 2000683007 max 2000683007; statuses {"200": 1, "500": 1}
              Failing LoopUnknown FailuresAmongTimes FewRequests GeneratorUnknown OfTool OfTool
        "#]],
    );
}

#[test]
fn the_log_of_gatling() {
    check(
        "gatling",
        &expect![[r#"
            gatling of Gatling 3.9.5: since Sent, loop ?
              requests 3 failed 1 unanswered – not sent – in 0.994 s at 3.018/s of –/s
              times of 3: mean 20000000 p50 21004287 p90 35028991 p99 35028991 p99.9 35028991 max 35028991; statuses {}
              Failing LoopUnknown FailuresAmongTimes FewRequests GeneratorUnknown OfTool
        "#]],
    );
}

#[test]
fn a_table_of_percentiles() {
    check(
        "hgrm",
        &expect![[r#"
        hgrm of HdrHistogram: since ?, loop ?
          requests 1000 failed – unanswered – not sent – in – s at –/s of –/s
          times of 1000: mean 2350000 p50 2100000 p90 – p99 7300000 p99.9 – max 9875000; statuses {}
          LoopUnknown SinceUnknown OnlyQuantiles RateUnknown GeneratorUnknown
    "#]],
    );
}

#[test]
fn a_log_of_histograms() {
    check(
        "hlog",
        &expect![[r#"
        hlog of HdrHistogram: since ?, loop ?
          requests 400 failed – unanswered – not sent – in 2.0 s at 200.0/s of –/s
          times of 400: mean 1005345 p50 1000447 p90 1800191 p99 1980415 p99.9 2000895 max 2000895; statuses {}
          LoopUnknown SinceUnknown FewRequests GeneratorUnknown
    "#]],
    );
}

#[test]
fn a_table_of_times() {
    check(
        "csv",
        &expect![[r#"
        csv of unknown: since ?, loop ?
          requests 3 failed – unanswered – not sent – in – s at –/s of –/s
          times of 3: mean 2666666 p50 2500607 p90 4001791 p99 4001791 p99.9 4001791 max 4001791; statuses {}
          LoopUnknown SinceUnknown FewRequests RateUnknown GeneratorUnknown OfTool
    "#]],
    );
}

#[test]
fn the_document_of_a_load() {
    check(
        "load",
        &expect![[r#"
        load of benchwright 0.1.0: since Intended, loop Open
          requests 1000 failed 0 unanswered 0 not sent – in 10.0 s at 100.0/s of 100.0/s
          times of 1000: mean 500500 p50 500223 p90 900095 p99 990207 p99.9 999423 max 1000447; statuses {}
          FewRequests
    "#]],
    );
}

#[test]
fn a_log_with_histograms_of_several_kinds_asks_which() {
    let unit = Some(Unit::Nanoseconds);
    let read_log = |tag: Option<&str>, unit| {
        let asked = Asked { unit, tag: tag.map(str::to_owned), ..Asked::default() };
        shown(&read_bytes(log().as_bytes(), &asked))
    };
    let errors =
        [read_log(None, unit), read_log(Some("x"), unit), read_log(Some("response"), None)];
    expect![[r#"
        error: it has histograms of several kinds, which do not belong together: name one by --tag, of `response`, `service`
        error: it has no values; its tags are `response`, `service`
        error: its values have no unit: say it by --unit (ns as a rule, and in logs of `benchwright load --hlog`; us in wrk2's own histograms; ms)
    "#]].assert_eq(&errors.concat());
}

#[test]
fn the_unit_of_a_log_scales_its_values() {
    let p50 = |unit| {
        let asked =
            Asked { unit: Some(unit), tag: Some("response".to_owned()), ..Asked::default() };
        read_bytes(log().as_bytes(), &asked).unwrap().facts.quantile_ns(measure::Quantile::P50)
    };
    let (ns, us) = (p50(Unit::Nanoseconds).unwrap(), p50(Unit::Microseconds).unwrap());
    assert!(us.abs_diff(ns * 1_000) < ns, "{ns} {us}");
}

#[test]
fn a_table_of_times_asks_for_what_it_does_not_say() {
    let read_csv = |text: &str, rows: bool, unit, column: Option<&str>| {
        let asked = Asked {
            format: Some(format("csv").unwrap()),
            rows_are_requests: rows,
            unit,
            column: column.map(str::to_owned),
            ..Asked::default()
        };
        shown(&read_bytes(text.as_bytes(), &asked)).lines().next().unwrap().to_owned() + "\n"
    };
    let (table, ms) = ("a,b\n1,2\n3,4\n", Some(Unit::Milliseconds));
    let all = [
        read_csv(table, false, ms, Some("b")),
        read_csv(table, true, None, Some("b")),
        read_csv(table, true, ms, None),
        read_csv(table, true, ms, Some("c")),
        read_csv("1,2\n", true, ms, Some("b")),
        read_csv("1,2\n3,x\n5,6\n", true, ms, Some("2")),
        read_csv(table, true, ms, Some("2")),
        read_csv("1.5\n2.5\n", true, ms, None),
    ];
    expect![[r#"
        error: say what a row is: --rows requests if it has the time of one request; figures of whole trials are analysed with --by and --metrics
        error: say the unit of its times: --unit ns, us, ms or s
        error: say which column has the times: --column NAME, or its number from 1
        error: it has no column `c`; columns here: a, b
        error: its columns have no names: --column takes their numbers, 1 to 2
        error: line 2: `x` is not a time; rows without one cannot be left out
        csv of unknown: since ?, loop ?
        csv of unknown: since ?, loop ?
    "#]].assert_eq(&all.concat());
}
