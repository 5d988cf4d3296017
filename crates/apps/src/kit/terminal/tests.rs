use super::*;

#[test]
fn a_terminal_is_told_nothing_by_what_others_say() {
    assert_eq!(harmless("a\tb\nc → d"), "a\tb\nc → d");
    let hostile = "\u{1b}]0;title\u{7}\rok\u{9b}31m\u{7f}\u{202e}";
    assert_eq!(harmless(hostile), "\\u001b]0;title\\u0007\\u000dok\\u009b31m\\u007f\\u202e");
}
