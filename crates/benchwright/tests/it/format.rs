//! The reference page of the results format, checked by a reader that uses only this page.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Scratch, experiments, machine, run_while, tool};

/// Nobody can rely on a field that is not on the page, and the page must not name a field that the
/// files do not have.
#[test]
fn the_page_of_the_format_is_enough_to_read_a_directory() {
    if !tool("the_page_of_the_format_is_enough_to_read_a_directory", "python3") {
        return;
    }
    let _machine = machine();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/results-format.md");
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/reader.py");
    for spec in ["simulated.yaml", "levels.yaml", "versions.yaml", "hello.yaml"] {
        let scratch = Scratch::new();
        let out = scratch.path().join("results");
        let mut command = scratch.benchwright();
        command.arg("run").arg(experiments().join(spec)).arg("--out").arg(&out).arg("--json");
        if spec != "hello.yaml" {
            command.args(["--profile", "ci"]);
        }
        let ran = run_while(&mut command, |_| {});
        let answer = ran.json();
        let read = Command::new("python3").arg(&reader).arg(&page).arg(&out).output().unwrap();
        let message = String::from_utf8_lossy(&read.stderr).into_owned();
        assert!(read.status.success(), "{spec}: {message}");
        let summary: Value = serde_json::from_slice(&read.stdout).unwrap();
        assert_eq!(summary["verdict"], answer["verdict"], "{spec}");
        let trials = answer["trials"].as_array().unwrap();
        let read = summary["trials"].as_array().unwrap();
        assert_eq!(read.len(), trials.len());
        assert!(
            !trials.is_empty() && trials.len() < summary["histograms"].as_u64().unwrap() as usize
        );
        for (read, trial) in read.iter().zip(trials) {
            let observed = &trial["observed"];
            assert_eq!(read["p99_ns"], observed["p99_ns"], "{spec}: {trial}");
            assert_eq!(read["intended"], observed["requests"]);
            assert_eq!(read["outcomes"], observed["requests"]);
            // The speed of the CPUs of the system; virtual time has none.
            assert_eq!(observed["work_ns"]["sweep"].is_number(), spec == "hello.yaml", "{spec}");
        }
    }
}
