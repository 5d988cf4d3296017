use super::*;

#[test]
fn a_terminal_is_told_nothing_by_what_others_say() {
    assert_eq!(harmless("a\tb\nc → d"), "a\tb\nc → d");
    assert_eq!(harmless("a\r\nb"), "a\r\nb");
    let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\rok\u{9b}31m\u{7f}";
    assert_eq!(harmless(hostile), "\\u001b]0;title\\u0007\\u001b[2J\\u000dok\\u009b31m\\u007f");
    assert_eq!(harmless("a\u{202e}b\u{2066}"), "a\\u202eb\\u2066");
    // A JSON document stays the same document.
    let document = serde_json::json!({ "body": hostile, "plain": "é" });
    let read: serde_json::Value = serde_json::from_str(&harmless(&json(&document))).unwrap();
    assert_eq!(read, document);
}
