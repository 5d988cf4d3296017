use std::sync::mpsc::sync_channel;

use super::*;

fn at(ms: u64) -> Instant {
    Instant(ms * 1_000_000)
}

#[test]
fn arrivals_are_handed_over_in_time_or_counted() {
    let (to_file, file) = sync_channel(1);
    let counts = Arc::new(Counts::default());
    let mut notes = Notebook::new(Some(to_file), 5, Arc::clone(&counts));
    notes.note(b"/a", b"1", at(1000));
    notes.turned(at(1000));
    assert_eq!(file.try_recv().unwrap().arrivals, 1, "the first is written at once");
    notes.note(b"/a", b"1", at(1001));
    notes.turned(at(1001));
    assert!(file.try_recv().is_err());
    notes.turned(at(1600));
    // The channel has room for one: the next is given up.
    let document = br#"{"id": "\u0031", "source": "/b", "data": {"id": 1}}"#;
    assert_eq!(notes.note_structured(document, at(1700)), Some(0));
    notes.turned(at(2200));
    assert_eq!(file.try_recv().unwrap().arrivals, 1);
    assert_eq!(counts.read(), (3, at(1700)));
    for document in
        ["", "[]", "{}", r#"{"id": "", "source": "/b"}"#, r#"{"id": 1, "source": "/b"}"#]
    {
        assert_eq!(notes.note_structured(document.as_bytes(), at(0)), None, "{document}");
    }
    for _ in 0..4 {
        notes.note(b"/b", b"2", at(2300));
    }
    let (rest, totals) = notes.finish();
    assert_eq!((totals.arrivals, totals.noted, totals.unnoted), (7, 5, 2), "five are allowed");
    assert_eq!(rest.arrivals, 3);
    assert_eq!((totals.first_ns, totals.last_ns), (Some(at(1000).0), Some(at(2300).0)));
}

#[test]
fn without_a_file_arrivals_are_only_counted() {
    let mut notes = Notebook::new(None, 5, Arc::default());
    for number in 0..100_000_u64 {
        notes.note(&number.to_le_bytes(), b"1", at(1000));
        notes.turned(at(1000 + number));
    }
    notes.wrong();
    let (rest, totals) = notes.finish();
    assert_eq!(rest, Blocks::default());
    assert_eq!((totals.arrivals, totals.noted, totals.unnoted, totals.wrong), (100_000, 0, 0, 1));
}
