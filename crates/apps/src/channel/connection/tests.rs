use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time;

use super::*;

/// Sends requests to a peer that answers with these bytes and closes, in pieces of a length;
/// returns the statuses and bodies, and the end.
async fn exchange_in(
    pieces: usize,
    answer: &[u8],
    count: usize,
) -> (Vec<(u16, String)>, Result<(), Ended>, bool) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = answer.to_vec();
    let peer = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut requests = [0; 100];
        assert_eq!(stream.read(&mut requests).await.unwrap(), 3);
        stream.set_nodelay(true).unwrap();
        for piece in answer.chunks(pieces) {
            // The other side may have given up.
            let _ = stream.write_all(piece).await;
            tokio::task::yield_now().await;
        }
        stream
    });
    let mut connection = Connection::open(&address).await.unwrap();
    let mut got = Vec::new();
    let exchange = connection.exchange(b"abc", count, |response| {
        let body = String::from_utf8_lossy(response.body()).into_owned();
        got.push((response.status().as_u16(), body));
    });
    let closing = async {
        drop(peer.await.unwrap());
        std::future::pending::<()>().await;
    };
    let ended = tokio::select! {
        ended = time::timeout(Duration::from_secs(20), exchange) => ended.unwrap(),
        () = closing => unreachable!("it never ends"),
    };
    (got, ended, connection.is_open)
}

/// Does the same with two lengths of pieces, which may make no difference.
async fn exchange(answer: &[u8], count: usize) -> (Vec<(u16, String)>, Result<(), Ended>, bool) {
    let whole = exchange_in(usize::MAX, answer, count).await;
    if answer.len() < 4096 {
        assert_eq!(whole, exchange_in(1, answer, count).await, "byte by byte");
    }
    whole
}

async fn broken(answer: impl AsRef<[u8]>) -> String {
    match exchange(answer.as_ref(), 1).await {
        (got, Err(Ended::Broken(why)), false) if got.is_empty() => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn responses_come_in_the_order_of_the_requests() {
    let answers = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n\
        HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Full\r\nContent-Length: 2\r\n\r\nno\
        HTTP/1.1 204 No Content\r\n\r\n\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n";
    let (got, ended, is_open) = exchange(answers, 4).await;
    let got: Vec<_> = got.iter().map(|(code, body)| (*code, &**body)).collect();
    assert_eq!(got, [(202, ""), (503, "no"), (204, ""), (200, "abcde")]);
    assert_eq!((ended, is_open), (Ok(()), true));
}

#[tokio::test]
async fn a_last_response_ends_the_connection() {
    const LAST: &[u8] =
        b"HTTP/1.1 202 Accepted\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n";
    let (got, ended, is_open) = exchange(LAST, 1).await;
    assert_eq!((got.len(), ended, is_open), (1, Ok(()), false));
    let (got, ended, is_open) = exchange(LAST, 2).await;
    assert_eq!((got.len(), ended, is_open), (1, Err(Ended::Closing), false));
    let (got, ended, _) = exchange(b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 1).await;
    assert_eq!((got, ended), (vec![(200, "until the end".to_owned())], Ok(())));
    let (_, ended, is_open) = exchange(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 1).await;
    assert_eq!((ended, is_open), (Ok(()), false));
    let more = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\nHTTP/1.1 202 Unasked\r\n\r\n";
    let (got, ended, _) = exchange_in(usize::MAX, more, 1).await;
    assert_eq!((got.len(), ended), (1, Ok(())));
}

#[tokio::test]
async fn a_closed_connection_says_how_far_it_came() {
    assert_eq!(broken("").await, "the connection was closed before its response");
    for part in ["HTTP/1.1 202", "HTTP/1.1 202 A\r\nContent-Length: 9\r\n\r\nshort"] {
        assert_eq!(broken(part).await, "the connection was closed within its response");
    }
}

#[tokio::test]
async fn what_is_not_a_response_or_can_be_read_in_two_ways_is_refused() {
    for (fields, why) in [
        ("Content-Length: 1\r\nContent-Length: 2", "a response with two lengths"),
        ("Content-Length: 1\r\nTransfer-Encoding: chunked", "a response with two lengths"),
        ("Content-Length: +1", "a response with a malformed length"),
        ("Content-Length: 99999999999999999999", "a response with a malformed length"),
        ("Transfer-Encoding: gzip, chunked", "a response with an unknown transfer coding"),
        ("Content-Length: 1048577", "a response with more than 1048576 bytes"),
    ] {
        assert_eq!(broken(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nx")).await, why);
    }
    for chunks in ["x\r\n", "2\r\nabc\r\n0\r\n\r\n", "ffffffffffffffff1\r\n"] {
        let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        assert!(broken(&chunked).await.starts_with("a response with a"), "{chunks}");
    }
    for junk in [
        "\x16\x03\x01\x02\x00\r\n\r\n",
        "HTTP/1.1 99 x\r\n\r\n",
        "HTTP/1.1 200 OK\r\na b: c\r\n\r\n",
    ] {
        assert!(broken(junk).await.starts_with("a malformed response: "), "{junk}");
    }
}

#[tokio::test]
async fn everything_that_a_subscriber_may_send_has_a_bound() {
    const OK: &str = "HTTP/1.1 200 OK\r\n";
    let long = format!("{OK}{}", "X: y\r\n".repeat(20_000));
    assert_eq!(broken(&long).await, "a response with more than 65536 bytes before its body");
    let many = format!("{OK}{}\r\n", "X: y\r\n".repeat(MOST_FIELDS + 1));
    assert_eq!(broken(&many).await, "a malformed response: too many headers");
    let interim = "HTTP/1.1 103 Early\r\n\r\n".repeat(1000);
    assert_eq!(broken(&interim).await, "more than 8 responses 1xx to one request");
    let endless = format!("{OK}\r\n{}", "x".repeat(2 << 20));
    assert_eq!(broken(&endless).await, "a response with more than 1048576 bytes");
    let chunks = format!("{OK}Transfer-Encoding: chunked\r\n\r\n{}", "1\r\nx\r\n".repeat(2 << 20));
    assert_eq!(broken(&chunks).await, "a response with more than 1048576 bytes");
    let line = format!("{OK}Transfer-Encoding: chunked\r\n\r\n1;{}", "x".repeat(1 << 20));
    assert_eq!(broken(&line).await, "a response with more than 256 bytes before its body");
    let trailer =
        format!("{OK}Transfer-Encoding: chunked\r\n\r\n0\r\n{}", "X: y\r\n".repeat(20_000));
    assert!(broken(&trailer).await.contains("bytes before its body"));
    // Of a failure only the beginning is kept.
    let failure = format!("HTTP/1.1 500 X\r\nContent-Length: 9000\r\n\r\n{}", "x".repeat(9000));
    let (got, ended, is_open) = exchange(failure.as_bytes(), 1).await;
    assert_eq!((got[0].1.len(), ended, is_open), (MOST_QUOTED, Ok(()), true));
}
