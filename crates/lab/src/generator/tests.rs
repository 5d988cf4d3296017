use std::path::Path;

use expect_test::expect;

use super::*;
use crate::spec;

fn read(load: &str, further: &str) -> Resolved {
    let text = format!(
        "name: x\nwhere: {{backend: external}}\nsut: {{endpoint: [\"http://a:1/\", \"http://b:2\"]}}\n\
         load: {{{load}}}\nphases: {{measure: {{time: 5s}}}}\n{further}\n"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("/specs"), None, &[]).unwrap()
}

fn command(resolved: &Resolved, rate: Option<f64>) -> String {
    let wanted = Wanted {
        rate: rate.and_then(Rate::per_second),
        warm_up: Nanos::from_millis(1_500),
        measure: Nanos::from_secs(5),
        drain: Nanos::ZERO,
        seed: 7,
    };
    let urls = ["http://a:1/", "http://b:2"];
    let targets: Vec<String> = urls.iter().map(|url| target(resolved, url, 1)).collect();
    arguments(resolved, &targets, &[], &wanted).join(" ")
}

#[test]
fn an_open_loop_gets_its_rate_and_arrivals() {
    let resolved = read("model: open, rate: 5k/s, arrivals: constant", "workload: {get: /a}");
    expect!["load http://a:1/a http://b:2/a --rate 5000/s --arrivals constant --connections 32 --warm-up 1500ms --duration 5s --drain 0s --timeout 10s --seed 7 --progress lines --json --per-target"].assert_eq(&command(&resolved, Some(5_000.0)));
}

#[test]
fn a_closed_loop_gets_its_think_time() {
    let resolved =
        read("model: closed, think: 10ms, connections: 4, timeout: 2s", "workload: {get: /}");
    expect!["load http://a:1/ http://b:2/ --closed --think 10ms --connections 4 --warm-up 1500ms --duration 5s --drain 0s --timeout 2s --seed 7 --progress lines --json --per-target"].assert_eq(&command(&resolved, None));
}

#[test]
fn the_number_of_script_threads_comes_from_the_spec() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/hotel-mixed.lua");
    let workload = format!("workload: {{script: {script}}}");
    let resolved = read("model: closed, script_threads: 48", &workload);
    let command = command(&resolved, None);
    assert!(command.ends_with("hotel-mixed.lua --script-threads 48"), "{command}");
}

#[test]
fn the_generator_judges_by_the_same_objectives() {
    let slo =
        "slo: [{metric: p99.9, max: 80ms}, {metric: p50, max: 5ms}, {metric: failures, max: 1%}]";
    let command = command(&read("model: open, rate: 1/s", slo), Some(1.0));
    assert!(
        command.contains("--seed 7 --slo p99.9<=80ms,p50<=5ms,failures<=1% --progress"),
        "{command}"
    );
}

#[test]
fn the_addresses_of_replicas_are_given_once_for_each_target() {
    let resolved = read("model: closed", "");
    let wanted = Wanted {
        rate: None,
        warm_up: Nanos::ZERO,
        measure: Nanos::SECOND,
        drain: Nanos::ZERO,
        seed: 7,
    };
    let targets = ["http://a:1/", "http://b:1/"].map(str::to_owned);
    let addresses = ["a:1,a:2", "b:1,b:2"].map(str::to_owned);
    let arguments = arguments(&resolved, &targets, &addresses, &wanted).join(" ");
    let begin = "load http://a:1/ http://b:1/ --address a:1,a:2 --address b:1,b:2 --closed ";
    assert!(arguments.starts_with(begin), "{arguments}");
}
