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

#[test]
fn an_id_of_ours_is_a_plain_number() {
    assert_eq!(number(b"0"), Some(0));
    assert_eq!(number(b"1200"), Some(1200));
    for other in ["", "01", "+1", "-1", "1 ", "1.0", "a", "99999999999999999999", "é"] {
        assert_eq!(number(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn a_receiver_notes_every_arrival_within_its_memory() {
    let progress = Arc::new(Progress::default());
    let mut notes = Notebook::new(&["/a".to_owned()], 2, Arc::clone(&progress));
    let at = measure::Instant;
    let document = br#"{"id":"1","specversion":"1.0","source":"/a","data":{"id":"x"}}"#;
    assert_eq!(notes.note(b"/a", b"1", at(5)), 0);
    assert_eq!(notes.note_structured(document, at(6)), Some(1));
    assert_eq!(notes.note(b"/b", b"1", at(7)), u64::MAX);
    assert_eq!(notes.note(b"/a", b"x", at(7)), u64::MAX);
    assert_eq!(notes.note(b"/a", b"2", at(7)), u64::MAX);
    assert_eq!((notes.unknown, notes.unnoted), (2, 1));
    assert_eq!(notes.note(b"/a", b"0", at(8)), 0);
    assert_eq!(notes.note(b"/a", b"0", at(9)), 1);
    assert_eq!(notes.note(b"/a", b"0", at(10)), u64::MAX, "its memory is used up");
    assert_eq!(notes.note_structured(b"[]", at(11)), None);
    let noted: Vec<_> =
        notes.received.iter().map(|one| (one.number, one.at.0, one.order)).collect();
    assert_eq!(noted, [(1, 5, 0), (1, 6, 1), (0, 8, 2), (0, 9, 3)]);
    assert_eq!(progress.events.load(Ordering::Relaxed), 2);
    assert_eq!(progress.last.load(Ordering::Relaxed), 10);
}
