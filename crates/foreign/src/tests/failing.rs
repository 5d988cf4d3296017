//! Files whose requests failed, or were partly unfinished, and files whose counts cannot all be true.

use results::foreign::Code;
use results::slo::{Judged, Outcome, Verdict};

use super::*;

fn texts(found: &Foreign, code: Code) -> Vec<&str> {
    let of_code = found.limits.iter().filter(|limit| limit.code == code);
    of_code.map(|limit| limit.text.as_str()).collect()
}

fn wrk(errors: &str, refused: u64) -> Foreign {
    let text = include_str!("samples/wrk.txt")
        .replace("connect 0, read 2, write 0, timeout 31", errors)
        .replace("responses: 7", &format!("responses: {refused}"));
    read_text(&text).unwrap()
}

#[test]
fn failures_come_first_and_the_figures_of_failures_support_nothing() {
    let found = wrk("connect 0, read 3, write 0, timeout 5", 281_337);
    assert_eq!(found.limits[0].code, Code::Failing);
    assert_eq!(
        found.limits[0].text,
        "281,340 of 281,340 requests failed (100.00 %): fewer than half succeeded, so these are no figures of a \
         working service"
    );
    assert_eq!(found.supports, Vec::<String>::new());
    assert_eq!(found.facts.goodput_per_s, Some(0.0));
    assert!(found.facts.is_mostly_failing());
    // A few that are still good, and each request alone: parts of one load are merged whatever they say.
    let lines = read_text(include_str!("samples/vegeta.jsonl")).unwrap();
    assert_eq!(lines.limits[0].code, Code::Failing);
    assert_eq!(lines.supports, ["a merge with the other parts of the same load"]);
}

#[test]
fn a_tenth_of_failures_comes_before_what_is_supported() {
    let text = include_str!("samples/vegeta-report.json")
        .replace("\"200\":4990,\"503\":8", "\"200\":4498,\"503\":500");
    let found = read_text(&text).unwrap();
    assert_eq!(
        texts(&found, Code::Failing),
        ["502 of 5,000 requests failed (10.04 %): these are the figures of a failing service"]
    );
    assert!(!found.supports.is_empty() && !found.facts.is_mostly_failing());
    let few = read_text(include_str!("samples/vegeta-report.json")).unwrap();
    assert!(texts(&few, Code::Failing).is_empty());
}

#[test]
fn failures_with_and_without_an_answer_are_both_said() {
    let found = wrk("connect 0, read 3, write 0, timeout 5", 7);
    assert_eq!(
        texts(&found, Code::LeftOut)[1],
        "3 of 281,340 requests had no answer, and have no time here: they are missing in every percentile"
    );
    assert_eq!(
        texts(&found, Code::FailuresAmongTimes),
        [
            "7 of 281,340 requests failed with an answer, and their times are among the others: quick refusals and long waits \
          both move percentiles"
        ]
    );
}

/// A load of 1,000 requests of which so many failed, and so many were unfinished.
fn load_with(failed: u64, unfinished: u64, objective: Option<(&str, bool)>) -> Foreign {
    let mut load: Load = serde_json::from_str(&load()).unwrap();
    let counts = &mut load.total.counts;
    (counts.failed, counts.unfinished) = (failed, unfinished);
    counts.completed -= unfinished;
    // Half of those that are unfinished never had a connection.
    counts.sent -= unfinished / 2;
    load.total.rates_per_s.goodput = 7.0;
    let judged = |(slo, met): (&str, bool)| Judged {
        slo: slo.parse().unwrap(),
        over: failed,
        over_at_least: failed,
        of: 1_000,
        reached_ns: None,
        verdict: if met { Verdict::Pass } else { Verdict::Fail },
        met,
        text: String::new(),
    };
    load.slo =
        objective.map(|it| Outcome { met: it.1, missed: Vec::new(), objectives: vec![judged(it)] });
    read_text(&serde_json::to_string(&load).unwrap()).unwrap()
}

#[test]
fn unfinished_requests_have_a_time_that_is_a_lower_bound_and_did_not_fail() {
    let found = load_with(0, 600, None);
    let facts = &found.facts;
    assert_eq!((facts.requests, facts.count(), facts.not_sent), (Some(1_000), Some(1_000), None));
    assert_eq!(
        (facts.unfinished, facts.unanswered, facts.given_up()),
        (Some(600), Some(600), Some(0))
    );
    assert_eq!((facts.failed, facts.goodput_per_s), (Some(0), Some(7.0)));
    assert_eq!(
        texts(&found, Code::LowerBounds),
        [
            "600 of 1,000 requests had no response when the load ended: the times that they had waited are among the \
          others, so percentiles are lower bounds"
        ]
    );
    assert!(texts(&found, Code::LeftOut).is_empty() && texts(&found, Code::Failing).is_empty());
    assert!(found.supports[1].ends_with("shares beyond any limit, as lower bounds"), "{found:?}");
}

#[test]
fn a_declared_share_of_failures_decides_instead_of_half() {
    let is_mostly_failing =
        |failed, objective| load_with(failed, 0, objective).facts.is_mostly_failing();
    assert!(!is_mostly_failing(400, None) && is_mostly_failing(600, None));
    assert!(!is_mostly_failing(600, Some(("failures<=70%", true))));
    assert!(is_mostly_failing(20, Some(("failures<=1%", false))));
    assert!(is_mostly_failing(600, Some(("p99<=1s", true))), "it declares no share of failures");
    let found = load_with(20, 0, Some(("failures<=1%", false)));
    assert_eq!(
        texts(&found, Code::Failing),
        [
            "20 of 1,000 requests failed (2.00 %): more than the load declared as its objective, so these are no figures of \
          a working service"
        ]
    );
}

#[test]
fn counts_that_cannot_all_be_true_are_said() {
    let report = include_str!("samples/vegeta-report.json");
    let of = |requests: &str| {
        let found = read_text(&report.replace("\"requests\":5000", requests)).unwrap();
        texts(&found, Code::Contradiction).join("\n")
    };
    assert_eq!(of("\"requests\":5000"), "");
    assert_eq!(
        of("\"requests\":4900"),
        "its counts contradict each other: 4,900 requests, and 4,998 answers by status; the file was changed, or its \
         tool counts wrongly"
    );
    assert_eq!(
        of("\"requests\":5001"),
        "its counts contradict each other: 5,001 requests, and 5,000 results by status; the file was changed, or its \
         tool counts wrongly"
    );
    let more = wrk("connect 0, read 2, write 0, timeout 31", 300_000);
    assert!(
        texts(&more, Code::Contradiction)[0].contains("281,339 requests, and 300,002 failures")
    );
    for (name, text, asked) in samples() {
        let found = read_bytes(text.as_bytes(), &asked).unwrap();
        assert!(texts(&found, Code::Contradiction).is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn what_contradicts_itself_supports_nothing() {
    let report = include_str!("samples/vegeta-report.json");
    let found = read_text(report).unwrap();
    assert!(!found.supports.is_empty(), "{found:?}");
    let found = read_text(&report.replace("\"requests\":5000", "\"requests\":500000")).unwrap();
    assert_eq!(found.supports, [""; 0]);
}

#[test]
fn times_rise_from_the_least_one_over_the_percentiles_to_the_greatest() {
    let of = |p50: f64, p95: f64, p99: f64, max: f64| {
        let text = format!(
            "{{\"metrics\": {{\"http_req_duration\": {{\"avg\": 5, \"min\": 1, \"med\": {p50}, \"max\": {max}, \
             \"p(95)\": {p95}, \"p(99)\": {p99}}}, \"http_reqs\": {{\"count\": 5000, \"rate\": 100}}}}}}"
        );
        let found = read_text(&text).unwrap();
        (texts(&found, Code::Contradiction).join("\n"), found.supports.is_empty())
    };
    assert_eq!(of(4.0, 20.0, 40.0, 41.0), (String::new(), false));
    // As much as tools round.
    assert_eq!(of(4.0, 20.0, 40.0, 39.0), (String::new(), false));
    let changed = "; the file was changed, or its tool computes wrongly";
    let falls = "its times contradict each other: the p95 is 40.0 ms, and the p99 1.50 ms";
    assert_eq!(of(4.0, 40.0, 1.5, 41.0), (format!("{falls}{changed}"), true));
    let above = "its times contradict each other: the p50 is 9.00 s, and the p95 20.0 ms";
    assert_eq!(of(9_000.0, 20.0, 40.0, 41.0), (format!("{above}{changed}"), true));
    let beyond =
        "its times contradict each other: the p99 is 40.0 ms, and the greatest time 4.00 ms";
    assert_eq!(of(3.0, 3.0, 40.0, 4.0), (format!("{beyond}{changed}"), true));
}

#[test]
fn a_negative_count_is_refused() {
    let k6 = "{\"metrics\": {\"http_req_duration\": {\"med\": 4}, \"http_reqs\": {\"count\": -5, \"rate\": 1}}}";
    assert_eq!(
        read_text(k6).unwrap_err(),
        "the count of http_reqs is -5, and no count is negative"
    );
    let hey = include_str!("samples/hey.txt").replace("[200]\t6442", "[200]\t-6442");
    assert_eq!(
        read_text(&hey).unwrap_err(),
        "it has -6442 responses of 200, and no count is negative"
    );
    let locust = "Type,Name,Request Count,Failure Count,Requests/s,50%\n,Aggregated,-7,0,1,5\n";
    assert_eq!(read_text(locust).unwrap_err(), "line 2 has the count -7, and no count is negative");
}

#[test]
fn the_times_of_wrk2_and_of_hey_are_as_many_as_they_say() {
    let found = read_text(include_str!("samples/wrk2.txt")).unwrap();
    let (requests, times) = (found.facts.requests.unwrap(), found.facts.count().unwrap());
    let text = texts(&found, Code::OfTool).concat();
    assert!(
        text.contains(&format!("leave out {} of", measure::quantity::counted(requests - times))),
        "{requests} {times}: {text}"
    );
    let many = include_str!("samples/hey.txt").replace("[200]\t6442", "[200]\t1500000");
    assert_eq!(read_text(&many).unwrap().facts.count(), Some(1_000_000));
}

#[test]
fn a_binary_file_that_ends_in_its_version_is_refused() {
    for bytes in [&[0, 0, 0, 0, 11][..], &[0, 0, 0, 0, 0], &[0, 0, 0, 0, 6, b'3', b'.']] {
        let refused = read_bytes(bytes, &Asked::default()).unwrap_err();
        assert_eq!(refused, "it is binary; take the tool's JSON, CSV or text");
    }
    let gatling = [&[0, 0, 0, 0, 6][..], b"3.13.0"].concat();
    assert!(read_bytes(&gatling, &Asked::default()).unwrap_err().contains("Gatling writes"));
}

#[test]
fn the_checks_of_a_script_of_k6_are_counted() {
    let of = |metrics: &str| {
        let text = format!("{{\"metrics\":{{\"http_req_duration\":{{\"med\":2}},{metrics}}}}}");
        read_text(&text).unwrap()
    };
    let requests =
        r#""http_reqs":{"count":1000,"rate":100},"http_req_failed":{"passes":0,"fails":1000}"#;
    let counts = |found: &Foreign| found.facts.checks.map(|checks| (checks.failed, checks.made));
    let found = of(&format!(r#"{requests},"checks":{{"passes":10,"fails":990,"value":0.01}}"#));
    assert_eq!(counts(&found), Some((990, 1_000)));
    assert_eq!(
        texts(&found, Code::Failing),
        [
            "990 of 1,000 checks failed (99.00 %): fewer than half succeeded, so these are no figures of a working \
          service"
        ]
    );
    assert_eq!((found.supports.len(), found.facts.goodput_per_s), (0, None));
    let found = of(&format!(r#"{requests},"checks":{{"values":{{"passes":960,"fails":40}}}}"#));
    assert_eq!(
        texts(&found, Code::Failing),
        ["40 of 1,000 checks failed (4.00 %): these are the figures of a failing service"]
    );
    assert!(found.facts.is_failing() && !found.facts.is_mostly_failing());
    let found = of(&format!(r#"{requests},"checks":{{"passes":1000,"fails":0}}"#));
    assert_eq!((texts(&found, Code::Failing).len(), found.facts.goodput_per_s), (0, Some(100.0)));
    assert_eq!(counts(&of(requests)), None);
    // The newest summary, and the points.
    let newest = include_str!("samples/k6-results.json").replace(
        r#""checks": {"metrics": []"#,
        r#""checks": {"metrics": [{"name": "checks_failed", "values": {"matches": 7, "total": 9}}]"#,
    );
    assert_eq!(counts(&read_text(&newest).unwrap()), Some((7, 9)));
    let point = |value: u32| k6_point("checks", value, r#""check":"status is 200""#);
    let lines =
        include_str!("samples/k6-lines.json").to_owned() + &point(0) + &point(1) + &point(0);
    let lines = read_text(&lines).unwrap();
    assert_eq!(counts(&lines), Some((2, 3)));
    assert_eq!(counts(&merged(&[lines.clone(), lines]).unwrap()), Some((4, 6)));
}

#[test]
fn a_call_that_failed_is_a_failure_in_every_protocol_and_without_a_column_for_it() {
    let grpc = |status: &str| k6_point("grpc_req_duration", 2, &format!(r#""status":"{status}""#));
    let found = read_text(&(grpc("0") + &grpc("14"))).unwrap();
    assert_eq!((found.facts.requests, found.facts.failed), (Some(2), Some(1)));
    let fortio = |codes: &str| {
        let text = include_str!("samples/fortio.json").replace(r#"{"200": 2700, "503": 3}"#, codes);
        let found = read_text(&text).unwrap();
        (found.facts.requests, found.facts.failed)
    };
    assert_eq!(fortio(r#"{"SERVING": 2700, "ERROR": 3}"#), (Some(2_703), Some(3)));
    assert_eq!(fortio(r#"{"OK": 2703}"#), (Some(2_703), Some(0)));
    let jmeter = |table: &str| read_text(table).unwrap().facts.failed;
    let rows = "1764000000000,5,200\n1764000000100,5,500\n";
    assert_eq!(jmeter(&format!("timeStamp,elapsed,responseCode\n{rows}")), Some(1));
    assert_eq!(jmeter("timeStamp,elapsed\n1764000000000,5\n"), None);
}

#[test]
fn the_calls_that_ghz_leaves_out_have_no_time() {
    let read = |options: &str| {
        let text = format!(
            "{{{options} \"count\": 2000, \"total\": 10000000000, \"average\": 2500000, \"fastest\": 1000000, \
             \"slowest\": 4000000, \"rps\": 200.0, \"statusCodeDistribution\": {{\"OK\": 1100, \"Unavailable\": 900}}, \
             \"latencyDistribution\": [{{\"percentage\": 99, \"latency\": 3000000}}], \"details\": null}}"
        );
        read_text(&text).unwrap()
    };
    let found = read("\"options\": {\"concurrency\": 2},");
    assert_eq!((found.facts.count(), found.facts.mean()), (Some(1_100), None));
    assert_eq!(
        texts(&found, Code::LeftOut),
        [
            "900 of 2,000 requests failed, and have no time here: they are missing in every percentile"
        ]
    );
    assert!(texts(&found, Code::FailuresAmongTimes).is_empty());
    assert!(!texts(&found, Code::OfTool).concat().contains("--count-errors"));
    let found = read("\"options\": {\"concurrency\": 2, \"count-errors\": true},");
    assert_eq!((found.facts.count(), found.facts.mean()), (Some(2_000), Some(Nanos(2_500_000))));
    assert!(texts(&found, Code::LeftOut).is_empty());
    assert_eq!(texts(&found, Code::FailuresAmongTimes).len(), 1);
    let found = read("");
    assert_eq!(found.facts.count(), Some(1_100));
    assert!(
        texts(&found, Code::OfTool)
            .concat()
            .contains("--count-errors, which the file does not say")
    );
}
