//! Shapes that other versions and options of the tools write.

use measure::Quantile;
use results::foreign::Code;

use super::*;

fn milliseconds(found: &Foreign, level: Quantile) -> Option<f64> {
    found.facts.quantile_ns(level).map(|ns| (ns as f64 / 1e6).round())
}

fn says(found: &Foreign, code: Code, words: &str) -> bool {
    found.limits.iter().any(|limit| limit.code == code && limit.text.contains(words))
}

fn seconds(found: &Foreign) -> Option<f64> {
    found.facts.measured_s.map(|s| (s * 1e3).round() / 1e3)
}

#[test]
fn the_older_report_and_the_older_table_of_vegeta() {
    let report = include_str!("samples/vegeta-report.json");
    let older = read_text(&report.replace("\"throughput\":499,", "")).unwrap();
    assert_eq!((older.format.as_str(), older.facts), ("vegeta", read_text(report).unwrap().facts));
    let table = "1764000000000000000,200,2000000,0,12,\"\"\n1764000000500000000,0,4000000,0,0,\"refused\"\n";
    let found = read_text(table).unwrap();
    assert_eq!((found.format.as_str(), found.facts.requests), ("vegeta-csv", Some(2)));
    assert_eq!((found.facts.unanswered, found.facts.labels.len()), (Some(1), 0));
    let not_computed = read_text(&report.replace("\"mean\":6100000", "\"mean\":0")).unwrap_err();
    assert!(not_computed.starts_with("its percentiles were not computed: "), "{not_computed}");
}

#[test]
fn a_table_of_percentiles_below_a_comment_or_with_its_own_unit() {
    let table = include_str!("samples/table.hgrm");
    let asked = Asked { unit: Some(Unit::Milliseconds), ..Asked::default() };
    let read = |text: &str, asked: &Asked| read_bytes(text.as_bytes(), asked);
    let plain = read(table, &asked).unwrap();
    let below =
        format!("#[Overall percentile distribution between 0.000 and 9.000 seconds]\n{table}");
    assert_eq!(read(&below, &asked).as_ref(), Ok(&plain));
    // As in a document: the footer is not a row.
    let indented: String = table.lines().map(|line| format!("    {line}\n")).collect();
    assert_eq!(read(&indented, &asked).as_ref(), Ok(&plain));
    let plot = "Value(ms)  Percentile  TotalCount  1/(1-Percentile)\n0.500000  0.000000  0  1.000000\n\
                2.000000  0.500000  500  2.000000\n12.500000  1.000000  1000  10000000.000000\n";
    let facts = read_text(plot).unwrap().facts;
    assert_eq!((facts.count(), facts.max()), (Some(1_000), Some(Nanos::from_micros(12_500))));
    assert_eq!(facts.quantile_ns(Quantile::P50), Some(2_000_000));
    let asked = Asked { unit: Some(Unit::Seconds), ..Asked::default() };
    assert_eq!(
        read(plot, &asked).unwrap_err(),
        "its header says that its values are in ms: leave out --unit"
    );
}

#[test]
fn a_log_of_histograms_below_any_comment_and_without_tags() {
    let of = |tag: &str| Asked {
        unit: Some(Unit::Nanoseconds),
        tag: Some(tag.to_owned()),
        ..Asked::default()
    };
    let commented = format!("#Logging op latencies for Cassandra Stress\n{}", log());
    let plain = read_bytes(log().as_bytes(), &of("response")).unwrap();
    assert_eq!(read_bytes(commented.as_bytes(), &of("response")).as_ref(), Ok(&plain));
    let mixed = log().replace("Tag=service,", "");
    let any = Asked { unit: Some(Unit::Nanoseconds), ..Asked::default() };
    let refused = read_bytes(mixed.as_bytes(), &any).unwrap_err();
    assert!(refused.ends_with("of `` (those without a tag), `response`"), "{refused}");
    assert_eq!(read_bytes(mixed.as_bytes(), &of("")).unwrap().facts.count(), Some(200));
}

#[test]
fn the_wrk2_of_deathstarbench_has_the_p99_in_place_of_the_maximum_and_counts_from_sending() {
    let text = include_str!("samples/wrk2.txt")
        .replace("Stdev     Max   +/-", "Stdev     99%   +/-")
        .replace("510.33us   9.87ms", "510.33us   3.10ms");
    let found = read_text(&text).unwrap();
    assert_eq!((found.facts.since, found.facts.pacing), (Some(Since::Sent), Some(Loop::Open)));
    assert_eq!(found.facts.max(), Some(Nanos::from_micros(9_870)));
    assert!(says(&found, Code::OfTool, "DeathStarBench") && says(&found, Code::FromSending, ""));
    assert!(!says(&found, Code::Contradiction, ""), "{found:?}");
}

#[test]
fn the_second_histogram_of_wrk2_and_its_indentation_change_nothing() {
    let text = include_str!("samples/wrk2.txt");
    let uncorrected = "\n  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed \
                       starts into account))\n 50.000%    0.50ms\n\n  Detailed Percentile spectrum:\n       Value   \
                       Percentile   TotalCount 1/(1-Percentile)\n\n       0.600     0.985000         9000        \
                       66.67\n#[Max     =        0.700, Total count    =         9000]\n";
    let both = text.replace("  20020 requests", &format!("{uncorrected}  20020 requests"));
    let plain = read_text(text).unwrap();
    assert_eq!(read_text(&both).as_ref(), Ok(&plain));
    let indented: String = both.lines().map(|line| format!("    {line}\n")).collect();
    assert_eq!(read_text(&indented).as_ref(), Ok(&plain));
    // Each answer was one of its calibration: zeros are not times.
    let calibrating =
        text.replace("Total count    =         9980", "Total count    =            0");
    let facts = read_text(&calibrating).unwrap().facts;
    assert_eq!((facts.requests, facts.times), (Some(20_020), None));
}

#[test]
fn the_texts_of_several_runs_are_refused() {
    let texts = [
        ("wrk", include_str!("samples/wrk.txt")),
        ("wrk2", include_str!("samples/wrk2.txt")),
        ("hey", include_str!("samples/hey.txt")),
    ];
    for (tool, text) in texts {
        assert_eq!(
            read_text(&text.repeat(2)).unwrap_err(),
            format!(
                "it has the texts of 2 runs of {tool}: write each of them into a file of its own"
            )
        );
    }
    // What a script prints is not a run.
    let text = format!("Sent all requests in 5 s\n{}", include_str!("samples/wrk.txt"));
    assert_eq!(read_text(&text).unwrap().facts.requests, Some(281_339));
}

#[test]
fn hey_keeps_the_statuses_of_its_first_million_and_has_no_times_of_errors() {
    let text = include_str!("samples/hey.txt")
        .replace("[200]\t6442", "[200]\t999998")
        .replace("641.6073", "400000.0000");
    let found = read_text(&text).unwrap();
    let facts = &found.facts;
    assert_eq!((facts.requests, facts.count()), (Some(4_017_400), Some(1_000_000)));
    assert_eq!(facts.completed_per_s.map(f64::round), Some(400_000.0));
    assert!(facts.mean().is_none() && says(&found, Code::LeftOut, "counted about 4,017,397: "));
    let text = "Summary:\n  Total:\t2.0000 secs\n  Slowest:\t0.0000 secs\n  Fastest:\t0.0000 secs\n  Average:\tNaN \
                secs\n  Requests/sec:\t5.0000\n\nStatus code distribution:\n\nError distribution:\n  [10]\tdial: \
                refused\n";
    let facts = read_text(text).unwrap().facts;
    assert_eq!((facts.requests, facts.unanswered, facts.times), (Some(10), Some(10), None));
    let older = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read\n0.0250,0,0,0,0.0240,0\n";
    let facts = read_text(older).unwrap().facts;
    assert_eq!((facts.requests, facts.failed), (Some(1), None));
}

#[test]
fn the_codes_of_fortio_are_those_of_its_protocol_and_version() {
    let text = include_str!("samples/fortio.json");
    let of = |kind: &str, codes: &str| {
        let text = text.replace("\"RunType\": \"HTTP\"", &format!("\"RunType\": \"{kind}\""));
        let facts = read_text(&text.replace(r#"{"200": 2700, "503": 3}"#, codes)).unwrap().facts;
        (facts.requests, facts.failed, facts.unanswered)
    };
    let codes = r#"{"1": 2700, "2": 2, "-1": 1}"#;
    assert_eq!(of("GRPC Ping", codes), (Some(2_703), Some(3), Some(1)));
    let codes = r#"{"SERVING": 2700, "NOT_SERVING": 2, "ERROR": 1}"#;
    assert_eq!(of("GRPC Health for ''", codes), (Some(2_703), Some(3), Some(1)));
    // It does not follow redirections, and counts them as errors.
    assert_eq!(of("HTTP", r#"{"200": 2700, "302": 3}"#), (Some(2_703), Some(3), Some(0)));
    let failed = text
        .replace("\"RunType\"", "\"error\": true, \"RunType\"")
        .replace(r#"{"200": 2700, "503": 3}"#, "null");
    assert_eq!(
        read_text(&failed).unwrap_err(),
        "fortio says that this run failed before its first request"
    );
}

#[test]
fn the_rate_of_ghz_has_an_older_name_and_may_be_a_schedule() {
    let text = include_str!("samples/ghz-short.json");
    let of = |options: &str| {
        let facts = read_text(&text.replace("\"rps\": 50", options)).unwrap().facts;
        (facts.pacing, facts.asked_per_s)
    };
    assert_eq!(of("\"qps\": 50"), (Some(Loop::Open), Some(50.0)));
    assert_eq!(of("\"load-schedule\": \"step\", \"load-start\": 5"), (Some(Loop::Open), None));
    assert_eq!(of("\"load-schedule\": \"const\""), (Some(Loop::Closed), None));
    let many = text
        .replace("\"count\": 400", "\"count\": 4000000")
        .replace("\"OK\": 400", "\"OK\": 4000000");
    let found = read_text(&many).unwrap();
    assert_eq!(found.facts.count(), Some(1_000_000));
    assert!(says(&found, Code::LeftOut, "first 1,000,000 calls, and counted 4,000,000"));
}

#[test]
fn the_files_of_older_versions_of_locust() {
    let header = "\"Name\",\"# requests\",\"# failures\",\"Median response time\",\"Average response time\",\
                  \"Min response time\",\"Max response time\",\"Average Content Size\",\"Requests/s\"";
    let row = |name: &str| format!("{name},90,10,12,15,3,310,120,9.00\n");
    let found = read_text(&format!(
        "\"Method\",{header}\n{}{}",
        row("\"GET\",\"/a\""),
        row("\"None\",\"Total\"")
    ))
    .unwrap();
    let facts = &found.facts;
    assert_eq!(
        (found.format.as_str(), facts.requests, facts.failed),
        ("locust", Some(100), Some(10))
    );
    assert_eq!((facts.count(), seconds(&found)), (Some(90), Some(10.0)));
    assert_eq!(milliseconds(&found, Quantile::P50), Some(12.0));
    assert_eq!(facts.labels["GET /a"].requests, Some(100));
    assert!(says(&found, Code::LeftOut, "10 of 100 requests failed, and have no time here"));
    // From 0.12 on failures are among the requests.
    let newer = format!("\"Type\",{header}\n{}", row("\"None\",\"Aggregated\""));
    assert_eq!(read_text(&newer).unwrap().facts.requests, Some(90));
    let found = read_text(
        "\"Name\",\"# requests\",\"50%\",\"99%\",\"100%\"\n\"GET /a\",90,12,200,310\n\"None Total\",90,12,200,310\n",
    )
    .unwrap();
    assert_eq!((found.facts.requests, found.facts.count()), (None, Some(90)));
    assert_eq!(milliseconds(&found, Quantile::P99), Some(200.0));
}

#[test]
fn the_course_of_locust_is_as_long_as_its_run() {
    let older = "\"Type\",\"Name\",\"Timestamp\",\"# requests\",\"# failures\",\"Median response time\"\n\
                 \"None\",\"Aggregated\",\"1764000000\",0,0,0\n\"None\",\"Aggregated\",\"1764000010\",100,1,12\n";
    let found = read_text(older).unwrap();
    assert_eq!((found.format.as_str(), found.facts.requests), ("locust-history", Some(100)));
    assert_eq!((seconds(&found), milliseconds(&found, Quantile::P50)), (Some(10.0), Some(12.0)));
    // The server waits before and after the run; of two runs the second one counts.
    let of = |rows: &[(u64, u64, u64)]| {
        let mut text =
            "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count\n".to_owned();
        for (second, users, requests) in rows {
            let _ = writeln!(text, "{},{users},,Aggregated,{requests},0", 1_764_000_000 + second);
        }
        seconds(&read_text(&text).unwrap())
    };
    let run = [(0, 0, 0), (100, 0, 0), (110, 10, 50), (120, 10, 100), (200, 0, 100)];
    assert_eq!(of(&run), Some(20.0));
    let again = [(210, 10, 10), (240, 10, 70)];
    assert_eq!(of(&[&run[..], &again].concat()), Some(30.0));
}

#[test]
fn jmeter_writes_dates_and_other_delimiters() {
    let of = |text: &str| {
        let found = read_text(text).unwrap();
        (found.facts.requests, seconds(&found))
    };
    let bars = "timeStamp|elapsed|label|responseCode|success\n2026/11/24 10:12:00.000|20|home|200|true\n\
                2026/11/24 10:12:01.500|500|home|200|true\n";
    assert_eq!(of(bars), (Some(2), Some(2.0)));
    let months = "timeStamp;elapsed;label;success\n11/24/26 10:12:00;0;home;true\n11/24/26 10:12:03;1000;home;true\n";
    assert_eq!(of(months), (Some(2), Some(4.0)));
    let times = "timeStamp;elapsed;label;success\n10:12:00;5;home;true\n10:12:03;5;home;true\n";
    assert_eq!(of(times), (Some(2), None));
    let few = read_text("label,elapsed,success\nhome,5,false\n").unwrap().facts;
    assert_eq!((few.requests, few.failed, few.unanswered), (Some(1), Some(1), None));
}

#[test]
fn jmeters_rows_without_names_and_rows_of_several_requests() {
    let nameless =
        read_text("1764000000000,21,home,200,OK,users 1-1,text,true,512,20\n").unwrap_err();
    assert!(
        nameless.starts_with("it is JMeter's table without the names of its columns: "),
        "{nameless}"
    );
    let sums = "timeStamp,elapsed,label,success,SampleCount,ErrorCount\n1764000000000,200,home,true,10,0\n";
    assert_eq!(
        read_text(sums).unwrap_err(),
        "line 2 sums up 10 requests, whose own times are lost: run JMeter without -Jmode=Statistical"
    );
    let parents = "timeStamp,elapsed,label,responseCode,responseMessage,success\n1764000000000,2056,buy,200,\"Number of \
                   samples in transaction : 2, number of failing samples : 0\",true\n";
    let found = read_text(parents).unwrap();
    assert_eq!((found.facts.requests, found.facts.labels.len()), (Some(1), 1));
    assert!(says(&found, Code::OfTool, "each row is a transaction"));
}

#[test]
fn the_logs_of_gatling_1_and_2_have_four_moments() {
    let moments = |ms: [u64; 4]| ms.map(|ms| format!("{}\t", 1_764_000_000_000 + ms)).concat();
    let (home, cart) = (moments([10, 12, 30, 31]), moments([500, 510, 530, 535]));
    let second = format!(
        "example.Basic\tbasic\tRUN\t1764000000000\t \t2.0\nusers\t1\tUSER\tSTART\t1764000000001\t0\n\
         users\t1\tREQUEST\t\thome\t{home}OK\t \nusers\t1\tREQUEST\tgroup\tcart\t{cart}KO\tOK\n"
    );
    let found = read_text(&second).unwrap();
    assert_eq!((found.tool.as_str(), found.facts.requests), ("Gatling 2", Some(2)));
    assert_eq!((found.facts.failed, seconds(&found)), (Some(1), Some(0.525)));
    let labels: Vec<&String> = found.facts.labels.keys().collect();
    assert_eq!(labels, ["cart", "home"]);
    assert_eq!(milliseconds(&found, Quantile::P50), Some(21.0));
    let first =
        format!("RUN\t20261124101200\trun\tnode1\tBasic\nACTION\tusers\t1\thome\t{home}OK\tdone\n");
    let found = read_text(&first).unwrap();
    assert_eq!((found.tool.as_str(), found.facts.requests), ("Gatling", Some(1)));
    assert_eq!(milliseconds(&found, Quantile::P50), Some(21.0));
    // A name is not a kind of a line.
    let named = "RUN\ta\tb\t1764000000000\t \t3.9.5\nREQUEST\t\tUSER\t5\t9\tOK\t \n";
    assert_eq!(read_text(named).unwrap().facts.requests, Some(1));
}

#[test]
fn k6_prints_zeros_for_a_metric_without_a_sample() {
    let http =
        r#""http_req_duration":{"avg":0,"min":0,"med":0,"max":0,"thresholds":{"p(95)<500":false}}"#;
    let grpc = r#""grpc_req_duration":{"avg":3,"min":1,"med":2,"max":9}"#;
    let found = read_text(&format!("{{\"metrics\":{{{http},{grpc}}}}}")).unwrap();
    assert_eq!(milliseconds(&found, Quantile::P50), Some(2.0));
    assert_eq!(
        read_text(&format!("{{\"metrics\":{{{http}}}}}")).unwrap_err(),
        "it has no times of http_req_duration or grpc_req_duration"
    );
    let table = "metric_name,timestamp,metric_value,check\nhttp_reqs,1764000000,1.000000,\n";
    assert!(read_text(table).unwrap_err().starts_with("it is k6's CSV, "));
}
