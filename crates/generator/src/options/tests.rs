use super::*;

#[test]
fn first_arrivals_are_refused_with_a_status_a_close_or_silence() {
    let read = |text: &str| text.parse::<FirstArrivals>().map(|FirstArrivals(refusal)| refusal);
    assert_eq!(read("503:2"), Ok(Refusal { how: How::Status(503), times: 2 }));
    assert_eq!(read("close:1"), Ok(Refusal { how: How::Close, times: 1 }));
    assert_eq!(read("hang:9"), Ok(Refusal { how: How::Hang, times: 9 }));
    for wrong in ["", "503", "503:0", "503:251", "99:1", "die:1", "503:x"] {
        assert!(read(wrong).unwrap_err().contains("write 503:2"), "{wrong}");
    }
}
