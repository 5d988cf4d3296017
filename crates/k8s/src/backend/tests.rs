use std::collections::BTreeMap;

use lab::backend::{Foreign, Limits};
use lab::spec::{Files, Port};
use serde_json::json;

use super::readiness::{Readiness, missing, remedy};
use super::*;

fn service(replicas: u32) -> Service {
    Service {
        name: "geo".to_owned(),
        component: "geo".to_owned(),
        replicas,
        command: vec!["benchwright".to_owned()],
        environment: BTreeMap::new(),
        files: Files::default(),
        scheme: None,
        foreign: None,
        limits: Limits::default(),
        ready_within: Nanos::from_secs(30),
        role: "sut",
        chart: None,
        manifest: None,
    }
}

fn pod(name: &str, ready: bool) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"nodeName": "w1"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
        },
    })
}

#[test]
fn a_service_is_ready_with_exactly_its_replicas() {
    let two = [pod("geo-0", true), pod("geo-1", true)];
    assert_eq!(missing(&service(2), &two), Readiness::Ready);
    let waits = |replicas: u32, pods: &[Value]| match missing(&service(replicas), pods) {
        Readiness::Waiting(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(waits(3, &two), "2 of 3 pods are ready");
    let one = [pod("geo-0", true), pod("geo-1", false)];
    assert_eq!(waits(2, &one), "1 of 2 pods are ready; geo-1: runs, and is not ready");
    // One that ends is still there: another set of addresses would be measured.
    let mut ending = pod("geo-1", true);
    ending["metadata"]["deletionTimestamp"] = json!("2026-11-23T00:00:00Z");
    let why = waits(1, &[pod("geo-0", true), ending]);
    assert_eq!(why, "1 of 1 pods are ready; geo-1: is about to end");
}

#[test]
fn only_a_program_that_got_our_option_is_told_of_it() {
    let of = |command: &[&str]| {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        remedy(&Service { command, ..service(1) })
    };
    assert_eq!(
        of(&["./svc", "-x"]),
        "; we appended `--listen ADDRESS:PORT` to its command, and await a connection there: if it knows nothing of \
         that, write `port: auto` beside its command, and ${port} where the command names the port"
    );
    assert_eq!(of(&["./svc", "--at=${listen}"]), "");
    assert_eq!(of(&["benchwright", "reference"]), "");
    // Charts and files have commands of their own.
    assert_eq!(of(&[]), "");
    let foreign = Foreign { port: Port::Auto, tcp: true, log: None };
    let command = vec!["./svc".to_owned()];
    assert_eq!(remedy(&Service { command, foreign: Some(foreign), ..service(1) }), "");
}

#[test]
fn replicas_have_the_labs_names() {
    assert_eq!(replica_of(&service(1), "geo-0"), "geo");
    assert_eq!(replica_of(&service(2), "geo-1"), "geo.2");
    assert_eq!(replica_of(&service(1), "geo-7"), "geo-7");
}

#[test]
fn a_process_of_another_machine_is_never_called_dead() {
    assert!(!is_dead(""));
    assert!(!is_dead("another-boot/1-1"));
    let boot = host::boot().unwrap();
    assert!(!is_dead(&format!("{boot}/{}", RunId::next())));
    assert!(is_dead(&format!("{boot}/{}-1", std::process::id())));
}

#[test]
fn a_deployment_has_its_replicas_once_the_cluster_has_seen_and_made_them() {
    let of = |generation: u32, asked: u32, there: u32, available: u32| {
        let deployment = json!({
            "metadata": {"name": "users", "generation": 4},
            "spec": {"replicas": asked},
            "status": {
                "observedGeneration": generation,
                "replicas": there,
                "updatedReplicas": there,
                "availableReplicas": available,
            },
        });
        charts::lacks(&deployment, 2).unwrap_or_default()
    };
    assert_eq!(of(4, 2, 2, 2), "");
    assert_eq!(of(3, 2, 2, 2), "the cluster has not seen the change of users yet");
    assert_eq!(of(4, 2, 3, 3), "users has 3 replicas, not 2");
    assert_eq!(of(4, 2, 2, 1), "users has 1 availableReplicas, not 2");
    assert_eq!(of(4, 5, 5, 5), "users was given 5 replicas by somebody else, not 2");
    // A field without pods is absent.
    let none = json!({"metadata": {"name": "users"}, "spec": {"replicas": 2}, "status": {}});
    assert_eq!(charts::lacks(&none, 2).unwrap(), "users has 0 replicas, not 2");
}
