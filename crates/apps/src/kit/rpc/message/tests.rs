use super::*;

use tonic::Code;

#[derive(Clone, PartialEq, Message)]
struct Names {
    #[prost(string, repeated, tag = "1")]
    names: Vec<String>,
}

#[test]
fn a_message_is_read_as_it_was_framed() {
    let message = Names { names: vec!["39".to_owned(), String::new()] };
    let bytes = framed(&message);
    assert_eq!(bytes, b"\0\0\0\0\x06\x0a\x0239\x0a\0"[..]);
    assert_eq!(read::<Names>(bytes).unwrap(), message);
    assert_eq!(read::<Names>(framed(&Names::default())).unwrap().names, [""; 0]);
}

#[test]
fn a_message_that_is_not_whole_is_refused() {
    let refused = |bytes: &'static [u8]| read::<Names>(Bytes::from_static(bytes)).unwrap_err();
    for bytes in [
        &b""[..],
        b"\0\0\0\0",
        b"\x01\0\0\0\0",
        b"\0\0\0\0\x03\x0a\x01",
        b"\0\0\0\0\0\0\0\0\0\0",
        b"\0\0\0\0\x03\x0c\xff\xff",
    ] {
        assert_eq!(refused(bytes).code(), Code::Internal, "{bytes:?}");
    }
}
