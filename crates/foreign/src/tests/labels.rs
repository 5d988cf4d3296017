//! The figures by what a tool calls its requests.

use measure::Quantile;
use results::foreign::OfLabel;

use super::*;

fn labels(foreign: &Foreign) -> String {
    let line = |(name, of): (&String, &OfLabel)| {
        let time = |level| of.times.as_ref().and_then(|times| times.quantile_ns(level));
        let (p50, p99) = (time(Quantile::P50), time(Quantile::P99));
        let [requests, failed, p50, p99] = [of.requests, of.failed, p50, p99]
            .map(|n| n.map_or("–".to_owned(), |n| n.to_string()));
        format!("{name}: {requests} requests, {failed} failed, p50 {p50}, p99 {p99}\n")
    };
    foreign.facts.labels.iter().map(line).collect()
}

#[test]
fn requests_are_told_apart_by_their_labels() {
    let mut text = String::new();
    for (format, sample, asked) in samples() {
        let foreign = read_bytes(sample.as_bytes(), &asked).unwrap();
        if !foreign.facts.labels.is_empty() {
            text += &format!("{format}\n{}", labels(&foreign));
        }
    }
    expect![[r#"
        k6-json
        http://127.0.0.1/: 1 requests, 0 failed, p50 9756671, p99 9756671
        vegeta-json
        GET http://127.0.0.1/: 3 requests, 2 failed, p50 4001791, p99 1000341503
        vegeta-csv
        GET http://127.0.0.1/: 3 requests, 2 failed, p50 4001791, p99 1000341503
        locust
        GET /a: 900 requests, 0 failed, p50 12000000, p99 140000000
        jmeter
        home: 2 requests, 1 failed, p50 21004287, p99 2000683007
        home, again: 1 requests, 1 failed, p50 35028991, p99 35028991
        gatling
        cart: 1 requests, 1 failed, p50 35028991, p99 35028991
        home: 1 requests, 0 failed, p50 21004287, p99 21004287
        older: 1 requests, 0 failed, p50 4001791, p99 4001791
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_request_of_k6_is_called_after_its_group_or_its_name() {
    let line = |tags: &str| k6_point("http_req_duration", 2, &format!(r#""status":"200",{tags}"#));
    let lines = [
        line(r#""group":"::checkout::pay","name":"http://127.0.0.1/pay""#),
        line(r#""group":"","name":"items""#),
        line(r#""name":"items""#),
        line(r#""name":"a\u001b[2Jb""#),
    ];
    let foreign = read_text(&lines.concat()).unwrap();
    expect![[r#"
          a[2Jb: 1 requests, 0 failed, p50 2000895, p99 2000895
          checkout::pay: 1 requests, 0 failed, p50 2000895, p99 2000895
          items: 2 requests, 0 failed, p50 2000895, p99 2000895
    "#]]
    .assert_eq(&labels(&foreign));
}

#[test]
fn labels_beyond_a_number_are_one() {
    let mut text = "timeStamp,elapsed,label,success\n".to_owned();
    for number in 0..1_000 {
        let _ = writeln!(text, "{},5,label {number:04},true", 1_764_000_000_000_u64 + number);
    }
    let labels = read_text(&text).unwrap().facts.labels;
    assert_eq!((labels.len(), labels["others"].requests), (51, Some(950)));
}

#[test]
fn parts_of_a_load_have_their_labels_together() {
    let part = |label: &str, ms: u32| {
        let row = format!("1764000000000,{ms},{label},false\n1764000000900,{ms},all,true\n");
        read_text(&format!("timeStamp,elapsed,label,success\n{row}")).unwrap()
    };
    let whole = merged(&[part("a", 2), part("b", 4)]).unwrap();
    expect![[r#"
          a: 1 requests, 1 failed, p50 2000895, p99 2000895
          all: 2 requests, 0 failed, p50 2000895, p99 4001791
          b: 1 requests, 1 failed, p50 4001791, p99 4001791
    "#]]
    .assert_eq(&labels(&whole));
}

/// k6 keeps the figures of the tags that thresholds name, and of nothing else.
#[test]
fn a_summary_of_k6_has_the_labels_of_its_thresholds() {
    let metrics = r#"{
        "http_req_duration":{"avg":12,"med":10,"p(90)":20},
        "http_req_duration{expected_response:true}":{"avg":12,"med":10,"p(90)":20},
        "http_req_duration{name:login}":{"avg":22,"med":20,"p(99)":40,"thresholds":{"p(99)<100":false}},
        "http_req_duration{group:::shop::items}":{"avg":2,"med":2,"p(99)":4},
        "http_req_duration{scenario:smoke,name:x}":{"avg":3,"med":3},
        "http_req_waiting{name:login}":{"avg":1,"med":1},
        "http_reqs{name:login}":{"count":40,"rate":4},
        "http_req_failed{name:login}":{"passes":2,"fails":38,"value":0.05},
        "http_reqs":{"count":100,"rate":10}}"#;
    let nested = r#"{"http_req_duration":{"type":"trend","values":{"avg":12,"med":10}},
        "http_req_duration{name:login}":{"type":"trend","values":{"avg":22,"med":20}}}"#;
    let listed = r#"[{"name":"http_req_duration","values":{"avg":12,"med":10}},
        {"name":"http_req_duration{name:login}","values":{"avg":22,"med":20}}]"#;
    let of = |metrics: &str| labels(&read_text(&format!("{{\"metrics\":{metrics}}}")).unwrap());
    expect![[r#"
        login: 40 requests, 2 failed, p50 20000000, p99 40000000
        scenario:smoke,name:x: – requests, – failed, p50 3000000, p99 –
        shop::items: – requests, – failed, p50 2000000, p99 4000000

        login: – requests, – failed, p50 20000000, p99 –

        login: – requests, – failed, p50 20000000, p99 –
    "#]]
    .assert_eq(&[metrics, nested, listed].map(of).join("\n"));
}

#[test]
fn the_secrets_of_a_url_are_in_no_label() {
    let url = "http://u:pw123@h/x?token=ABCSECRET0";
    let vegeta = format!(
        "{{\"code\":200,\"timestamp\":\"2026-11-24T10:12:00Z\",\"latency\":5,\"bytes_out\":0,\"method\":\"GET\",\
         \"url\":\"{url}\"}}\n"
    );
    let k6 = k6_point("http_req_duration", 2, &format!(r#""status":"200","name":"{url}""#));
    let summary = format!(
        "{{\"metrics\":{{\"http_req_duration\":{{\"med\":2}},\"http_req_duration{{name:{url}}}\":{{\"med\":2}},\
         \"http_req_duration{{name:{url}1}}\":{{\"med\":3}}}}}}"
    );
    let locust = format!(
        "Type,Name,Request Count,Failure Count,Requests/s,50%\nGET,{url},7,0,1,5\nGET,{url}1,9,0,1,5\n\
         ,Aggregated,16,0,1,5\n"
    );
    let jmeter = format!("timeStamp,elapsed,label,success\n1764000000000,5,{url},true\n");
    let gatling = format!("RUN\ta\tb\t1764000000000\t3.9.5\nREQUEST\t\t{url}\t5\t9\tOK\t\n");
    let mut shown = String::new();
    for text in [vegeta, k6, summary, locust, jmeter, gatling] {
        let found = read_text(&text).unwrap();
        let whole = serde_json::to_string(&found).unwrap();
        assert!(!whole.contains("pw123") && !whole.contains("SECRET"), "{whole}");
        let names: Vec<&str> = found.facts.labels.keys().map(String::as_str).collect();
        shown += &format!("{}: {}\n", found.format, names.join(" | "));
    }
    expect![[r#"
        vegeta-json: GET http://u:(redacted)@h/x?token=(redacted)
        k6-json: http://u:(redacted)@h/x?token=(redacted)
        k6: http://u:(redacted)@h/x?token=(redacted) | http://u:(redacted)@h/x?token=(redacted) (2)
        locust: GET http://u:(redacted)@h/x?token=(redacted) | GET http://u:(redacted)@h/x?token=(redacted) (2)
        jmeter: http://u:(redacted)@h/x?token=(redacted)
        gatling: http://u:(redacted)@h/x?token=(redacted)
    "#]].assert_eq(&shown);
    let asked = Asked {
        rows_are_requests: true,
        unit: Some(Unit::Seconds),
        column: Some("url".to_owned()),
        ..Asked::default()
    };
    let refused = read_bytes(format!("url,ms\n{url},5\n{url},5\n").as_bytes(), &asked).unwrap_err();
    assert!(
        refused.starts_with("line 2: `http://u:(redacted)@h/x?token=(redacted)` is not"),
        "{refused}"
    );
    let wrong = read_text(&format!(
        "{{\"metric\":\"vus\",\"type\":\"Point\",\"data\":{{\"value\":\"{url}\"}}}}\n{{}}\n"
    ));
    assert!(!wrong.unwrap_err().contains("pw123"));
}

/// A secret is cut off with the name of which it is a part, never in its middle.
#[test]
fn a_long_name_has_both_ends_and_no_secret() {
    let name = |end: &str| {
        let path = "long/".repeat(30);
        format!("http://user:{}@h/{path}{end}", "s3cret".repeat(50))
    };
    let row = |end: &str| format!("1764000000000,5,{},true\n", name(end));
    let text = format!("timeStamp,elapsed,label,success\n{}{}", row("one"), row("two"));
    let labels = read_text(&text).unwrap().facts.labels;
    let names: Vec<&String> = labels.keys().collect();
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|name| !name.contains("s3cret") && name.chars().count() <= 200));
    let path = "p/".repeat(300);
    let row = |end: &str| format!("1764000000000,5,/{path}{end},true\n");
    let text = format!("timeStamp,elapsed,label,success\n{}{}", row("one"), row("two"));
    let labels = read_text(&text).unwrap().facts.labels;
    assert!(labels.keys().all(|name| name.chars().count() == 200));
    let ends: Vec<bool> = labels.keys().map(|name| name.ends_with("/one")).collect();
    assert_eq!(ends, [true, false]);
}
