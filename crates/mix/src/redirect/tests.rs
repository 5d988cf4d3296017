use super::*;

#[test]
fn a_location_leads_to_a_target_of_the_same_host() {
    for (location, expected) in [
        ("/next?a=1", Ok("/next?a=1")),
        ("http://h:80/next#part", Ok("/next")),
        ("HTTP://H:80", Ok("/")),
        ("https://h:80/next", Err(ELSEWHERE)),
        ("//h:80?a", Ok("/?a")),
        ("?page=2", Ok("/a/b?page=2")),
        ("", Ok("/a/b?q=1")),
        ("#top", Ok("/a/b?q=1")),
        ("c", Ok("/a/c")),
        ("./c/d", Ok("/a/c/d")),
        ("../c", Ok("/c")),
        ("../../../c", Ok("/c")),
        ("c:d", Err(ELSEWHERE)),
        ("mailto:a@b", Err(ELSEWHERE)),
        ("http://h/next", Err(ELSEWHERE)),
        ("//other/next", Err(ELSEWHERE)),
        ("/a b", Err(NOWHERE)),
        ("/\u{e4}", Err(NOWHERE)),
    ] {
        let mut to = b"old".to_vec();
        let server = Server { is_tls: false, host: "h:80" };
        let result = resolve(location.as_bytes(), b"/a/b?q=1", server, &mut to);
        let result = result.map(|()| String::from_utf8(to).unwrap());
        assert_eq!(result.as_deref(), expected.as_ref().map(|t| *t), "{location}");
    }
}

#[test]
fn a_redirect_repeats_the_request_or_gets_the_place() {
    let head = b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n";
    let follow = |status, method, head| {
        let (body, body_length) = (&b""[..], 0);
        hop(&Response { status, head, body, body_length, connection: 0, tag: 0 }, method)
    };
    for (status, method, expected) in [
        (302, "POST", Some(Hop::Get)),
        (301, "PUT", Some(Hop::Same)),
        (303, "PUT", Some(Hop::Get)),
        (303, "HEAD", Some(Hop::Same)),
        (307, "POST", Some(Hop::Same)),
        (308, "GET", Some(Hop::Same)),
        (304, "GET", None),
        (200, "GET", None),
    ] {
        assert_eq!(follow(status, method, head), expected, "{status} {method}");
    }
    assert_eq!(follow(302, "GET", b"HTTP/1.1 302 Found\r\n\r\n"), None);
}

#[test]
fn a_redirect_from_https_stays_with_https() {
    for (location, expected) in [
        ("https://h/next", Ok(())),
        ("//h/next", Ok(())),
        ("/next", Ok(())),
        ("http://h/next", Err(ELSEWHERE)),
    ] {
        let server = Server { is_tls: true, host: "h" };
        let result = resolve(location.as_bytes(), b"/", server, &mut Vec::new());
        assert_eq!(result, expected, "{location}");
    }
}
