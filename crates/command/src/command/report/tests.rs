use std::fs;

use lab::experiment;
use lab::progress::Silent;
use results::directory::Readers;

use super::*;
use crate::command::run;

const SPEC: &str = "name: queue\nwhere: {backend: simulated}\nsimulated: {service_time: 1ms}\n\
                    workload: {get: /}\nload: {model: open}\nphases: {measure: {time: 5s}}\n\
                    slo: [{metric: p99, max: 100ms}]\nsearch: {range: [100/s, 300/s], step: 100/s}\n";

#[test]
fn a_forged_answer_is_not_shown_whatever_else_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let resolved =
        lab::spec::from_bytes("my.yaml", SPEC.as_bytes(), Path::new("."), None, &[]).unwrap();
    let out = experiment::Out { path: Some(path.clone()), readers: Readers::Owner };
    let host = run::host().unwrap();
    let backends = |spec: &lab::spec::Resolved| run::backend(spec, &host, &|_: &str| {});
    experiment::run(&resolved, out, &host, &backends, &mut Silent).unwrap();
    let page = || fs::read_to_string(path.join(::report::NAME)).unwrap();
    assert_eq!(write(&path, None).unwrap().1, Exit::Answered);
    assert!(page().contains("300/s"));

    let answer = fs::read_to_string(path.join("answer.json")).unwrap();
    let mut forged: serde_json::Value = serde_json::from_str(&answer).unwrap();
    forged["summary"] = "capacity 999,999/s".into();
    forged["capacity"]["rate_per_s"] = 999_999.0.into();
    forged["searches"][0]["capacity"]["rate_per_s"] = 999_999.0.into();
    fs::write(path.join("answer.json"), forged.to_string()).unwrap();
    let spec = fs::read(path.join("spec.yaml")).unwrap();
    let environment = fs::read(path.join("environment.json")).unwrap();
    for (file, text) in [
        ("spec.yaml", Some("{{{")),
        ("spec.yaml", Some("")),
        ("spec.yaml", Some("name: [1]\n")),
        ("spec.yaml", None),
        ("environment.json", Some("{")),
        ("environment.json", None),
    ] {
        fs::write(path.join("spec.yaml"), &spec).unwrap();
        fs::write(path.join("environment.json"), &environment).unwrap();
        fs::remove_file(path.join(file)).unwrap();
        text.into_iter().for_each(|text| fs::write(path.join(file), text).unwrap());
        let (_, exit) = write(&path, None).unwrap();
        let page = page();
        let is_named = page.contains("not shown: ") && page.contains(&format!("run/{file}"));
        let is_shown = page.contains("✓ Answered");
        assert!(exit == Exit::NoAnswer && is_named && !is_shown, "{file}: {text:?}");
        // It may be quoted as what the answer says, and nothing more.
        assert!(!page.contains("999,999/s <span>"), "{file}: {text:?}");
    }
}
