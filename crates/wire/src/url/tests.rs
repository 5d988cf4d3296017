use super::*;

fn read(url: &str) -> String {
    match parse(url) {
        Ok(Url { scheme, user_info, place, authority, target }) => {
            let user = user_info.map_or(String::new(), |user| format!("{user} at "));
            let place = match place {
                Destination::Host(host, port) => format!("{host} {port:?}"),
                Destination::Socket(path) => format!("socket {path}"),
            };
            format!("{scheme} {user}{place} {authority} {target}")
        }
        Err(why) => why,
    }
}

#[test]
fn a_url_names_a_place_and_what_is_requested_there() {
    for (url, expected) in [
        ("http://host", "http host None host /"),
        ("http://host/", "http host None host /"),
        ("http://host:1/a?b=c#d", "http host Some(1) host:1 /a?b=c"),
        ("http://host?x=1", "http host None host /?x=1"),
        ("http://host:80?x=1#y", "http host Some(80) host:80 /?x=1"),
        ("http://host#top", "http host None host /"),
        ("HTTPS://host:65535//a", "https host Some(65535) host:65535 //a"),
        ("http://[::1]:8080/a:b", "http ::1 Some(8080) [::1]:8080 /a:b"),
        ("http://[fe80::1%eth0]/", "http fe80::1%eth0 None [fe80::1%eth0] /"),
        ("http://me:p@ss@host:80/", "http me:p@ss at host Some(80) host:80 /"),
        ("http+unix://%2Frun%2Fa.sock/x?y", "http socket /run/a.sock localhost /x?y"),
        ("http+unix://%2Frun%2Fa.sock?y", "http socket /run/a.sock localhost /?y"),
    ] {
        assert_eq!(read(url), expected, "{url}");
    }
}

#[test]
fn what_cannot_be_parsed_is_an_error_with_the_remedy() {
    for (url, remedy) in [
        ("host:80/", "write http://host:80/"),
        ("ftp://host/", "there are `http`, `https` and `http+unix`"),
        ("http://", "names no host"),
        ("http://:80/", "names no host"),
        ("http://host:/", "a number from 1 to 65535"),
        ("http://host:0/", "a number from 1 to 65535"),
        ("http://host:65536/", "a number from 1 to 65535"),
        ("http://host:99999", "a number from 1 to 65535"),
        ("http://host:+80/", "a number from 1 to 65535"),
        ("http://host:80x/", "a number from 1 to 65535"),
        ("http://::1/", "in brackets: [::1]"),
        ("http://[::1/", "not closed"),
        ("http://[host]/", "not an IPv6 address"),
        ("http://[host%lo]/", "not an IPv6 address"),
        ("http://[::1%]/", "not an IPv6 address"),
        ("http://[::1%25lo]:7002/", "only an address of a link (fe80::…) has a zone; write [::1]"),
        ("http://[::1%lo]:7002/", "only an address of a link (fe80::…) has a zone; write [::1]"),
        ("http://[fe80::1%25eth0]/", "write its zone without an escape: [fe80::1%eth0]"),
        ("http://[::1]80/", "write :PORT"),
        ("http://me:secret@/", "names no host"),
        ("http://a b/", "not a valid host name"),
        ("http://höst/", "not a valid host name"),
        (" http://host/", "is not supported"),
        ("KV://host", "is a store, which needs a workload of YCSB"),
        ("http://host/a b", "percent-encoded"),
        ("http://host/ä", "percent-encoded"),
        ("http://host/a\r\nHost: other", "percent-encoded"),
        ("http+unix://run/x", "names no socket"),
        ("http+unix://%2/x", "names no socket"),
    ] {
        let why = parse(url).unwrap_err();
        assert!(why.contains(remedy), "{url}: {why}");
    }
}

/// The port that it seems to have is a part of the password.
#[test]
fn a_password_that_ends_the_authority_is_not_repeated_in_the_error() {
    for url in ["http://u:s3/cr@h:1/", "http://u:s3?cr@h/", "https://u:s3#cr@h/x"] {
        let error = parse(url).unwrap_err();
        assert!(error.contains("write %2F") && !error.contains("s3"), "{error}");
    }
    assert!(parse("http://h:80/a@b").is_ok());
    assert!(parse("http://h:x/a").unwrap_err().contains("not a valid port"));
}

fn served(url: &str) -> String {
    match server(url) {
        Ok(Server { scheme, place, port, url, .. }) => format!("{scheme} {place:?} {port:?} {url}"),
        Err(why) => why,
    }
}

#[test]
fn a_server_may_speak_any_protocol() {
    let host = |host: &str, port| format!("{:?}", Destination::Host(host.to_owned(), port));
    for (url, scheme, place, port, whole) in [
        ("kv://127.0.0.1:7720", "kv", host("127.0.0.1", Some(7720)), 7720, "kv://127.0.0.1:7720"),
        ("http://h", "http", host("h", None), 80, "http://h:80"),
        ("HTTPS://h/a?b", "https", host("h", None), 443, "HTTPS://h:443/a?b"),
        ("redis://me:p@[::1]/0", "redis", host("::1", None), 6379, "redis://me:p@[::1]:6379/0"),
        ("rediss://h:1/0", "rediss", host("h", Some(1)), 1, "rediss://h:1/0"),
        ("kv://h", "kv", host("h", None), 7720, "kv://h:7720"),
        ("memcached://h", "memcached", host("h", None), 11211, "memcached://h:11211"),
        ("a+b-c.1://h:2/", "a+b-c.1", host("h", Some(2)), 2, "a+b-c.1://h:2/"),
    ] {
        assert_eq!(served(url), format!("{scheme} {place} Some({port}) {whole}"));
    }
    let socket = "redis+unix://%2Frun%2Fa.sock/0";
    assert_eq!(served(socket), format!("redis Socket(\"/run/a.sock\") None {socket}"));
}

#[test]
fn the_target_of_a_server_follows_its_authority() {
    for (url, before, authority, target) in [
        ("redis://me:p@[::1]/0", "redis://me:p@[::1]", "[::1]", "/0"),
        ("HTTP://h:1?x=1#y", "HTTP://h:1", "h:1", "/?x=1"),
        ("kv://h#?", "kv://h", "h", "/"),
        ("kv+unix://%2Fa/0", "kv+unix://%2Fa", "localhost", "/0"),
    ] {
        let server = server(url).unwrap();
        let parts = [server.before_target, server.authority, server.target];
        assert_eq!(parts, [before, authority, target], "{url}");
    }
}

#[test]
fn a_store_is_one_of_those_that_can_be_loaded() {
    let Url { scheme, user_info, place, target, .. } =
        store("redis://me:a%2Fb@127.0.0.1:7/3").unwrap();
    assert_eq!((scheme, user_info.as_deref()), (Scheme::Redis, Some("me:a%2Fb")));
    let host = Destination::Host("127.0.0.1".to_owned(), Some(7));
    assert_eq!((place, target.as_str()), (host, "/3"));
    assert_eq!(store("KV://h").unwrap().scheme, Scheme::Kv);
    let why = store("memcached://h").unwrap_err();
    assert!(why.contains("write redis://HOST:PORT or kv://HOST:PORT"), "{why}");
    assert_eq!(unescaped("a%2Fb").as_deref(), Some("a/b"));
}

#[test]
fn a_server_that_cannot_be_parsed_is_an_error_with_the_remedy() {
    for (url, remedy) in [
        ("nats://127.0.0.1", "`nats` has no usual one; write nats://127.0.0.1:PORT"),
        ("nats://me@h/x", "write nats://me@h:PORT"),
        ("127.0.0.1:80", "has no scheme"),
        ("://h:1", "`` is not a valid scheme"),
        ("7z://h:1", "`7z` is not a valid scheme"),
        ("to accept://h:1", "not a valid scheme"),
        ("kv://h:0", "a number from 1 to 65535"),
        ("kv://h:99999", "a number from 1 to 65535"),
        ("kv://", "names no host"),
        ("kv://h:1/a b", "percent-encoded"),
        ("kv+unix://h", "names no socket"),
    ] {
        let why = server(url).unwrap_err();
        assert!(why.contains(remedy), "{url}: {why}");
    }
    let why = server("kv://u:s3/cr@h:1/").unwrap_err();
    assert!(why.contains("write %2F") && !why.contains("s3"), "{why}");
}

/// A message does not show what may be a password, and what ends a word would end it for those that hide passwords.
#[test]
fn a_url_with_a_password_that_is_wrong_is_not_shown() {
    for (url, why) in [
        ("user:hidden@h:80/x", "has no scheme"),
        ("http:/user:hidden@h/", "has no scheme"),
        ("http//user:hidden@h/", "has no scheme"),
        ("http://user:hidden too@h/", "percent-encoded"),
        ("http://user:hid\"den@h/", "percent-encoded"),
        ("http://us er:hidden@h/", "percent-encoded"),
    ] {
        let refusal = parse(url).unwrap_err();
        assert!(refusal.contains(why) && !refusal.contains("hid"), "{url}: {refusal}");
    }
}
