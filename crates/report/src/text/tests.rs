use super::*;

#[test]
fn markup_becomes_text() {
    assert_eq!(
        escape("<a href=\"x\">&'</a>\n").to_string(),
        "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;\n"
    );
}

#[test]
fn characters_that_would_rearrange_a_page_are_replaced() {
    assert_eq!(
        escape("a\u{1b}[1m\u{0}b\u{202e}c\td").to_string(),
        "a\u{fffd}[1m\u{fffd}b\u{fffd}c\td"
    );
}

#[test]
fn numbers_are_written_for_people() {
    let written = [
        integer(0),
        integer(16),
        integer(12_388_581),
        count(1, "trial"),
        count(16, "trial"),
        rate(3_712.0),
        share(863.0, 1_000.0),
        share(9_943.0, 1e4),
        share(1.0, 1.0),
        share(0.0, 0.0),
        tick_number(0.5),
        tick_number(2_500.0),
        tick_time(0.0),
        tick_time(2e5),
        tick_time(1e9),
        list(&["a".into(), "b".into(), "c".into()]),
    ];
    assert_eq!(
        written.join("|"),
        "0|16|12,388,581|1 trial|16 trials|3,712/s|86 %|99.4 %|100 %|–|0.5|2,500|0|200 µs|1 s|a, b and c"
    );
}

#[test]
fn dates_name_their_zone() {
    assert_eq!(date(1_795_254_120), "2026-11-21 09:42 UTC");
}
