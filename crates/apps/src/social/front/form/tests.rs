use super::*;

#[test]
fn encoded_and_raw_values_are_the_same() {
    let raw = br#"text=hi @b http://x ["a","b"]&user_id=7&text=second&empty=&bare"#;
    let encoded = b"text=hi+%40b%20http%3a%2F%2Fx+%5B%22a%22%2c%22b%22%5D&user_id=7";
    for bytes in [&raw[..], encoded] {
        let form = Form::read(bytes);
        assert_eq!(form.get("text"), r#"hi @b http://x ["a","b"]"#);
        assert_eq!(form.get("user_id"), "7");
        for missing in ["empty", "bare", "", "TEXT"] {
            assert_eq!(form.get(missing), "");
        }
    }
}

#[test]
fn what_is_broken_is_text() {
    let form = Form::read(b"a=100%&b=%zz%4&c=\xff\xc3\xbc&d=x;y=1&e==&&=&f=%00%C3%BC");
    let values = ["a", "b", "c", "d", "e", "f"].map(|name| form.get(name));
    assert_eq!(values, ["100%", "%zz%4", "\u{fffd}ü", "x;y=1", "=", "\0ü"]);
}

#[test]
fn parameters_beyond_a_hundred_are_ignored() {
    let many = "x=1&".repeat(99) + "last=1&beyond=1";
    let form = Form::read(many.as_bytes());
    assert_eq!((form.get("last"), form.get("beyond")), ("1", ""));
}

#[test]
fn numbers_and_lists_are_checked() {
    assert_eq!(number("stop", "-9223372036854775808").ok(), Some(i64::MIN));
    for wrong in ["", "x", "1.5", "9223372036854775808", "1e3", " 1"] {
        assert!(number("stop", wrong).is_err(), "{wrong}");
    }
    assert_eq!(user_id("user_id", "962").ok(), Some(962));
    assert!(user_id("user_id", "-1").is_err());
    let strings = |list: &[&str]| Some(list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
    assert_eq!(list("media_ids", "").ok(), strings(&[]));
    assert_eq!(list("media_ids", r#"["1", "2"]"#).ok(), strings(&["1", "2"]));
    for wrong in ["{}", "[1]", "[\"1\"", "1", &"[".repeat(100_000)] {
        assert!(list("media_ids", wrong).is_err());
    }
}
