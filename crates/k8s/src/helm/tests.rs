use std::collections::BTreeMap;
use std::fs;

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

#[test]
fn an_error_of_helm_is_shown_without_the_warnings_before_it() {
    let link = "walk.go:75: found symbolic link in path: hotel/charts/common resolves to common";
    let error = "UPGRADE FAILED: Error: the server refused it";
    assert_eq!(reason(&format!("{link}\nError: {error}")), error);
    assert_eq!(reason("flag needs an argument"), "flag needs an argument");
}

#[test]
fn a_value_with_a_secret_is_a_file_without_a_name_that_only_we_can_read() {
    use std::os::unix::fs::MetadataExt;
    let mut secrets = Secrets::default();
    secrets.find("${env.PASSWORD}", &|_| Some("canary, 1".to_owned()));
    let set = BTreeMap::from([
        ("db.password".to_owned(), json!("${env.PASSWORD}")),
        ("image.tag".to_owned(), json!("1")),
    ]);
    let chart = Chart {
        folder: "chart".into(),
        release: "test".to_owned(),
        namespace: None,
        set,
        service: "test".to_owned(),
        deployment: None,
        via: Via::NodePort,
    };
    let (shown, files) = hidden(&chart, &secrets).unwrap();
    assert_eq!(shown.values(), ["--set-string", "image.tag=1"]);
    let [(path, file)] = &files[..] else { panic!("one value has a secret") };
    assert_eq!(path, "db.password");
    // By a process that we start, as helm is.
    let read = Command::new("cat").arg(file.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&read.stdout), "canary, 1");
    let found = fs::metadata(file.path()).unwrap();
    assert_eq!((found.mode() & 0o777, found.nlink()), (0o600, 0));
}
