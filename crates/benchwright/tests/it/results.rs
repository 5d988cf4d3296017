//! What a load writes: rows, logs, samples, conditions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Scratch, Server, machine, run_while};

fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), names.len(), "{line}");
            names.iter().zip(cells).map(|(n, c)| ((*n).to_owned(), c.to_owned())).collect()
        })
        .collect()
}

#[test]
fn rows_logs_and_samples_tell_the_same_story() {
    let _machine = machine();
    let scratch = Scratch::new();
    let server = Server::reference(&["--delay", "1ms"]);
    let mut command = scratch.benchwright();
    command.args(["load", &server.url, "--rate", "1k/s", "--duration", "3s", "--shards", "2"]);
    command.args(["--warm-up", "500ms", "--json=load.json", "--csv", "load.csv"]);
    command.args(["--hlog", "load.hlog", "--samples", "samples.csv"]);
    let ran = run_while(&mut command, |_| {});
    assert!([0, 3].contains(&ran.code), "{ran:#?}");
    assert!(ran.stdout.contains("response"), "text for a person: {}", ran.stdout);
    let read = |name: &str| std::fs::read_to_string(scratch.path().join(name)).unwrap();
    let document: Value = serde_json::from_str(&read("load.json")).unwrap();
    let intended = document["counts"]["intended"].as_u64().unwrap();

    let intervals = rows(&read("load.csv"));
    let sum = |name: &str| intervals.iter().map(|r| r[name].parse::<u64>().unwrap()).sum::<u64>();
    assert_eq!(sum("offered"), intended, "the sum over intervals is the total");
    assert_eq!(json!(sum("completed")), document["counts"]["completed"]);
    assert_eq!(json!(sum("failed")), document["counts"]["failed"]);

    let samples = rows(&read("samples.csv"));
    let begin = document["clock"]["measurement_start_ns"].as_u64().unwrap();
    let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<u64>().unwrap();
    let measured: Vec<_> =
        samples.iter().filter(|row| begin <= number(row, "intended_ns")).collect();
    assert_eq!(measured.len() as u64, intended);
    assert!(intended < samples.len() as u64, "the warm-up is in it too");
    let longest = measured.iter().map(|row| number(row, "done_ns") - number(row, "intended_ns"));
    let (longest, max) = (longest.max().unwrap(), &document["response_time"]["max_ns"]);
    assert!(longest.abs_diff(max.as_u64().unwrap()) <= longest / 500, "{longest} {max}");
    for row in measured {
        let order = ["intended_ns", "sent_ns", "first_byte_ns", "done_ns"];
        let times: Vec<u64> = order.iter().map(|name| number(row, name)).collect();
        assert!(times.is_sorted(), "{row:?}");
        assert_eq!((row["outcome"].as_str(), row["bytes"].as_str()), ("ok", "100"));
    }

    let log = read("load.hlog");
    let of = |tag: &str| log.lines().filter(|line| line.starts_with(tag)).count();
    assert_eq!((of("Tag=response,"), of("Tag=service,")), (intervals.len(), intervals.len()));
}

#[test]
fn conditions_that_are_missed_are_told_and_exit_with_1() {
    let _machine = machine();
    let server = Server::reference(&["--delay", "20ms"]);
    for (slo, met) in [("p50<10ms,errors<1%", false), ("p50<10s,errors<1%", true)] {
        let scratch = Scratch::new();
        let mut command = scratch.benchwright();
        command.args(["load", &server.url, "--rate", "200/s", "--duration", "1s", "--json"]);
        let ran = run_while(command.args(["--slo", slo]), |_| {});
        let document = ran.json();
        assert_eq!(document["slo"]["met"], met, "{document:#}");
        if document["validity"]["valid"] == true {
            assert_eq!(ran.code, i32::from(!met));
        }
        assert_eq!(document["slo"]["missed"].as_array().unwrap().is_empty(), met);
    }
}

#[test]
fn a_number_of_requests_ends_a_load_of_either_kind() {
    let _machine = machine();
    let server = Server::reference(&[]);
    for pacing in [&["--closed"][..], &["--rate", "2k/s"]] {
        let scratch = Scratch::new();
        let mut command = scratch.benchwright();
        command.args(["load", &server.url, "--requests", "1000", "--shards", "2", "--json"]);
        let ran = run_while(command.args(pacing), |_| {});
        let document = ran.json();
        assert_eq!(document["counts"]["completed"], 1000, "{pacing:?}");
        assert!(document["measured_s"].as_f64().unwrap() < 8.0, "it ends with the last answer");
    }
    let log: Value = serde_json::from_str(&server.end()).unwrap();
    assert_eq!(log["requests"], 2000);
}
