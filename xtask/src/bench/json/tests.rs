use super::*;

#[test]
fn figures_are_found_by_their_path() {
    let document = r#" {"counts": {"intended": 15, "sent": -1.5e3},
        "gates": [{"name": "late \"p99\" \u00b5s", "passed": false}, {}], "none": [], "ok": true,
        "nothing": null} "#;
    let read = Value::read(document).unwrap();
    assert_eq!(read.number("counts.intended"), Some(15.0));
    assert_eq!(read.number("counts.sent"), Some(-1500.0));
    assert_eq!(read.number("counts"), None);
    assert_eq!(read.number("counts.intended.more"), None);
    assert_eq!(read.list("gates")[0].text("name"), Some("late \"p99\" µs"));
    assert_eq!(read.list("gates").len(), 2);
    assert_eq!(read.list("none"), []);
    assert_eq!(read.list("absent"), []);
    assert!(read.is_true("ok") && !read.is_true("nothing") && !read.is_true("absent"));
}

#[test]
fn an_incomplete_document_or_one_with_more_behind_it_is_refused() {
    for text in ["", "{", "[1,", "{\"a\"}", "{\"a\":1,}", "\"a", "{} {}", "NaN", "inf", "[1 2]"] {
        assert_eq!(Value::read(text), None, "{text}");
    }
}
