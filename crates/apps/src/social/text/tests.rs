use super::*;

fn found(text: &str) -> (Vec<&str>, Vec<String>) {
    (urls(text).into_iter().map(|place| &text[place]).collect(), mentions(text))
}

#[test]
fn mentions_and_urls_are_found_as_in_the_original() {
    for (text, urls, mentions) in [
        ("", &[][..], &[][..]),
        ("hello @username_1 http://abcdef", &["http://abcdef"], &["username_1"]),
        ("https://a.b/c?d=e http:// ftp://x", &["https://a.b"], &[]),
        ("@a@b-c_D9 @ @ü me@example.org", &[], &["a", "b-c_D9", "example"]),
        ("http://ä http://b:80", &["http://b"], &[]),
        ("http://x@y", &["http://x"], &["y"]),
    ] {
        let mentions = mentions.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(found(text), (urls.to_vec(), mentions), "{text}");
    }
}

#[test]
fn urls_are_replaced_and_the_rest_is_kept_or_lost() {
    let url = |shortened_url: &str| Url { shortened_url: shortened_url.into(), ..Url::default() };
    let short = [url("S1"), url("S2")];
    let replaced = |text: &str, lose_tail| {
        let places = urls(text);
        super::replaced(text, &places, &short[..places.len()], Tail { lose_tail })
    };
    for (text, kept, lost) in [
        ("no url", "no url", "no url"),
        ("a http://x b https://y/c ü", "a S1 b S2/c ü", "a S1 b S2"),
        ("http://x", "S1", "S1"),
        ("http://xhttp://y", "S1://y", "S1"),
    ] {
        assert_eq!((&*replaced(text, false), &*replaced(text, true)), (kept, lost));
    }
}
