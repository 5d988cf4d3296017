use super::*;

mod checks;
mod mutations;
mod oracle;

/// Decodes a response stream to text. Pieces of a body are joined, since their borders depend on
/// the network.
fn decode(slices: &[&[u8]], expect: Expect) -> String {
    let mut decoder = ResponseDecoder::default();
    let mut text = String::new();
    for slice in slices {
        let mut bytes = *slice;
        loop {
            match decoder.next(&mut bytes, expect) {
                Ok(None) => break,
                Ok(Some(ResponseEvent::Head(head, _))) if head.status < 200 => {
                    text += &format!("{}; ", head.status);
                }
                Ok(Some(ResponseEvent::Head(head, _))) => text += &format!("{} [", head.status),
                Ok(Some(ResponseEvent::Body(piece))) => text += &piece.escape_ascii().to_string(),
                Ok(Some(ResponseEvent::End(after))) => text += &format!("] {after:?}; "),
                Err(error) => return text + &format!("{error:?}"),
            }
        }
        assert!(bytes.is_empty(), "all bytes are taken");
    }
    text + &format!("{:?}", decoder.close())
}

/// Returns the decoded text, and checks that it does not depend on how the bytes are cut.
fn check(bytes: &str, expect: Expect) -> String {
    let bytes = bytes.as_bytes();
    let whole = decode(&[bytes], expect);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(decode(&single, expect), whole, "byte by byte");
    for cut in 0..bytes.len() {
        let (a, b) = bytes.split_at(cut);
        assert_eq!(decode(&[a, b], expect), whole, "cut at {cut}");
    }
    whole
}

#[test]
fn answers_are_decoded_with_any_slicing() {
    for (bytes, decoded) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200 [hello] KeepAlive; Between"),
        ("HTTP/1.1 204 No\nContent-Length: 5\n\n", "204 [] KeepAlive; Between"),
        ("HTTP/1.1 304\r\n\r\n", "304 [] KeepAlive; Between"),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "200 [x] Close; Between"),
        (
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
            "200 [x] KeepAlive; Between",
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: foo, CLOSE\r\nContent-Length: 0\r\n\r\n",
            "200 [] Close; Between",
        ),
        ("HTTP/1.1 200 OK\r\n\r\nall of it", "200 [all of itComplete"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "200 [shortTruncated"),
        ("HTTP/1.1 200", "Truncated"),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
            "100; 200 [ok] KeepAlive; Between",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n\
             5;a=b\r\nhello\r\n6 \r\n world\r\n0\r\nTrailer: x\r\n\r\nHTTP/1.1 500 No\r\n\
             Content-Length: 0\r\n\r\n",
            "200 [hello world] KeepAlive; 500 [] KeepAlive; Between",
        ),
        (
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "200 [] Close; Between",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nzz", "200 [zzComplete"),
        ("", "Between"),
    ] {
        assert_eq!(check(bytes, Expect::Body), decoded, "{bytes:?}");
    }
}

/// It would be waited for until the timeout: there is no end of a header block.
#[test]
fn a_server_that_speaks_tls_is_known_by_its_first_byte() {
    for (bytes, decoded) in [
        ("\x15\x03\x01\x00\x02\x02\x46", "Tls"),
        ("\x16\x03\x03\x00\x7a", "Tls"),
        ("HTTP/1.1 204 No\r\n\r\n\x15\x03\x03\x00\x02\x01\x00", "204 [] KeepAlive; Tls"),
        ("HTTP/1.1 100 Continue\r\n\r\n\x15", "100; Tls"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\x15", "200 [\\x15] KeepAlive; Between"),
        ("\x17\x03\x03\x00\x7a", "Truncated"),
    ] {
        assert_eq!(check(bytes, Expect::Body), decoded, "{bytes:?}");
    }
}

#[test]
fn a_header_block_is_handed_out_as_it_arrived_with_any_slicing() {
    let bytes = "HTTP/1.1 200 OK\r\nX-Token: a b\r\nx-empty:\r\nContent-Length: 1\r\n\r\nx";
    for cut in 0..bytes.len() {
        let (a, b) = bytes.as_bytes().split_at(cut);
        let mut decoder = ResponseDecoder::default();
        let mut found = Vec::new();
        for mut slice in [a, b] {
            while let Some(event) = decoder.next(&mut slice, Expect::Body).unwrap() {
                if let ResponseEvent::Head(_, block) = event {
                    found.extend(fields(block).map(|(name, value)| format!("{name}={value:?}")));
                }
            }
        }
        let expected = ["X-Token=[97, 32, 98]", "x-empty=[]", "Content-Length=[49]"];
        assert_eq!(found, expected, "cut at {cut}");
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(check(bytes, Expect::NoBody), "200 [] KeepAlive; 200 [] KeepAlive; Between");
}

#[test]
fn a_success_of_connect_has_no_body_and_ends_the_connection_for_requests() {
    let tunnel = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(check(tunnel, Expect::of("CONNECT")), "200 [] Close; Between");
    let chunked = "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(check(chunked, Expect::of("CONNECT")), "204 [] Close; Between");
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(check(both, Expect::of("CONNECT")), "200 [] Close; Between");
    assert_eq!(check(both, Expect::NoBody), "TwoFramings");
    let refusal = "HTTP/1.1 405 No\r\nContent-Length: 2\r\n\r\nno";
    assert_eq!(check(refusal, Expect::of("CONNECT")), "405 [no] KeepAlive; Between");
}

#[test]
fn a_folded_line_is_read_as_if_its_end_was_spaces() {
    for (bytes, decoded) in [
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n\r\nhello", "200 [hello] KeepAlive; Between"),
        ("HTTP/1.1 200 OK\nA: b\n\tc\n d\nContent-Length: 1\n\nx", "200 [x] KeepAlive; Between"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n\t chunked\r\n\r\n0\r\n\r\n",
            "200 [] KeepAlive; Between",
        ),
        (
            "HTTP/1.1 200 OK\r\nConnection: a,\r\n  close\r\nContent-Length: 0\r\n\r\n",
            "200 [] Close; Between",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n", "ContentLength"),
        // Nothing may continue the first line.
        ("HTTP/1.1 200 OK\r\n Content-Length: 0\r\n\r\n", "Head"),
    ] {
        assert_eq!(check(bytes, Expect::Body), decoded, "{bytes:?}");
    }
}

#[test]
fn the_value_of_a_folded_field_is_handed_out_in_one_line() {
    let bytes = "HTTP/1.1 204 No\r\nA: b\r\n\t c\r\nD: e\r\n\r\n".as_bytes();
    for cut in 0..bytes.len() {
        let (a, b) = bytes.split_at(cut);
        let mut decoder = ResponseDecoder::default();
        let mut found = Vec::new();
        for mut slice in [a, b] {
            while let Some(event) = decoder.next(&mut slice, Expect::Body).unwrap() {
                if let ResponseEvent::Head(_, block) = event {
                    let shown = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
                    found
                        .extend(fields(block).map(|(name, value)| (name.to_owned(), shown(value))));
                }
            }
        }
        let expected = [("A", "b  \t c"), ("D", "e")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(found, expected, "cut at {cut}");
    }
}

#[test]
fn malformed_answers_have_distinct_errors() {
    for (bytes, error) in [
        ("SSH-2.0-OpenSSH\r\n\r\n", "Head"),
        ("HTTP/2.0 200 OK\r\n\r\n", "Head"),
        ("HTTP/1.1 20 OK\r\n\r\n", "Head"),
        ("\r\n\r\n", "Head"),
        ("HTTP/1.1 101 Switching\r\n\r\n", "Upgrade"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "ContentLength"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "ContentLength"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "ContentLength"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "ContentLength"),
        ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", "ContentLength"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello", "ContentLength"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello", "ContentLength"),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "ContentLength"),
        ("HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", "Head"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "Head"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "TwoFramings",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
            "TwoFramings",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: gzip\r\n\r\nzz",
            "TwoFramings",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", "200 [Chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "200 [Chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello", "200 [Chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello", "200 [Chunk"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
            "200 [Chunk",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
            "200 [Chunk",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX", "200 [abChunk"),
    ] {
        assert_eq!(check(bytes, Expect::Body), error, "{bytes:?}");
    }
}

#[test]
fn the_reasons_name_the_bounds() {
    let reasons = [
        (Malformed::HeadTooLong, MOST_HEAD_BYTES, Some(MOST_FIELDS)),
        (Malformed::TrailersTooLong, MOST_TRAILER_BYTES, None),
        (Malformed::Chunk, MOST_CHUNK_LINE_BYTES, None),
    ];
    for (malformed, bytes, fields) in reasons {
        let reason = malformed.as_str();
        assert!(reason.contains(&format!("over {} KiB", bytes / 1024)), "{reason}");
        assert!(fields.is_none_or(|most| reason.contains(&format!("{most} fields"))), "{reason}");
    }
    assert!(Malformed::Interim.as_str().ends_with(&format!("over {MOST_INTERIM}")));
}

/// Each byte is looked at a bounded number of times, however it arrives, and none behind the bound is kept.
#[test]
fn a_header_of_megabytes_ends_at_the_bound_in_any_slicing() {
    let head = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(15 << 20));
    for size in [1, 100, 4096, 15 << 20] {
        let mut decoder = ResponseDecoder::default();
        let mut seen = 0;
        let refused = head.as_bytes().chunks(size).find_map(|mut slice| {
            seen += slice.len();
            decoder.next(&mut slice, Expect::Body).err()
        });
        assert_eq!(refused, Some(Malformed::HeadTooLong), "slices of {size}");
        assert!(seen <= MOST_HEAD_BYTES + size.max(4), "slices of {size}: {seen} bytes");
        assert!(decoder.held() <= 2 * (MOST_HEAD_BYTES + 4), "slices of {size}");
    }
}

#[test]
fn endless_heads_and_trailers_are_refused() {
    let head = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(MOST_HEAD_BYTES));
    assert_eq!(decode(&[head.as_bytes()], Expect::Body), "HeadTooLong");
    let slices: Vec<&[u8]> = head.as_bytes().chunks(100).collect();
    assert_eq!(decode(&slices, Expect::Body), "HeadTooLong");

    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(MOST_FIELDS + 1));
    assert_eq!(decode(&[many.as_bytes()], Expect::Body), "HeadTooLong");

    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let trailers = format!("{chunked}0\r\nA: {}", "x".repeat(MOST_TRAILER_BYTES));
    assert_eq!(decode(&[trailers.as_bytes()], Expect::Body), "200 [TrailersTooLong");
    let line = format!("{chunked}1;{}", "x".repeat(MOST_CHUNK_LINE_BYTES));
    assert_eq!(decode(&[line.as_bytes()], Expect::Body), "200 [Chunk");
}

fn requests(slices: &[&[u8]]) -> String {
    let mut decoder = RequestDecoder::default();
    let mut text = String::new();
    for slice in slices {
        let mut bytes = *slice;
        loop {
            match decoder.next(&mut bytes) {
                Ok(None) => break,
                Ok(Some(RequestEvent::Head(head))) => {
                    text += &format!("{} {} [", head.method, head.target);
                }
                Ok(Some(RequestEvent::Body(piece))) => text += &piece.escape_ascii().to_string(),
                Ok(Some(RequestEvent::End(after))) => text += &format!("] {after:?}; "),
                Err(error) => return text + &format!("{error:?}"),
            }
        }
        assert!(bytes.is_empty(), "all bytes are taken");
    }
    text
}

#[test]
fn what_is_encoded_is_decoded() {
    let mut wire = Vec::new();
    encode_request("GET", "/a?b=c", &[("Host", "x")], b"", &mut wire);
    encode_request("POST", "/d", &[("Connection", "close")], b"body", &mut wire);
    let expected = "GET /a?b=c [] KeepAlive; POST /d [body] Close; ";
    assert_eq!(requests(&[&wire]), expected);
    let single: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(requests(&single), expected);

    let mut answer = Vec::new();
    encode_response(503, &[("A", "b")], b"busy", &mut answer);
    assert_eq!(decode(&[&answer], Expect::Body), "503 [busy] KeepAlive; Between");
}

#[test]
fn requests_with_two_lengths_are_refused() {
    let bytes = b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(requests(&[bytes]), "ContentLength");
}

#[test]
fn what_is_announced_of_a_body_is_known_before_it_arrives() {
    for (head, piece, announced) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "abc", 99_999_999_999),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7FFFFFFFFFFFFFFF\r\n",
            "abc",
            i64::MAX as u64,
        ),
        ("HTTP/1.1 200 OK\r\n\r\n", "abc", 0),
        ("HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", "", 0),
    ] {
        let mut decoder = ResponseDecoder::default();
        assert_eq!(decoder.announced(), 0);
        for (bytes, expected) in [(head, announced), (piece, announced.saturating_sub(3))] {
            let mut bytes = bytes.as_bytes();
            while let Ok(Some(_)) = decoder.next(&mut bytes, Expect::Body) {}
            let expected = if piece.is_empty() { 0 } else { expected };
            assert_eq!(decoder.announced(), expected, "{head:?}");
        }
    }
}
