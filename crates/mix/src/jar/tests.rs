use super::*;

const NOW: u64 = 1_700_000_000_000;

fn set(jar: &mut Jar, target: &str, field: &str) -> bool {
    jar.set(field.as_bytes(), Setter { host: "shop.example", target: target.as_bytes(), now: NOW })
}

fn sent(jar: &Jar, target: &str, now: u64) -> String {
    let mut out = target.as_bytes().to_vec();
    jar.write_for(0..target.len(), now, &mut out);
    String::from_utf8(out.split_off(target.len())).unwrap()
}

#[test]
fn a_cookie_is_sent_where_its_path_leads() {
    let mut jar = Jar::default();
    for field in ["sid=a=b; Path=/; HttpOnly; Secure", "cart=7", "deep = x ; path=/shop/cart"] {
        assert!(set(&mut jar, "/shop/login?next=/x/y", field));
    }
    assert_eq!(sent(&jar, "/", NOW), "Cookie: sid=a=b\r\n");
    assert_eq!(sent(&jar, "/shop?a=1", NOW), "Cookie: sid=a=b; cart=7\r\n");
    assert_eq!(sent(&jar, "/shopping", NOW), "Cookie: sid=a=b\r\n");
    assert_eq!(sent(&jar, "/shop/cart/1", NOW), "Cookie: sid=a=b; cart=7; deep=x\r\n");
    jar.clear();
    assert_eq!(sent(&jar, "/shop/cart/1", NOW), "");
}

#[test]
fn a_later_cookie_replaces_one_of_the_same_name_and_path() {
    let mut jar = Jar::default();
    assert!(set(&mut jar, "/a", "sid=1"));
    assert!(set(&mut jar, "/b", "sid=2"));
    assert_eq!(sent(&jar, "/", NOW), "Cookie: sid=2\r\n");
    assert!(set(&mut jar, "/b", "sid=gone; Max-Age=0"));
    assert_eq!(sent(&jar, "/", NOW), "");
}

#[test]
fn a_cookie_ends_with_its_time() {
    let mut jar = Jar::default();
    assert!(set(&mut jar, "/", "a=1; Max-Age=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT"));
    assert!(set(&mut jar, "/", "b=2; Expires=Tue, 14 Nov 2023 22:13:21 GMT"));
    assert!(set(&mut jar, "/", "c=3; Expires=Thu, 01-Jan-1970 00:00:00 GMT"));
    assert!(set(&mut jar, "/", "d=4; Max-Age=x; Expires=whenever"));
    assert_eq!(sent(&jar, "/", NOW), "Cookie: a=1; b=2; d=4\r\n");
    assert_eq!(sent(&jar, "/", NOW + 1000), "Cookie: a=1; d=4\r\n");
    assert_eq!(sent(&jar, "/", NOW + 2000), "Cookie: d=4\r\n");
}

#[test]
fn a_cookie_of_another_domain_is_ignored() {
    let mut jar = Jar::default();
    for (field, is_taken) in [
        ("a=1; Domain=shop.example", true),
        ("a=1; Domain=.EXAMPLE", true),
        ("a=1; Domain=", true),
        ("a=1; Domain=op.example", false),
        ("a=1; Domain=other.example", false),
        ("a=1; Domain=www.shop.example", false),
        ("no pair", false),
        ("=nameless", false),
    ] {
        jar.clear();
        assert!(set(&mut jar, "/", field));
        assert_eq!(!sent(&jar, "/", NOW).is_empty(), is_taken, "{field}");
    }
}

#[test]
fn more_and_larger_cookies_than_the_bounds_are_refused() {
    let mut jar = Jar::default();
    for number in 0..MOST_COOKIES {
        assert!(set(&mut jar, "/", &format!("c{number}=1")));
    }
    assert!(!set(&mut jar, "/", "more=1"));
    assert!(set(&mut jar, "/", "c3=2"), "a known one may change");
    assert!(set(&mut jar, "/", "c3=2; Max-Age=-5"));
    assert!(set(&mut jar, "/", "more=1"));
    assert!(!set(&mut jar, "/", &format!("more={}", "x".repeat(MOST_BYTES))));
}

#[test]
fn dates_are_read_in_all_usual_forms() {
    for (text, expected) in [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
        ("Wed, 31 Dec 1969 23:59:59 GMT", Some(0)),
        ("Wednesday, 09-Nov-99 23:12:40 GMT", Some(942_189_160_000)),
        ("Thu, 29 Feb 2024 12:00:00 GMT", Some(1_709_208_000_000)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799_000)),
        ("Fri, 31 Foo 2024 23:59:59 GMT", None),
        ("2024-02-29", None),
        ("", None),
    ] {
        assert_eq!(date(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn an_address_has_no_domains_above_it() {
    for (domain, expected) in [("127.0.0.1", true), ("0.0.1", false), ("1", false), (".1", false)] {
        assert_eq!(matches_domain("127.0.0.1", domain.as_bytes()), expected, "{domain}");
    }
}
