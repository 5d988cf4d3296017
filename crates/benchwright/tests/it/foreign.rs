//! The files of a load, read by independent tools: a CSV reader, an HdrHistogram log reader, `jq`.
//! Each reads the same load, and its intervals add up to the whole.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Scratch, Server, machine, python, run_while, tool};

/// A mix with so many failed requests that a wrong sum of them would show.
const MIX: &str = r#"
{"weight": 3, "label": "found", "target": "/{{seq}}"}
{"weight": 1, "label": "wanting", "target": "/{{seq}}", "check": "body~nothing"}
"#;

const COUNTS: [(&str, &str); 3] = [("offered", "intended"), ("sent", "sent"), ("failed", "failed")];

/// The program for `jq` that checks that the document's own parts add up.
const ADDS_UP: &str = r#"
    def whole: {offered: .counts.intended} + (.counts | {sent, failed});
    def sum(parts; names): reduce parts as $part ({}; reduce names as $n (.; .[$n] += $part[$n]));
    .measured_s as $measured
    | sum(.series[]; "offered", "sent", "failed") == whole
    and sum(.series[] | select(.t_s < $measured); "completed")
        == {completed: .counts.completed_inside}
    and sum(.labels[]; "completed", "failed") == (.counts | {completed, failed})
    and sum(.targets[].counts; "sent", "completed") == (.counts | {sent, completed})
"#;

#[test]
fn foreign_tools_read_one_load_in_three_formats() {
    const TEST: &str = "foreign_tools_read_one_load_in_three_formats";
    let (Some(python), true) = (python(TEST), tool(TEST, "jq")) else { return };
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("mix.jsonl", MIX);
    let server = Server::reference(&["--delay", "bimodal:1ms,10ms,5%"]);
    let mut command = scratch.benchwright();
    // 6,000 requests are whole thousands, so all tools agree on the rank of the p99.9.
    command.args(["load", &server.url, "--arrivals", "constant", "--rate", "2k/s"]);
    command.args(["--duration", "3s", "--warm-up", "300ms", "--interval", "500ms"]);
    command.args(["--connections", "16", "--shards", "2", "--mix", "mix.jsonl"]);
    command.args(["--json=load.json", "--csv", "load.csv", "--hlog", "load.hlog"]);
    let ran = run_while(&mut command, |_| {});
    // A quarter of the requests fails.
    assert!([1, 3].contains(&ran.code), "{ran:#?}");

    let mut jq = Command::new("jq");
    jq.arg(ADDS_UP).arg("load.json").current_dir(scratch.path());
    let summed = run_while(&mut jq, |_| {});
    assert_eq!((summed.code, summed.stdout.trim()), (0, "true"), "{summed:#?}");

    let mut reader = Command::new(python);
    reader.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/foreign.py"));
    reader.args(["load.json", "load.csv", "load.hlog"]).current_dir(scratch.path());
    let read = run_while(&mut reader, |_| {});
    assert_eq!(read.code, 0, "{read:#?}");
    let text = std::fs::read(scratch.path().join("load.json")).unwrap();
    check(&serde_json::from_slice(&text).unwrap(), &read.json());
}

/// Compares our `document` with the figures that the tools `read` from all three files.
fn check(document: &Value, read: &Value) {
    assert_eq!(document["counts"]["completed"], 6_000, "{document:#}");

    for name in ["response_time", "service_time", "lateness"] {
        agrees(&read["document"]["whole"][name], &document[name]);
    }
    let labels = read["document"]["labels"].as_object().unwrap();
    assert_eq!(labels.keys().collect::<Vec<_>>(), ["found", "wanting"]);
    for (label, histogram) in labels {
        let ours = &document["labels"][label];
        assert_eq!(histogram["count"], ours["completed"], "{label}");
        assert_eq!(histogram["max_ns"], ours["response_time"]["max_ns"], "{label}");
    }

    let rows = read["rows"].as_array().unwrap();
    for (column, count) in COUNTS {
        let sum: f64 = rows.iter().map(|row| row[column].as_f64().unwrap()).sum();
        assert_eq!(Some(sum), document["counts"][count].as_f64(), "{column}");
    }
    // Responses count when they arrive; the last row may be the drain.
    let measured = document["measured_s"].as_f64().unwrap();
    let is_inside = |row: &&Value| row["t_s"].as_f64().unwrap() < measured;
    let inside = rows.iter().filter(is_inside).map(|row| row["completed"].as_f64().unwrap());
    assert_eq!(Some(inside.sum::<f64>()), document["counts"]["completed_inside"].as_f64());

    let log = read["log"].as_object().unwrap();
    assert_eq!(log.keys().collect::<Vec<_>>(), ["response", "service"]);
    for (tag, name) in [("response", "response_time"), ("service", "service_time")] {
        agrees(&log[tag]["sum"], &document[name]);
        let intervals = log[tag]["intervals"].as_array().unwrap();
        // An interval in which no request of the measurement was answered has no line in the log.
        let rows: Vec<_> = rows.iter().filter(|row| !row["p50_ns"].is_null()).collect();
        assert_eq!(intervals.len(), rows.len());
        for (interval, row) in intervals.iter().zip(rows) {
            let begin = row["t_s"].as_f64().unwrap();
            assert_eq!(interval["begin_s"], json!(begin));
            if begin < measured {
                assert_eq!(interval["end_s"], json!(begin + 0.5));
            }
            // In the first interval requests of the warm-up are answered too.
            let (count, completed) = (interval["count"].as_f64(), row["completed"].as_f64());
            assert!(count == completed || (begin == 0.0 && count < completed), "{row}");
            if tag == "response" {
                assert_eq!(interval["max_ns"].as_f64(), row["max_ns"].as_f64(), "{row}");
            }
        }
    }
}

/// Asserts that the figures of a foreign histogram are those in the document.
fn agrees(foreign: &Value, ours: &Value) {
    let foreign = foreign.as_object().unwrap();
    assert_eq!(foreign.len(), 8, "{foreign:?}");
    for (figure, value) in foreign {
        assert_eq!(json!(value), ours[figure], "{figure}");
    }
}
