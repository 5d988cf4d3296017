use serde_json::json;

use super::*;

#[test]
fn a_right_is_missing_if_the_server_does_not_grant_it() {
    let event = |verb: &str, decision: &str, code: u16| {
        json!({
            "verb": verb,
            "objectRef": {"apiGroup": "coordination.k8s.io", "resource": "leases"},
            "responseStatus": {"code": code},
            "annotations": {"authorization.k8s.io/decision": decision},
        })
    };
    // A lease that was renewed while its namespace ended, and one that was never granted.
    let text = format!("{}\n{}\n", event("patch", "allow", 403), event("list", "forbid", 403));
    let (used, refused) = calls(&text);
    assert_eq!(lines(&used), ["patch coordination.k8s.io leases"]);
    assert_eq!(lines(&refused), ["list coordination.k8s.io leases"]);
}
