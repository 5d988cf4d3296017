//! Requests that may be sent, and those that are refused.

use super::*;

const HOST: (&str, &str) = ("Host", "x");

#[test]
fn a_request_that_its_server_reads_as_it_was_meant_passes() {
    for (method, target, fields, body) in [
        ("GET", "/", &[HOST][..], ""),
        ("X-PURGE", "/a?b=c%20d", &[HOST, ("A", "b\tc"), ("A", "\u{e4}")], ""),
        ("OPTIONS", "*", &[HOST, ("Content-Length", "0")], ""),
        ("POST", "http://x/", &[HOST, ("content-length", " 4 ")], "body"),
    ] {
        assert_eq!(check_request(method, target, fields, body.as_bytes()), Ok(()));
    }
}

#[test]
fn what_would_be_read_as_another_request_is_refused_with_the_remedy() {
    for (method, target, fields, body, remedy) in [
        ("", "/", &[HOST][..], "", "write one word"),
        ("GET /", "/", &[HOST], "", "write one word"),
        ("GET\r\nA: b", "/", &[HOST], "", "write one word"),
        ("G\u{c4}T", "/", &[HOST], "", "write one word"),
        ("GET", "", &[HOST], "", "the path is missing"),
        ("GET", "/a b", &[HOST], "", "percent-encoded"),
        ("GET", "/a#b", &[HOST], "", "percent-encoded"),
        ("GET", "/\r\nA: b", &[HOST], "", "percent-encoded"),
        ("GET", "/", &[("", "b")], "", "not a valid name"),
        ("GET", "/", &[("A b", "c")], "", "not a valid name"),
        ("GET", "/", &[("A:", "c")], "", "not a valid name"),
        ("GET", "/", &[("A", "b\r\nC: d")], "", "leave it out"),
        ("GET", "/", &[("A", "b\0")], "", "leave it out"),
        ("GET", "/", &[("A", "b\u{7f}")], "", "leave it out"),
        ("POST", "/", &[("Content-Length", "3")], "body", "leave the field out"),
        ("GET", "/", &[("Content-Length", "3")], "", "leave the field out"),
        ("POST", "/", &[("Content-Length", "4, 4")], "body", "leave the field out"),
        ("POST", "/", &[("Content-Length", "four")], "body", "leave the field out"),
        ("POST", "/", &[("Content-Length", "+4")], "body", "leave the field out"),
        ("POST", "/", &[("transfer-encoding", "chunked")], "body", "leave it out"),
        ("POST", "/", &[("Transfer-Encoding", "chunked")], "", "leave it out"),
        ("GET", "/", &[HOST, ("host", "y")], "", "remove the others"),
        ("PUT", "/", &[("Content-Length", "1"), ("content-length", "1")], "x", "remove the others"),
    ] {
        let why = check_request(method, target, fields, body.as_bytes()).unwrap_err();
        assert!(why.contains(remedy), "{method:?} {target:?} {fields:?}: {why}");
    }
}

#[test]
fn a_request_that_ends_its_connection_is_recognized() {
    for (fields, closes) in [
        (&[HOST][..], false),
        (&[("Connection", "close")], true),
        (&[("connection", "keep-alive, CLOSE")], true),
        (&[("Connection", "keep-alive")], false),
        (&[("Connection", "closed")], false),
        (&[("X-Connection", "close")], false),
    ] {
        assert_eq!(asks_to_close(fields), closes, "{fields:?}");
    }
}
