use serde_json::json;

use super::*;

fn pod(status: Value) -> Value {
    json!({
        "metadata": {"name": "geo-0"},
        "spec": {"nodeName": "w1"},
        "status": status,
    })
}

fn with_container(phase: &str, container: Value, ready: &str) -> Value {
    let mut status = json!({"name": CONTAINER, "restartCount": 0});
    for (name, value) in container.as_object().unwrap() {
        status[name] = value.clone();
    }
    pod(json!({
        "phase": phase,
        "conditions": [{"type": "Ready", "status": ready}],
        "containerStatuses": [status],
    }))
}

#[test]
fn a_pod_is_ready_by_its_condition_and_otherwise_says_what_it_waits_for() {
    let running = json!({"state": {"running": {}}});
    assert_eq!(state(&with_container("Running", running.clone(), "True")), State::Ready);
    let waits = |pod: &Value| match state(pod) {
        State::Waiting(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(waits(&with_container("Running", running, "False")), "runs, and is not ready");
    let image =
        json!({"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}});
    assert_eq!(
        waits(&with_container("Pending", image, "False")),
        "ImagePullBackOff: no such image"
    );
    let no_node = pod(json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"},
    ]}));
    assert_eq!(waits(&no_node), "has no node: 0/3 nodes are available");
    let mut ending = with_container("Running", json!({"state": {"running": {}}}), "True");
    ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(waits(&ending), "is about to end");
}

#[test]
fn a_container_that_ended_is_dead_also_if_it_was_started_again() {
    let ended = |code: i64, reason: &str| json!({"exitCode": code, "reason": reason});
    let died = |pod: &Value| match state(pod) {
        State::Died(why) => why,
        other => panic!("{other:?}"),
    };
    let oom = json!({"state": {"terminated": ended(137, "OOMKilled")}});
    assert_eq!(
        died(&with_container("Running", oom, "False")),
        "ended with exit code 137 (OOMKilled)"
    );
    let again = json!({
        "restartCount": 1,
        "state": {"running": {}},
        "lastState": {"terminated": ended(3, "Error")},
    });
    assert_eq!(died(&with_container("Running", again, "True")), "ended with exit code 3");
    let evicted = pod(json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}));
    assert_eq!(died(&evicted), "failed: Evicted: low on memory");
    let done = json!({"state": {"terminated": ended(0, "Completed")}});
    assert_eq!(state(&with_container("Succeeded", done, "False")), State::Succeeded);
}

#[test]
fn the_image_is_named_by_its_digest() {
    let with = |id: &str| with_container("Running", json!({"imageID": id}), "True");
    assert_eq!(image(&with("docker.io/local/benchwright@sha256:12")), Some("sha256:12"));
    assert_eq!(image(&with("sha256:34")), Some("sha256:34"));
    assert_eq!(image(&with("")), None);
}
