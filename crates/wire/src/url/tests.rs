use super::*;

fn read(url: &str) -> String {
    match parse(url) {
        Ok(Url { scheme, user_info, place, authority, target }) => {
            let user = user_info.map_or(String::new(), |user| format!("{user} at "));
            let place = match place {
                Place::Host(host, port) => format!("{host} {port:?}"),
                Place::Socket(path) => format!("socket {path}"),
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
        ("http://[::1]80/", "write :PORT"),
        ("http://me:secret@/", "names no host"),
        ("http://a b/", "not a valid host name"),
        ("http://höst/", "not a valid host name"),
        (" http://host/", "is not supported"),
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
