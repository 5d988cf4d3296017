//! The rights of `deploy/rbac.yaml` against the calls that a runner made on a real cluster.

use std::collections::BTreeSet;

use serde_json::Value;

const RIGHTS: &str = include_str!("../../../deploy/rbac.yaml");
/// The calls that the API server recorded; `cargo xtask testbed check --long rights` writes them.
const RECORDED: &str = include_str!("rights/recorded.txt");

/// The right that only clusters newer than the recorded one want: `AuthorizePodWebsocketUpgradeCreatePermission`.
const NEWER: [&str; 3] = ["create", "", "pods/attach"];

/// A right: verb, API group, resource.
type Right = (String, String, String);

/// Returns the rights of the file, each by itself.
fn granted() -> BTreeSet<Right> {
    let documents = RIGHTS.split("\n---\n");
    let documents = documents.map(|text| serde_saphyr::from_str::<Value>(text).unwrap());
    let role = documents.into_iter().find(|object| object["kind"] == "ClusterRole").unwrap();
    let mut granted = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        let texts = |field: &str| -> Vec<String> {
            let list = rule[field].as_array().unwrap().iter();
            list.map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        for group in texts("apiGroups") {
            for resource in texts("resources") {
                for verb in texts("verbs") {
                    granted.insert((verb, group.clone(), resource.clone()));
                }
            }
        }
    }
    granted
}

fn recorded() -> BTreeSet<Right> {
    let call = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let (verb, group) = (words.next().unwrap(), words.next().unwrap());
        let group = if group == "core" { String::new() } else { group };
        (verb, group, words.next().unwrap())
    };
    RECORDED.lines().map(call).collect()
}

#[test]
fn a_runner_has_every_right_that_it_uses() {
    let (granted, recorded) = (granted(), recorded());
    let missing: Vec<&Right> = recorded.difference(&granted).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn without_any_of_its_rights_a_call_of_a_runner_is_refused() {
    let (granted, recorded) = (granted(), recorded());
    let newer = NEWER.map(str::to_owned).into();
    for right in granted.iter().filter(|right| **right != newer) {
        let mut less = granted.clone();
        less.remove(right);
        assert!(!recorded.is_subset(&less), "nothing needs {right:?}");
    }
}
