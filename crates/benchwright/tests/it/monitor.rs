//! A real Prometheus, asked for the time of a measurement.

use crate::prometheus::Prometheus;
use crate::support::{PATIENT, Scratch, Server, machine, run_patiently, tool, until};

#[test]
fn a_prometheus_is_asked_for_the_time_of_each_measurement() {
    if !tool("a_prometheus_is_asked_for_the_time_of_each_measurement", "prometheus") {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    let prometheus = Prometheus::start(scratch.path(), |address| {
        format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n\
             - {{job_name: itself, static_configs: [{{targets: [\"{address}\"]}}]}}\n"
        )
    });
    let server = Server::reference(&["--delay", "50ms"]);
    // A rate needs two scrapes.
    until("it has scraped itself", || {
        !prometheus.values("rate(process_cpu_seconds_total[4s])").is_empty()
    });
    let query = |name: &str, query: &str| {
        let url = &prometheus.url;
        format!("  - prometheus: {{name: {name}, url: \"{url}\", query: '{query}', every: 1s}}\n")
    };
    let spec = format!(
        "name: monitored\nwhere: {{backend: external}}\nsut: {{endpoint: \"{}\"}}\n\
         workload: {{get: /}}\nload: {{model: open, rate: 100/s}}\n\
         phases: {{warm_up: {{fixed: 100ms}}, measure: {{time: 6s}}, drain: 1s}}\nmonitor:\n{}{}{}",
        server.url,
        query("cpu", "sum by (job) (rate(process_cpu_seconds_total[4s]))"),
        query("wide", "sum(rate(process_cpu_seconds_total[1m]))"),
        query("wrong", "sum(("),
    );
    scratch.file("spec.yaml", spec);
    let out = scratch.path().join("out");
    let mut command = scratch.benchwright();
    command.args(["run", "spec.yaml", "--out", "out", "--json"]).args(PATIENT);
    let ran = run_patiently(&mut command, &out);
    let journal = std::fs::read_to_string(out.join("journal.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
    let cpu = last["observed"]["monitored"]["cpu job=itself"].as_f64().unwrap();
    assert!((0.0..2.0).contains(&cpu), "{cpu}");
    let warnings = last["warnings"].to_string();
    assert!(warnings.contains("monitor wide: its window of 60 s is longer"), "{warnings}");
    assert!(warnings.contains("monitor wrong: ") && warnings.contains("parse error"), "{warnings}");
    assert!(!warnings.contains("monitor cpu"), "{warnings}");
    let trial = out.join("trials").join(last["trial"].to_string());
    let components = std::fs::read_to_string(trial.join("components.json")).unwrap();
    let components: serde_json::Value = serde_json::from_str(&components).unwrap();
    let values = components["monitors"][0]["series"][0]["values"].as_array().unwrap();
    // The window of each is in the measurement.
    let times: Vec<f64> = values.iter().map(|value| value[0].as_f64().unwrap()).collect();
    assert!((2..=3).contains(&times.len()) && (times[0] - 4.0).abs() < 1e-3, "{values:?}");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    // The page draws the figures of valid trials.
    assert_eq!(page.contains("Other monitors") && page.contains("cpu job=itself"), ran.is_ok());
}
