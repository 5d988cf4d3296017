//! The report in a browser, without a network.

use std::process::Command;

use crate::support::{Scratch, experiments, machine, run_while, tool};

/// Chromium on a page, offline, with nothing of a user's.
fn chromium(scratch: &Scratch, more: &[&str], page: &str) -> crate::support::Ran {
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        "--window-size=1200,5000",
    ]);
    command.arg(format!("--user-data-dir={}", scratch.path().join("chromium").display()));
    run_while(command.args(more).arg(page), |_| {})
}

#[test]
fn the_report_opens_offline_without_a_complaint_and_without_scripts() {
    let _machine = machine();
    if !tool("the_report_opens_offline_without_a_complaint_and_without_scripts", "chromium") {
        return;
    }
    let scratch = Scratch::new();
    let mut command = scratch.benchwright();
    command.arg("run").arg(experiments().join("simulated.yaml")).args(["--out", "out"]);
    let ran = run_while(&mut command, |_| {});
    assert!(scratch.path().join("out/report.html").exists(), "{ran:#?}");
    let html = std::fs::read_to_string(scratch.path().join("out/report.html")).unwrap();
    for reference in ["src=\"http", "href=\"http", "url(http", "@import", "src=\"//"] {
        assert!(!html.contains(reference), "{reference}");
    }

    let page = format!("file://{}/out/report.html", scratch.path().display());
    for theme in ["light", "dark"] {
        let picture = scratch.path().join(format!("{theme}.png"));
        let screenshot = format!("--screenshot={}", picture.display());
        let ran = chromium(&scratch, &[&screenshot], &format!("{page}#theme={theme}"));
        let complaints: Vec<&str> =
            ran.stderr.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert_eq!(complaints, [""; 0]);
        assert!(20_000 < std::fs::metadata(&picture).unwrap().len(), "{theme}: a picture of it");
    }

    // Without its script the page is the same but for the tooltips: it is all there as it stands.
    let bare = html.split("<script").next().unwrap().to_owned() + "</body></html>";
    assert!(bare.matches("<svg").count() >= 4 && bare.matches("<table").count() >= 4);
    let maximum = std::fs::read(scratch.path().join("out/answer.json")).unwrap();
    let maximum: serde_json::Value = serde_json::from_slice(&maximum).unwrap();
    for entry in maximum["trials"].as_array().unwrap() {
        let rate = entry["observed"]["completed_per_s"].as_f64().unwrap();
        let shown = measure::quantity::grouped(rate);
        assert!(bare.contains(&shown), "trial {}: {shown}", entry["trial"]);
    }
}
