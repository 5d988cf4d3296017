use std::path::Path;

use crate::spec;

fn error(rest: &str) -> String {
    let text = format!(
        "
name: queue
where: {{backend: simulated}}
simulated: {{service_time: 1ms}}
workload: {{get: /}}
load: {{model: closed, connections: 4}}
{rest}"
    );
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    read.unwrap_err().to_string()
}

#[test]
fn a_law_without_levels_that_count_units_is_refused_with_the_remedy() {
    let levels = |levels: &str| {
        error(&format!(
            "factors: {{servers: {{path: simulated.servers, levels: {levels}}}}}
scaling_law: {{factor: servers}}"
        ))
    };
    for (error, expected) in [
        (error("scaling_law: {factor: servers}"), "no factor is called `servers`"),
        (levels("[1, 2]"), "a scaling law needs at least 3, for example levels: [1, 2, 4, 8]"),
        (
            error(
                "factors:
  version: {levels: [{name: old, set: {vars: {a: b}}}, {name: new, set: {vars: {a: c}}}]}
scaling_law: {factor: version}",
            ),
            "the level `old` of `version` is not a number of units",
        ),
    ] {
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("my.yaml:"), "it has a place: {error}");
    }
}

/// A law from one search at each of three levels would be "too few" after minutes.
#[test]
fn levels_that_give_too_few_values_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.yaml");
    let load = |rest: &str| {
        let text = format!(
            "
name: queue
where: {{backend: simulated}}
simulated: {{service_time: 1ms}}
workload: {{get: /}}
slo: [{{metric: p99, max: 30ms}}]
scaling_law: {{factor: servers}}
factors: {{servers: {{path: simulated.servers, levels: {rest}
"
        );
        std::fs::write(&path, text).unwrap();
        spec::load(&path, None, &[]).map(drop).map_err(|error| error.to_string())
    };
    let search = "load: {model: open}\nsearch: {range: [100/s, 900/s]}";
    let closed = "load: {model: closed, connections: 4}";
    for (rest, expected) in [
        (
            format!("[1, 2, 4]}}}}\n{search}"),
            [
                "the 3 levels of `servers` give 3 values",
                "at least 4: add a level, or write repeat: {searches: 3}",
            ],
        ),
        (
            format!("[1, 2, 4]}}}}\n{closed}"),
            ["the 3 levels of `servers` give 3 values", "or write repeat: {trials: 3}"],
        ),
        (
            "[1, 2, 4, 8]}}\nload: {model: open, rate: 100/s}".to_owned(),
            ["give 0 values", "a fixed rate completes what it offers"],
        ),
    ] {
        let error = load(&rest).unwrap_err();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
        assert!(error.contains("my.yaml:"), "it has a place: {error}");
    }
    for rest in [
        format!("[1, 2, 3, 4]}}}}\n{search}"),
        format!("[1, 2, 4]}}}}\n{search}\nrepeat: {{searches: 2}}"),
        format!("[1, 2, 4]}}}}\n{closed}\nrepeat: {{trials: 2}}"),
        format!("[1, 2, 4]}}}}\n{closed}\nrepeat: {{until: {{metric: p99, ci_rel: 4%, max: 9}}}}"),
    ] {
        assert_eq!(load(&rest), Ok(()), "{rest}");
    }
}
