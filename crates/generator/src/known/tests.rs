use results::self_test::{Maximum, Punctuality, SCHEMA, Stall};

use super::*;

fn found(valid: bool) -> SelfTest {
    SelfTest {
        schema: SCHEMA.into(),
        version: "benchwright 1".into(),
        machine: "a machine".into(),
        seed: 1,
        passed: true,
        cpus: None,
        attempts: Vec::new(),
        stall: Stall {
            stall_ns: 0,
            measured_ns: 0,
            rate_per_s: 0.0,
            connections: 0,
            valid: true,
            agrees: true,
            open_response_p99_ns: 0,
            open_service_p99_ns: 0,
            closed_response_p99_ns: 0,
        },
        maximum: Maximum { completed_per_s: 70_000.0, connections: 64, busy_share: 1.0, valid },
        punctuality: Punctuality {
            rate_per_s: 0.0,
            valid: true,
            lateness_p50_ns: 0,
            lateness_p99_ns: 0,
            hiccup_p99_ns: 0,
            clock_ns: 17.0,
        },
    }
}

#[test]
fn a_maximum_holds_for_its_version_on_its_machine() {
    let text = output::json(&found(true));
    let maximum = |version, machine| maximum_of(&text, version, machine);
    assert_eq!(maximum("benchwright 1", "a machine"), Rate::per_second(70_000.0));
    assert_eq!(maximum("benchwright 2", "a machine"), None);
    assert_eq!(maximum("benchwright 1", "another"), None);
    assert_eq!(maximum_of(&output::json(&found(false)), "benchwright 1", "a machine"), None);
    assert_eq!(maximum_of("{", "benchwright 1", "a machine"), None);
}

#[test]
fn it_is_kept_where_caches_are() {
    let path = |cache: &str, home: &str| path_in(Some(cache.into()), Some(home.into()));
    let expected = |path: &str| Some(PathBuf::from(path));
    assert_eq!(path("/c", "/h"), expected("/c/benchwright/self-test.json"));
    assert_eq!(path("relative", "/h"), expected("/h/.cache/benchwright/self-test.json"));
    assert_eq!(path_in(None, None), None);
}
