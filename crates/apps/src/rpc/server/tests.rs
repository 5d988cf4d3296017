use super::*;

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
