//! A service that answers wrongly: what failed is said before anything about the machine, which may be
//! disturbed in these tests.

use serde_json::Value;

use crate::support::{Scratch, Server, benchwright, machine, run_while};

const WRONG: [&str; 4] = ["--status", "404", "--delay", "5ms"];

#[test]
fn a_load_that_is_answered_wrongly_says_so_first_and_exits_with_1() {
    let _machine = machine();
    let server = Server::reference(&WRONG);
    let url = format!("{}/fast/", server.url);
    let load = |more: &[&str]| {
        let mut command = std::process::Command::new(benchwright());
        command.args(["load", &url, "--rate", "100/s", "--duration", "1s"]).args(more);
        run_while(&mut command, |_| {})
    };
    let text = load(&[]);
    assert_eq!(text.code, 1, "{text:#?}");
    let first = text.stdout.lines().next().unwrap();
    let words = first.strip_prefix("failed: 404 for ").unwrap_or_else(|| panic!("{text:#?}"));
    let (count, rest) = words.split_once(" of ").unwrap();
    assert_eq!(rest, format!("{count} requests to /fast/"));
    assert!(text.stdout.contains("mostly times of failures"), "{text:#?}");
    assert!(!text.stdout.contains("\nvalid. "), "{text:#?}");

    let document = load(&["--json"]).json();
    let failure = &document["failures"][0];
    assert_eq!((&failure["reason"], &failure["to"]), (&"404".into(), &"/fast/".into()));
    assert_eq!(failure["count"], document["counts"]["intended"]);

    // What an objective declares decides instead.
    let declared = load(&["--slo", "failures<=100%", "--json"]);
    let is_valid = declared.json()["validity"]["valid"] == true;
    assert!(declared.code == 0 || !is_valid, "{declared:#?}");
}

#[test]
fn a_run_that_is_answered_wrongly_ends_with_the_first_trial_and_says_why() {
    let _machine = machine();
    let server = Server::reference(&WRONG);
    let scratch = Scratch::new();
    let spec = format!(
        "name: wrong\nwhere: {{backend: external}}\nsut: {{endpoint: \"{}/fast/\"}}\n\
         load: {{model: open}}\nslo: [{{metric: p99, max: 100ms}}]\n\
         phases: {{warm_up: {{fixed: 100ms}}, measure: {{time: 1s}}, drain: 1s}}\n\
         search: {{start: 100/s, step: 10%, stop: [{{rule: no_new_max, window: 3}}]}}\n",
        server.url
    );
    scratch.file("spec.yaml", spec);
    let run = |arguments: &[&str]| run_while(scratch.benchwright().args(arguments), |_| {});
    let ran = run(&["run", "spec.yaml", "--out", "out", "--json"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let answer: Value = ran.json();
    assert_eq!((answer["trials"].as_array().unwrap().len(), &answer["verdict"]), (1, &"no".into()));
    assert_eq!(answer["maximum_throughput"], Value::Null);
    let says = |text: &str| {
        let words = text.split_once("404 for ").unwrap_or_else(|| panic!("{text}")).1;
        words.split_once(" requests to /fast/").unwrap_or_else(|| panic!("{text}"));
    };
    let summary = answer["summary"].as_str().unwrap();
    assert!(summary.starts_with("404 for "), "{summary}");
    says(summary);
    says(&ran.stderr);
    let explained = run(&["explain", "out"]);
    let first = explained.stdout.lines().next().unwrap();
    says(first);
    let page = std::fs::read_to_string(scratch.path().join("out/report.html")).unwrap();
    let badges = page.split("<ul class=\"badges\">").nth(1).unwrap();
    assert!(badges.starts_with("<li class=\"bad\">✗ failing: 404 for "), "{}", &badges[..400]);
}
