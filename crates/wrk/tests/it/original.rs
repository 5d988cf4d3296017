//! The output of Debian's wrk, read by the expressions that read ours.

use std::io::Write;
use std::process::Command;

use crate::expressions::{Lines, numbers, read};
use crate::server;

/// The output of wrk for one second of load; `None` if it is not installed.
fn wrk(test: &str, options: &[&str], path: &str) -> Option<String> {
    let url = format!("http://{}{path}", server::start());
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("wrk").exists());
    if !found {
        skip(test);
        return None;
    }
    let output = Command::new("wrk")
        .args(["-t2", "-c4", "-d1s", "-L"])
        .args(options)
        .arg(&url)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn skip(test: &str) {
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "skipped: {test}: needs wrk").unwrap();
    }
}

fn lines(text: &str) -> Lines {
    read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn every_line_of_wrk_is_read() {
    let Some(text) = wrk("every_line_of_wrk_is_read", &[], "/") else { return };
    let lines = lines(&text);
    let counts: Vec<(&str, usize)> = lines.iter().map(|(kind, of)| (*kind, of.len())).collect();
    let once = |kind| (kind, 1);
    assert_eq!(
        counts,
        [
            once("bytes/s"),
            once("distribution"),
            once("head"),
            once("latency"),
            ("percentile", 4),
            once("rates"),
            once("requests/s"),
            once("run"),
            once("threads"),
            once("total"),
        ],
        "{text}"
    );
    assert_eq!(numbers(&lines["threads"][0]), [2, 4]);
    assert!(0 < numbers(&lines["total"][0])[0], "{text}");
}

#[test]
fn every_line_of_a_wrk_that_meets_errors_is_read() {
    let test = "every_line_of_a_wrk_that_meets_errors_is_read";
    let Some(text) = wrk(test, &[], "/close") else { return };
    let errors = numbers(&lines(&text)["errors"][0]);
    assert!(0 < errors[1], "reads fail: {text}");
    let text = wrk(test, &["--timeout", "0"], "/slow").expect("wrk was there before");
    let errors = numbers(&lines(&text)["errors"][0]);
    assert!(0 < errors[3], "answers are late: {text}");
}

#[test]
fn every_line_of_a_wrk_that_is_refused_is_read() {
    let test = "every_line_of_a_wrk_that_is_refused_is_read";
    let Some(text) = wrk(test, &[], "/missing") else { return };
    let lines = lines(&text);
    let requests = numbers(&lines["total"][0])[0];
    assert_eq!(numbers(&lines["statuses"][0])[2], requests, "{text}");
}
