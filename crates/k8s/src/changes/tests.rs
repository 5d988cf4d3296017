use super::*;

fn line(text: &str) -> Part {
    Part::Line(text.to_owned().try_into().unwrap())
}

fn pointer(text: &str) -> Part {
    Part::Pointer(text.to_owned())
}

#[test]
fn a_value_in_json_keeps_its_type_and_its_place() {
    let text =
        r#"{"home-timeline-redis": {"addr": "home-timeline-redis", "port": 6379}, "ssl": true}"#;
    let edit = |at: &str, value: &str| {
        edited(Some(text), &pointer(at), value).map(|text| text.split_whitespace().collect())
    };
    let edited = edit("/home-timeline-redis/addr", "redis-ha-master");
    let wanted =
        r#"{"home-timeline-redis":{"addr":"redis-ha-master","port":6379},"ssl":true}"#.to_owned();
    assert_eq!(edited, Ok(wanted));
    let port: String = edit("/home-timeline-redis/port", "6380").unwrap();
    assert!(port.contains(r#""port":6380"#), "{port}");
    let name: String = edit("/home-timeline-redis/addr", "1").unwrap();
    assert!(name.contains(r#""addr":"1""#), "{name}");
    assert_eq!(edit("/redis/addr", "x"), Err("it has nothing at /redis/addr".to_owned()));
}

#[test]
fn only_the_lines_that_match_are_replaced() {
    let conf = "user nobody;\n  worker_processes auto;\r\nevents {}";
    let after = edited(Some(conf), &line(r"^\s*worker_processes\b"), "worker_processes 110;");
    assert_eq!(after.unwrap(), "user nobody;\nworker_processes 110;\r\nevents {}");
    let error = edited(Some(conf), &line("workers"), "x").unwrap_err();
    assert_eq!(error, "no line matches `workers`");
}

#[test]
fn a_key_is_added_only_as_a_whole() {
    assert_eq!(edited(None, &Part::Whole, "redis:6379").unwrap(), "redis:6379");
    let missing = "the ConfigMap has no such key";
    assert_eq!(edited(None, &pointer("/a"), "b").unwrap_err(), missing);
    assert_eq!(edited(None, &line("a"), "b").unwrap_err(), missing);
    assert!(edited(Some("a: b"), &pointer("/a"), "b").unwrap_err().starts_with("it is not JSON"));
}

#[test]
fn what_is_to_be_undone_survives_in_the_owner_object() {
    let undo = [
        Patch { path: "/api/v1/x".to_owned(), patch: data("a", None) },
        Patch { path: "/apis/y".to_owned(), patch: restart(Some("1")) },
    ];
    let owner = json!({"data": {UNDO: Patch::written(&undo)}});
    assert_eq!(Patch::all(&owner), undo);
    assert_eq!(Patch::all(&json!({"data": {}})), []);
    assert_eq!(undo[0].patch, json!({"data": {"a": null}}));
}

#[test]
fn what_a_release_removes_is_not_undone() {
    let releases = BTreeSet::from(["social/dsb".to_owned()]);
    let object = |release: &str, namespace: &str| {
        let annotations = json!({RELEASE[0]: namespace, RELEASE[1]: release});
        json!({"metadata": {"namespace": "social", "annotations": annotations}})
    };
    assert!(is_of(&object("dsb", "social"), &releases));
    assert!(!is_of(&object("redis-ha", "social"), &releases));
    assert!(!is_of(&json!({"metadata": {"namespace": "social"}}), &releases));
}

#[test]
fn a_change_that_is_made_again_is_of_the_same_values() {
    let patch = |path: &str, patch: Value| Patch { path: path.to_owned(), patch };
    let first = patch("/a", data("redis.addr", None));
    assert!(first.is_of_same(&patch("/a", data("redis.addr", Some("two:6379")))));
    assert!(!first.is_of_same(&patch("/b", data("redis.addr", None))));
    assert!(!first.is_of_same(&patch("/a", data("redis.port", None))));
    assert!(!first.is_of_same(&patch("/a", json!({"data": null}))));
    assert!(patch("/a/scale", scale(1)).is_of_same(&patch("/a/scale", scale(6))));
    assert!(!patch("/a", scale(1)).is_of_same(&patch("/a", restart(None))));
}
