use expect_test::{Expect, expect};
use wire::http1::{self, After};

use super::{Wrong, decode, inspect};

#[test]
fn one_whole_request_is_recognised() {
    check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", expect!["[Body]"]);
    check("GET http://a:1/b?c=d HTTP/1.1\r\n\r\n", expect!["[Body]"]);
    check("GET / HTTP/1.1\nHost: a\n\n", expect!["[Body]"]);
    check("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", expect!["[Body]"]);
    check("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n\r\n\r\n", expect!["[Body]"]);
    check(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        expect!["[Body]"],
    );
}

#[test]
fn the_answer_to_head_has_no_body() {
    check("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", expect!["[NoBody]"]);
    check("HEAD / HTTP/1.1\r\nContent-Length: 1\r\n\r\na", expect!["[NoBody]"]);
}

#[test]
fn several_requests_are_counted() {
    check("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n", expect!["[Body, Body]"]);
    check(
        "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\naHEAD / HTTP/1.1\r\nHost: b\r\n\r\n\
         GET / HTTP/1.1\r\n\r\n",
        expect!["[Body, NoBody, Body]"],
    );
    // Some scripts, and HTML forms, end a body like this.
    check("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na\r\n", expect!["[Body]"]);
}

#[test]
fn a_request_with_a_part_missing_is_incomplete() {
    check(
        "",
        expect![
            "is incomplete: the empty line after its headers is missing, or a part of the body which they announce (at 1:1 of its text)"
        ],
    );
    check(
        "GET / HTTP/1.1\r\nHost: a\r\n",
        expect![
            "is incomplete: the empty line after its headers is missing, or a part of the body which they announce (at 3:1 of its text)"
        ],
    );
    check(
        "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHo",
        expect![
            "is incomplete: the empty line after its headers is missing, or a part of the body which they announce (at 4:3 of its text)"
        ],
    );
    check(
        "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nab",
        expect![
            "is incomplete: the empty line after its headers is missing, or a part of the body which they announce (at 4:3 of its text)"
        ],
    );
    check(
        "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n",
        expect![
            "is incomplete: the empty line after its headers is missing, or a part of the body which they announce (at 4:1 of its text)"
        ],
    );
    check(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        expect![
            "is incomplete: the empty line after its headers is missing, or a part of the body which they announce (at 4:1 of its text)"
        ],
    );
}

#[test]
fn bytes_that_are_not_http_are_refused_at_the_first_bad_byte() {
    check(
        "/hotels\r\n\r\n",
        expect!["is not an HTTP/1.1 request; `wrk.format` makes one (at 1:1 of its text)"],
    );
    check(
        "GET /a b HTTP/1.1\r\n\r\n",
        expect!["is not an HTTP/1.1 request; `wrk.format` makes one (at 1:8 of its text)"],
    );
    check(
        "GET / HTTP/1.1\r\nno field\r\n\r\n",
        expect!["is not an HTTP/1.1 request; `wrk.format` makes one (at 2:3 of its text)"],
    );
    check(
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: many\r\n\r\n",
        expect!["is not an HTTP/1.1 request; `wrk.format` makes one (at 3:1 of its text)"],
    );
    check(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nax",
        expect!["is not an HTTP/1.1 request; `wrk.format` makes one (at 5:3 of its text)"],
    );
}

#[test]
fn an_unannounced_body_is_not_a_request() {
    check(
        "POST / HTTP/1.1\r\nHost: a\r\n\r\na=b&c=d e\r\n",
        expect![
            "continues after its end with bytes that are not a request; a body needs a `Content-Length` (at 4:2 of its text)"
        ],
    );
    check(
        "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nab\r\n\r\n",
        expect![
            "continues after its end with bytes that are not a request; a body needs a `Content-Length` (at 4:3 of its text)"
        ],
    );
}

/// Checks that the fast path and the decoder agree on everything that the fast path accepts.
fn check(text: &str, expected: Expect) {
    let told = |look: fn(&[u8], &mut Vec<http1::Expect>) -> Result<(), Wrong>| {
        let mut found = Vec::new();
        match look(text.as_bytes(), &mut found) {
            Ok(()) => format!("{found:?}"),
            Err(wrong) => wrong.to_string(),
        }
    };
    let one = told(|text, found| inspect(text, |expect, _| found.push(expect)));
    expected.assert_eq(&one);
    assert_eq!(one, told(|text, found| decode(text, |expect, _| found.push(expect))));
}

#[test]
fn a_request_that_ends_its_connection_is_recognized_on_both_paths() {
    for (fields, after) in [
        ("", After::KeepAlive),
        ("Connection: close\r\n", After::Close),
        ("connection:keep-alive , CLOSE\r\n", After::Close),
        ("Connection: keep-alive\r\n", After::KeepAlive),
        ("X-Connection: close\r\n", After::KeepAlive),
        ("Connection: closed\r\nA: close\r\n", After::KeepAlive),
    ] {
        let text = format!("GET / HTTP/1.1\r\n{fields}\r\n");
        let mut found = Vec::new();
        inspect(text.as_bytes(), |_, after| found.push(after)).unwrap();
        decode(text.as_bytes(), |_, after| found.push(after)).unwrap();
        assert_eq!(found, [after, after], "{fields:?}");
    }
}
