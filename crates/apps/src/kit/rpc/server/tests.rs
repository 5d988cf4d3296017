use super::*;

use tokio::io::AsyncWriteExt;

#[test]
fn a_deadline_is_read_as_grpc_writes_it() {
    let read = |text: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-timeout", text.parse().unwrap());
        deadline(&headers)
    };
    assert_eq!(read("2H"), Some(Duration::from_secs(7200)));
    assert_eq!(read("3M"), Some(Duration::from_secs(180)));
    assert_eq!(read("10S"), Some(Duration::from_secs(10)));
    assert_eq!(read("99999999n"), Some(Duration::from_nanos(99_999_999)));
    for broken in ["", "S", "10", "-1S", "+1S", "123456789S", "1.5S", "10s "] {
        assert_eq!(read(broken), None, "{broken:?}");
    }
}

#[test]
fn a_peer_that_answers_no_ping_is_disconnected() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut peer, stream) = tokio::io::duplex(1 << 10);
        peer.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let pings = connection.ping_pong().unwrap();
        let begun = Instant::now();
        let (between, longest) = (Duration::from_millis(40), Duration::from_millis(80));
        tokio::select! {
            _ = connection.accept() => panic!("the connection did not end"),
            () = silence(pings, between, longest) => {}
        }
        assert!(between + longest <= begun.elapsed());
    });
}

#[test]
fn a_message_is_refused_as_soon_as_it_is_known_to_be_too_long() {
    let refused = |arrived: &[u8]| check(arrived).is_err();
    let of_length = |length: u32| [&[0][..], &length.to_be_bytes()].concat();
    assert!(!refused(&[]));
    assert!(!refused(&[0, 0xff, 0xff, 0xff]));
    assert!(refused(&of_length(u32::MAX)));
    assert!(refused(&of_length(LARGEST_REQUEST as u32 + 1)));
    let most = of_length(LARGEST_REQUEST as u32);
    assert!(!refused(&[&most[..], &[7; LARGEST_REQUEST]].concat()));
    assert!(refused(&[&most[..], &[7; LARGEST_REQUEST + 1]].concat()));
}
