use super::*;

fn read(content: &[u8]) -> Properties {
    let mut properties = Properties::default();
    properties.read("a.properties", content).unwrap();
    properties
}

/// The names and values that a file sets, with the line of each.
fn set(content: &[u8]) -> Vec<(String, String, usize)> {
    let values = read(content).values.into_iter();
    let line = |place| match place {
        Place::File { line, .. } => line,
        other => panic!("{other}"),
    };
    values.map(|(name, value)| (name, value.text, line(value.place))).collect()
}

fn one(content: &[u8]) -> (String, String) {
    let mut set = set(content);
    assert_eq!(set.len(), 1, "{set:?}");
    let (name, text, _) = set.remove(0);
    (name, text)
}

fn pair(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

#[test]
fn a_key_ends_at_an_equals_sign_a_colon_or_a_blank() {
    for content in ["a=b", "a:b", "a b", "a = b", " \t a\t:\tb", "a\x0cb", "a  =b", "a =b"] {
        assert_eq!(one(content.as_bytes()), pair("a", "b"), "{content:?}");
    }
    assert_eq!(one(b"a==b"), pair("a", "=b"));
    assert_eq!(one(b"a : = b"), pair("a", "= b"));
    assert_eq!(one(b"a\\ b\\=c\\:d=e"), pair("a b=c:d", "e"));
    assert_eq!(one(b"a"), pair("a", ""));
    assert_eq!(one(b"=b"), pair("", "b"));
}

#[test]
fn lines_end_with_lf_cr_or_both() {
    let expected: Vec<_> = [("a", "1", 1), ("b", "2", 2), ("c", "3", 3)]
        .map(|(a, b, line)| (a.into(), b.into(), line))
        .into();
    for content in
        ["a=1\nb=2\nc=3\n", "a=1\rb=2\rc=3", "a=1\r\nb=2\r\nc=3\r\n", "a=1\rb=2\r\nc=3\n"]
    {
        assert_eq!(set(content.as_bytes()), expected, "{content:?}");
    }
}

#[test]
fn a_comment_is_a_line_of_its_own() {
    assert_eq!(one(b"# x=1\n  ! y=2\n\n \t\na=b # c"), pair("a", "b # c"));
    assert_eq!(one(b"# no continuation \\\na=b"), pair("a", "b"));
    assert_eq!(one(b"a=b\\\n#c"), pair("a", "b#c"));
}

#[test]
fn an_odd_number_of_backslashes_continues_a_line() {
    assert_eq!(one(b"a=b,\\\n   c,\\\r\n\td"), pair("a", "b,c,d"));
    assert_eq!(one(b"a=b\\"), pair("a", "b"));
    assert_eq!(
        set(b"a=b\\\\\nc=d\\\\\\\ne"),
        [("a".into(), "b\\".into(), 1), ("c".into(), "d\\e".into(), 2)]
    );
    assert_eq!(set(b"a=\\\n\nb=1"), [("a".into(), String::new(), 1), ("b".into(), "1".into(), 3)]);
}

#[test]
fn escapes_and_latin_1_are_read() {
    assert_eq!(
        one(b"a=\\t\\n\\r\\f\\\\\\q\\u00e9\\uD83D\\uDE00\xe9"),
        pair("a", "\t\n\r\x0c\\q\u{e9}\u{1f600}\u{e9}")
    );
    for (content, why) in [
        (&b"\na=\\u12"[..], "`\\u` needs four hexadecimal digits; write `\\u00e9`"),
        (b"\na=\\u+123", "`\\u` needs four hexadecimal digits; write `\\u00e9`"),
        (b"\na=\\uD83D", "an escape is half a character; write both halves"),
    ] {
        let wrong = Properties::default().read("x", content).unwrap_err();
        assert_eq!(wrong.0, format!("x:2: {why}"));
    }
}

#[test]
fn trailing_blanks_stay_in_texts_and_the_last_duplicate_counts() {
    assert_eq!(
        set(b"a=1 \nb=2\na=3 \t"),
        [("a".into(), "3 \t".into(), 3), ("b".into(), "2".into(), 2)]
    );
    assert_eq!(read(b"recordcount= 7 ").count("recordcount", 0..=9), Ok(7));
}

#[test]
fn an_error_has_the_place_the_value_and_the_remedy() {
    let mut properties = read(b"\nrecordcount=many\nreadproportion=-1\nmeasurementtype=hdr");
    let wrong = properties.count("recordcount", 0..=9_u64).unwrap_err();
    assert_eq!(
        wrong.0,
        "a.properties:2: the property `recordcount` is `many`; write a whole number from 0 to 9"
    );
    let wrong = properties.number("readproportion", 0.0..=f64::MAX).unwrap_err();
    assert_eq!(
        wrong.0,
        "a.properties:3: the property `readproportion` is `-1`; write a number from 0 on"
    );
    let wrong = properties.choice("measurementtype", &[("raw", 1), ("histogram", 2)]).unwrap_err();
    assert_eq!(
        wrong.0,
        "a.properties:4: the property `measurementtype` is `hdr`; write one of: raw, histogram"
    );
    properties.set("recordcount", "", Place::Argument("-p recordcount=".into()));
    let wrong = properties.count("recordcount", 0..=9_u64).unwrap_err();
    assert_eq!(
        wrong.0,
        "-p recordcount=: the property `recordcount` is ``; write a whole number from 0 to 9"
    );
}

#[test]
fn what_nobody_reads_is_warned_about_once() {
    let properties = read(
        b"recordcout=1\nrecordcout=2\nhtrace.x=1\nmeasurement.trackjvm=true\nstatus=yes\nreadallfields=FALSE\n\
          dataintegrity=True\nbasicdb.verbose=false\n",
    );
    expect_test::expect![[r#"
        a.properties:3: the property `htrace.x` has no effect here
        a.properties:4: the property `measurement.trackjvm` has no effect here
        a.properties:2: nothing reads the property `recordcout`; correct its name or remove it
        a.properties:5: the property `status` counts as false, because `yes` is not `true`"#]]
    .assert_eq(&properties.warnings(&[("basicdb.verbose", "true")]).join("\n"));
    assert!(properties.is_true("dataintegrity") && !properties.is_true("readallfields"));
}

#[test]
fn the_table_is_sorted_and_has_each_property_once() {
    assert!(CORE.is_sorted_by(|a, b| a.0 < b.0), "{CORE:?}");
}

#[test]
fn a_property_of_a_binding_that_is_wrong_has_its_place_too() {
    let mut properties = Properties::default();
    let why = "names a server twice";
    let unset = properties.wrong("kv.servers", why);
    assert_eq!(unset.0, "the property `kv.servers` names a server twice");
    properties.set("kv.servers", "a,a", Place::Argument("-p kv.servers=a,a".into()));
    let set = properties.wrong("kv.servers", why);
    assert_eq!(set.0, "-p kv.servers=a,a: the property `kv.servers` names a server twice");
}
