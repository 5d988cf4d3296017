use std::collections::BTreeMap;

use lab::spec::Via;
use serde_json::json;

use super::*;

#[test]
fn values_are_given_as_on_a_command_line() {
    let set = BTreeMap::from([
        ("replicaCount".to_owned(), json!(6)),
        ("image.tag".to_owned(), json!("1")),
        ("global.spread".to_owned(), json!("a, b\\c")),
        ("review.enabled".to_owned(), json!(false)),
    ]);
    let chart = Chart {
        folder: "deploy/charts/hotel".into(),
        release: "test".to_owned(),
        namespace: None,
        set,
        service: "frontend-test-hotelres".to_owned(),
        deployment: None,
        via: Via::NodePort,
    };
    let within = Nanos::from_millis(90_500);
    let words = arguments(&chart, "hotel-res1", within, &json!({})).join(" ");
    assert_eq!(
        words,
        "upgrade --install test deploy/charts/hotel --namespace hotel-res1 --wait --timeout=91s \
         --set-json=affinity={} --set-string global.spread=a\\, b\\\\c --set-string image.tag=1 --set replicaCount=6 \
         --set review.enabled=false"
    );
}
