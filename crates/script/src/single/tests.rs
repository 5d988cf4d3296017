use expect_test::{Expect, expect};

use super::{decode, inspect};

#[test]
fn one_whole_request_is_recognised() {
    check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", expect!["Ok(Body)"]);
    check("GET http://a:1/b?c=d HTTP/1.1\r\n\r\n", expect!["Ok(Body)"]);
    check("GET / HTTP/1.1\nHost: a\n\n", expect!["Ok(Body)"]);
    check("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", expect!["Ok(Body)"]);
    check("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n\r\n\r\n", expect!["Ok(Body)"]);
    check(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        expect!["Ok(Body)"],
    );
}

#[test]
fn the_answer_to_head_has_no_body() {
    check("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", expect!["Ok(NoBody)"]);
    check("HEAD / HTTP/1.1\r\nContent-Length: 1\r\n\r\na", expect!["Ok(NoBody)"]);
}

#[test]
fn a_request_with_a_part_missing_is_incomplete() {
    let incomplete = || {
        expect![[
            r#"Err("is incomplete: the empty line after its headers is missing, or a part of the body which they announce")"#
        ]]
    };
    check("", incomplete());
    check("GET / HTTP/1.1\r\nHost: a\r\n", incomplete());
    check("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nab", incomplete());
    check("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", incomplete());
    check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", incomplete());
}

#[test]
fn a_second_request_in_the_same_string_is_refused() {
    let continued = || {
        expect![[
            r#"Err("goes on after its end: a body needs a `Content-Length`, and several requests at once (pipelining) are not supported yet")"#
        ]]
    };
    check("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n", continued());
    check("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n", continued());
    check("POST / HTTP/1.1\r\nHost: a\r\n\r\nabc", continued());
    check("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nab", continued());
}

#[test]
fn what_is_no_http_is_refused() {
    let malformed = || expect![[r#"Err("is no HTTP/1.1 request; `wrk.format` makes one")"#]];
    check("hello\r\n\r\n", malformed());
    check("/hotels\r\n\r\n", malformed());
    check("GET /a b HTTP/1.1\r\n\r\n", malformed());
    check("GET / HTTP/1.1\r\nno field\r\n\r\n", malformed());
    check("GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n", malformed());
}

/// The quick look and the decoder must agree wherever the quick look is content.
fn check(request: &str, expected: Expect) {
    let found = inspect(request.as_bytes());
    expected.assert_eq(&format!("{found:?}"));
    assert_eq!(found, decode(request.as_bytes()));
}
