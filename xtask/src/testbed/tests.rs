use std::collections::BTreeSet;

use serde_json::json;

use super::cluster::name;
use super::*;

#[test]
fn objects_that_a_run_left_or_removed_are_named() {
    let objects = |names: &[&str]| -> BTreeSet<String> {
        let object = |name: &&str| match name.split_once('/') {
            Some((space, name)) => {
                json!({"kind": "Pod", "metadata": {"namespace": space, "name": name}})
            }
            None => json!({"kind": "Node", "metadata": {"name": name}}),
        };
        names.iter().map(object).map(|object| name(&object)).collect()
    };
    let before = objects(&["w1", "a/one", "a/two"]);
    assert_eq!(differences(&before, &before), [""; 0]);
    let after = objects(&["w1", "a/two", "b/three"]);
    assert_eq!(differences(&before, &after), ["- Pod a/one", "+ Pod b/three"]);
}

#[test]
fn a_pod_that_its_replica_set_replaced_is_the_same() {
    let pod = |own: &str, kind: &str| {
        let owners = json!([{"kind": kind, "name": "dns-1"}]);
        let metadata = json!({"namespace": "a", "name": own, "ownerReferences": owners});
        name(&json!({"kind": "Pod", "metadata": metadata}))
    };
    assert_eq!(pod("dns-1-x", "ReplicaSet"), "Pod a/dns-1-*");
    assert_eq!(pod("dns-1-x", "ReplicaSet"), pod("dns-1-y", "ReplicaSet"));
    assert_eq!(pod("dns-1-0", "StatefulSet"), "Pod a/dns-1-0");
}

#[test]
fn the_cluster_says_where_its_configuration_and_programs_are() {
    let line = "export KUBECONFIG=/var/cache/kc/state/kc0/admin.kubeconfig PATH=/a/bin:$PATH\n";
    let cluster = Cluster::named(line).unwrap();
    assert_eq!(cluster.kubeconfig, "/var/cache/kc/state/kc0/admin.kubeconfig");
    assert_eq!(cluster.programs, "/a/bin");
    assert!(Cluster::named("").is_none());
}

#[test]
fn an_unknown_task_is_refused() {
    let wrong = [&["check", "--help"][..], &["check", "charts", "none"], &["check", "--longer"]];
    for words in [&[][..], &["start"], &["run"], &["run", "--keep"]].into_iter().chain(wrong) {
        assert_eq!(run(words), None, "{words:?}");
    }
}
