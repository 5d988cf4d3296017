use super::*;

fn data() -> Data {
    Data::read("d.csv", "id,full name,path\n7,Ann Ömer,/a b?x=1&y=%20\n8,B/b,/c#\n").unwrap()
}

fn names(data: &Data) -> Names<'_> {
    Names { data: Some(data), ..Names::default() }
}

fn write(text: &str, place: Part, number: u64) -> String {
    let data = data();
    let mut template = Template::default();
    template.compile(text, place, names(&data)).unwrap_or_else(|wrong| panic!("{}", wrong.what));
    let mut out = Vec::new();
    let random = Random::part(1, number);
    let clock = || 1_700_000_000_123;
    let captured = Captured::None;
    let data = Some(&data);
    let mut filling = Filling { number, connection: 3, random, data, clock, captured, begin: 0 };
    template.write(&mut filling, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn placeholders_are_replaced_by_their_values() {
    for (text, written) in [
        ("plain { } }} text", "plain { } }} text"),
        ("{{seq}}-{{ seq }}", "5-5"),
        ("{{int -3 -3}}{{int 9223372036854775807 9223372036854775807}}", "-39223372036854775807"),
        ("{{int -9223372036854775808 -9223372036854775808}}", "-9223372036854775808"),
        ("{{uniform 1.5 1.5}} {{uniform -2 -2 0}} {{uniform 1e3 1e3 2}}", "1.500000 -2 1000.00"),
        ("{{zipf -4 -4}}{{zipf 0 9 20}}", "-40"),
        ("{{time_ms}} {{connection}}", "1700000000123 3"),
        ("{{row.id}} {{ row.full name }}", "8 B/b"),
        ("{\"a\":{\"b\":{{seq}}}}", "{\"a\":{\"b\":5}}"),
        ("", ""),
    ] {
        assert_eq!(write(text, Part::Body, 5), written, "{text}");
    }
    assert_eq!(write("/{{row.full name}}", Part::Target, 0), "/Ann%20%C3%96mer");
    assert_eq!(write("{{row.path}}", Part::Target, 0), "/a%20b?x=1&y=%20");
    assert_eq!(write("{{row.path}}", Part::Target, 1), "/c%23");
    assert_eq!(write("a\tb {{row.full name}}", Part::Field, 0), "a\tb Ann Ömer");
}

#[test]
fn random_values_have_the_requested_form_and_distribution() {
    let mut counts = [0u32; 6];
    let (mut low, mut high) = (f64::MAX, f64::MIN);
    for number in 0..60_000 {
        let text = write(
            "{{int 0 5}} {{uniform -1 1 3}} {{hex 5}} {{hex 17}} {{uuid}}",
            Part::Body,
            number,
        );
        let words: Vec<&str> = text.split(' ').collect();
        counts[words[0].parse::<usize>().unwrap()] += 1;
        let value: f64 = words[1].parse().unwrap();
        (low, high) = (low.min(value), high.max(value));
        assert_eq!(words[1].split_once('.').unwrap().1.len(), 3);
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        assert!([5, 17] == [words[2].len(), words[3].len()] && words[3].chars().all(is_hex));
        let lengths: Vec<usize> = words[4].split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{}", words[4]);
        assert!(words[4][14..].starts_with('4') && "89ab".contains(&words[4][19..20]), "{text}");
    }
    // 10,000 ± 4σ, σ = √(60,000 · 1/6 · 5/6) = 91.
    assert!(counts.iter().all(|count| (9_635..=10_365).contains(count)), "{counts:?}");
    assert!((-1.0..-0.99).contains(&low) && (0.99..=1.0).contains(&high), "{low} … {high}");
    let whole = write("{{int -9223372036854775808 9223372036854775807}}", Part::Body, 1);
    assert!(whole.parse::<i64>().is_ok(), "{whole}");
}

#[test]
fn an_invalid_placeholder_is_refused_with_the_remedy() {
    let data = data();
    let int = "{{int A B}}, whole numbers with A not above B";
    let zipf = "{{zipf A B}} or {{zipf A B S}}, whole numbers with A not above B, S in (0, 20]";
    let uniform = "{{uniform A B}} or {{uniform A B DECIMALS}}, A not above B, decimals up to 17";
    let unread = |written: &str, form: &str| format!("0 `{written}` is not valid; write {form}");
    for (text, wrong) in [
        ("{{int 5}}", unread("{{int 5}}", int)),
        ("{{int 5 4}}", unread("{{int 5 4}}", int)),
        ("{{int 1 2.5}}", unread("{{int 1 2.5}}", int)),
        ("{{int 1 9223372036854775808}}", unread("{{int 1 9223372036854775808}}", int)),
        ("{{zipf 1 9 0}}", unread("{{zipf 1 9 0}}", zipf)),
        ("{{zipf 1 9 1 1}}", unread("{{zipf 1 9 1 1}}", zipf)),
        ("{{zipf 0 9007199254740992}}", unread("{{zipf 0 9007199254740992}}", zipf)),
        ("{{uniform 2 1}}", unread("{{uniform 2 1}}", uniform)),
        ("{{uniform 1 inf}}", unread("{{uniform 1 inf}}", uniform)),
        ("{{uniform NaN 1}}", unread("{{uniform NaN 1}}", uniform)),
        ("{{uniform 1 2 18}}", unread("{{uniform 1 2 18}}", uniform)),
        ("{{hex 0}}", unread("{{hex 0}}", "{{hex N}}, N from 1 to 65536")),
        ("{{hex 65537}}", unread("{{hex 65537}}", "{{hex N}}, N from 1 to 65536")),
        ("{{uuid 4}}", unread("{{uuid 4}}", "{{uuid}}")),
        (
            "ab{{ rand 1 }}",
            "2 `{{ rand 1 }}` is not a placeholder; write one of seq, int, uniform, zipf, hex, uuid, \
             time_ms, connection, row.COLUMN, session.NAME"
                .into(),
        ),
        (
            "ab{{seq}",
            "2 `{{` begins a placeholder, which must end with `}}`; a file named by `body_file` is \
             sent unchanged"
                .into(),
        ),
        ("{{row.nam}}", "0 the data has no column `nam`; write one of id, full name, path".into()),
    ] {
        let found = Template::default().compile(text, Part::Body, names(&data)).unwrap_err();
        assert_eq!(format!("{} {}", found.at, found.what), wrong, "{text}");
    }
    let without =
        Template::default().compile("{{row.id}}", Part::Body, Names::default()).unwrap_err();
    assert_eq!(without.what, "`{{row.id}}` needs a table; name its file with --data");
}

#[test]
fn a_character_that_is_not_allowed_in_a_place_is_refused() {
    let data = Data::read("d.csv", "ok,bad\nx,y\nz,\"a\nb\"\n").unwrap();
    for (text, place, wrong) in [
        (
            "/a b",
            Part::Target,
            "2 ' ' is not allowed here; write it percent-encoded, such as %20 for a space",
        ),
        (
            "/{{seq}}/é",
            Part::Target,
            "9 'é' is not allowed here; write it percent-encoded, such as %20 for a space",
        ),
        (
            "/#x",
            Part::Target,
            "1 '#' is not allowed here; write it percent-encoded, such as %20 for a space",
        ),
        ("x\r\ny", Part::Field, "1 '\\r' is not allowed here; leave it out"),
        (
            "{{row.bad}}",
            Part::Field,
            "0 `bad` has a line break or control character at d.csv:3, which is not allowed in a \
             header; remove it there",
        ),
    ] {
        let found = Template::default().compile(text, place, names(&data)).unwrap_err();
        assert_eq!(format!("{} {}", found.at, found.what), wrong, "{text}");
    }
    for (text, place) in [
        ("{{row.ok}}é", Part::Field),
        ("{{row.bad}}\r\n é#", Part::Body),
        ("{{row.bad}}", Part::Target),
    ] {
        assert_eq!(Template::default().compile(text, place, names(&data)), Ok(()), "{text}");
    }
}
