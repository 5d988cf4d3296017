use serde_json::json;

use super::*;

fn pod(name: &str, app: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "labels": {"app": app, "more": "x"}}})
}

fn service(name: &str, selector: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"selector": selector}})
}

/// Returns a slice of a service with these pods, each ready or not.
fn slice(service: &str, pods: &[(&str, bool)]) -> Value {
    let endpoint = |(name, ready): &(&str, bool)| {
        json!({
            "addresses": ["10.0.0.1"],
            "conditions": {"ready": true, "serving": ready},
            "targetRef": {"name": name},
        })
    };
    json!({
        "metadata": {"namespace": "shop", "labels": {SERVICE: service}},
        "endpoints": pods.iter().map(endpoint).collect::<Vec<_>>(),
    })
}

#[test]
fn a_service_is_complete_with_exactly_the_pods_that_it_selects() {
    let services = [
        service("front", &json!({"app": "front"})),
        // Without a selector, or for other pods, it is not ours.
        service("outside", &json!(null)),
        service("other", &json!({"app": "other"})),
    ];
    let pods = [pod("front-1", "front"), pod("front-2", "front"), pod("store-1", "store")];
    let found = |slices: &[Value]| complete(&services, slices, &pods);
    let both = [slice("front", &[("front-1", true)]), slice("front", &[("front-2", true)])];
    assert_eq!(found(&both), Ok(BTreeMap::from([("shop/front".to_owned(), 2)])));
    assert_eq!(found(&both[..1]).unwrap_err(), "1 of 2 endpoints of shop/front are ready");
    assert_eq!(found(&[]).unwrap_err(), "0 of 2 endpoints of shop/front are ready");
    let one_waits = [slice("front", &[("front-1", true), ("front-2", false)])];
    assert_eq!(found(&one_waits).unwrap_err(), "1 of 2 endpoints of shop/front are ready");
    // One that was removed is listed until the cluster has noticed.
    let too_many = [slice("front", &[("front-1", true), ("front-2", true), ("front-3", true)])];
    let why = found(&too_many).unwrap_err();
    assert_eq!(why, "2 of 2 endpoints of shop/front are ready, and 1 others");
}

#[test]
fn what_is_about_to_end_takes_no_requests() {
    let mut ending = slice("front", &[("front-1", true)]);
    ending["endpoints"][0]["conditions"]["terminating"] = json!(true);
    assert!(ready(&[ending])["shop/front"].is_empty());
    let unknown = json!({"addresses": ["10.0.0.1"], "conditions": {}});
    let mut slice = slice("front", &[]);
    slice["endpoints"] = json!([unknown]);
    assert_eq!(ready(&[slice])["shop/front"], BTreeSet::from([("10.0.0.1", "10.0.0.1")]));
}
