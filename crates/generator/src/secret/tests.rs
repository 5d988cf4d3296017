use results::load::{Group, Part, Target};

use super::*;

const KEY: &str = "PlAiNsEcReT99";

/// A load whose URL has a key, and which failed.
fn document() -> results::Load {
    let mut load = results::Load::empty("benchwright");
    let path = format!("/a?api_key={KEY}&page=7");
    let outcomes = [("ok".to_owned(), 166), ("status".to_owned(), 41)].into();
    let mut part = Part { outcomes, ..Part::default() };
    (part.counts.intended, part.counts.ok, part.counts.failed) = (207, 166, 41);
    let reason = |value: &str| format!("check: body~/b?token={value}");
    part.reasons =
        [("status: 404".to_owned(), 39), (reason(KEY), 1), (reason("an-other"), 1)].into();
    part.outcomes.insert("check".to_owned(), 2);
    part.outcomes.insert("status".to_owned(), 39);
    let url = results::secrets::without_plain(&format!("http://127.0.0.1:80{path}"));
    load.targets = vec![Target { url, path: Some(path.clone()), part: part.clone() }];
    load.total = part;
    load.findings = vec![format!("the target closed {path}")];
    load.warnings = vec![format!("slow: {path}")];
    load.validity.valid = false;
    load.validity.reasons = vec![format!("lost: {path}")];
    load.failures = failing::of(&load);
    load
}

#[test]
fn nothing_that_leaves_a_load_has_a_secret_of_its_query() {
    let mut load = document();
    hide(&mut load, &Secrets::default());
    let json = serde_json::to_string(&load).unwrap();
    let all = [json, crate::text::of(&load), report::load::render(&load)];
    for text in &all {
        assert!(!text.contains(KEY) && !text.contains("an-other"), "{text}");
        assert!(text.contains("/a?api_key=(redacted)&"), "{text}");
        assert!(text.contains("page=7"), "what is no secret stays: {text}");
    }
    let path = "/a?api_key=(redacted)&page=7";
    let [failure, ..] = &load.failures[..] else { panic!("{:?}", load.failures) };
    assert_eq!(failure.text, format!("404 for 39 of 207 requests to {path}"));
    assert_eq!(failure.to.as_deref(), Some(path));
    assert_eq!(load.targets[0].path.as_deref(), Some(path));
    // Reasons that differed only by their secrets are one, with all of its requests.
    assert_eq!(load.total.reasons["check: body~/b?token=(redacted)"], 2);
}

#[test]
fn labels_that_are_equal_without_their_secrets_stay_apart() {
    let names = ["GET /a?token=abcd1", "GET /b?page=7", "GET /a?token=abcd2"];
    let shown = labels(names.map(str::to_owned).into());
    assert_eq!(shown, ["GET /a?token=(redacted)", "GET /b?page=7", "GET /a?token=(redacted) 3"]);
}

#[test]
fn a_failure_to_make_the_load_shows_no_secret_of_its_query() {
    let failure = Failure::question(format!("finding the address of http://a/?token={KEY}: no"));
    let shown = hidden(failure, &Secrets::default()).error.to_string();
    assert_eq!(shown, "finding the address of http://a/?token=(redacted): no");
}

#[test]
fn the_reasons_of_labels_and_segments_have_no_secret_either() {
    let mut load = document();
    let group = Group {
        completed: 207,
        failed: 41,
        outcomes: load.total.outcomes.clone(),
        reasons: load.total.reasons.clone(),
        ok_statuses: std::collections::BTreeMap::new(),
        response_time: None,
        service_time: None,
    };
    load.labels = [("search".to_owned(), group)].into();
    hide(&mut load, &Secrets::default());
    let json = serde_json::to_string(&load).unwrap();
    assert!(!json.contains(KEY), "{json}");
}
