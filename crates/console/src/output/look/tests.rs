use std::collections::BTreeMap;

use expect_test::expect;

use super::*;

/// Returns true if a program with these variables has colours on a terminal, and in a pipe.
fn colours(variables: &[(&str, &str)]) -> [bool; 2] {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    let variable = |name: &str| variables.get(name).map(OsString::from);
    [true, false].map(|is_terminal| decide(is_terminal, variable))
}

#[test]
fn colours_are_as_the_terminal_and_the_user_say() {
    let terminal = ("TERM", "xterm-256color");
    assert_eq!(colours(&[terminal]), [true, false], "a pipe has none");
    assert_eq!(colours(&[]), [false, false], "nothing is known of this terminal");
    assert_eq!(colours(&[("TERM", "dumb")]), [false, false]);
    assert_eq!(colours(&[terminal, ("NO_COLOR", "1")]), [false, false]);
    assert_eq!(colours(&[terminal, ("NO_COLOR", "")]), [true, false], "an empty one says nothing");
    assert_eq!(colours(&[terminal, ("CLICOLOR", "0")]), [false, false]);
    assert_eq!(colours(&[terminal, ("CLICOLOR_FORCE", "1")]), [true, true]);
    assert_eq!(colours(&[("CLICOLOR_FORCE", "1")]), [true, true]);
    assert_eq!(colours(&[terminal, ("CLICOLOR_FORCE", "0")]), [true, false]);
    let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1"), terminal];
    assert_eq!(colours(&both), [false, false], "who wants none has none");
}

const TEXT: &str = "\
found: the server closes the connection after each response
label           completed    failed    p50    p99   much further than the last column
  the reason is a word without_any_place_to_break_it_that_is_longer_than_the_line
valid.
";

#[test]
fn sentences_are_broken_between_words_and_tables_are_not() {
    let look = Look { has_colours: false, width: Some(40) };
    expect![[r#"
        found: the server closes the connection
          after each response
        label           completed    failed    p50    p99   much further than the last column
          the reason is a word
            without_any_place_to_break_it_that_is_longer_than_the_line
        valid.
    "#]]
    .assert_eq(&look.shown(TEXT, &[("valid", Mark::Good)]));
    assert_eq!(
        Look::default().shown(TEXT, &[("valid", Mark::Good)]),
        TEXT,
        "a pipe gets it as it is"
    );
}

#[test]
fn the_word_that_begins_a_sentence_has_the_colour() {
    let look = Look { has_colours: true, width: None };
    let marks = [("found:", Mark::Middling), ("label", Mark::Bad), ("valid", Mark::Good)];
    let shown = look.shown(TEXT, &marks);
    let coloured: Vec<&str> = shown.lines().filter(|line| line.contains('\x1b')).collect();
    assert_eq!(
        coloured,
        [
            "\x1b[33mfound:\x1b[0m the server closes the connection after each response",
            "\x1b[32mvalid\x1b[0m."
        ]
    );
}

#[test]
fn a_terminal_that_only_prints_lines_gets_no_line_that_is_overwritten() {
    assert!(can_move(Some("xterm".into())));
    assert!(![None, Some("".into()), Some("dumb".into())].into_iter().any(can_move));
}
