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
        (levels("[1, 2]"), "a scaling law needs at least three, for example levels: [1, 2, 4]"),
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
