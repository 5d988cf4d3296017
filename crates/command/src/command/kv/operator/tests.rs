use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn an_answer_with_another_schema_is_refused() {
    let read = |text| document(Verb::Checkpoint, text);
    assert!(read(r#"{"schema":"benchwright.kv-checkpoint/1","version":7}"#).is_ok());
    for (text, why) in [
        ("null", "another schema than benchwright.kv-checkpoint/1"),
        (r#"{"version":7}"#, "another schema"),
        ("[1e400]", "not a document"),
    ] {
        assert!(read(text).unwrap_err().contains(why), "{text}");
    }
}

#[test]
fn figures_that_are_zero_have_no_line() {
    let document = json!({"total": {
        "accepted": 2, "closed": 0, "operations": {"READ.OK": 12345, "ADD.OK": 7},
    }});
    expect![[r#"
        accepted                               2
        READ.OK                           12,345
        ADD.OK                                 7
    "#]]
    .assert_eq(&figures(&document));
}

#[test]
fn what_became_of_pinned_interrupts_is_shown() {
    let shown = |pinned| figures(&json!({"total": {}, "pin_irq": pinned}));
    expect![[r#"
        --pin-irq                CPU 6-7 serves the interrupts
    "#]]
    .assert_eq(&shown(json!({"pinned": true, "cpus": "6-7"})));
    expect![[r#"
        --pin-irq                no effect: loopback has no interrupts
    "#]]
    .assert_eq(&shown(json!({"pinned": false, "why": "loopback has no interrupts"})));
}
