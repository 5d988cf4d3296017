use super::*;

#[test]
fn an_interruption_leaves_a_second_for_the_events_on_their_way() {
    let progress = Arc::new(Progress::default());
    let notes = Notebook::new(&[], 0, Arc::clone(&progress));
    let thread = std::thread::spawn(move || notes);
    let (sources, within, stop) = (Vec::new(), Nanos::from_secs(60), Arc::default());
    let receiving = Receiving { sources, within, stop, progress, thread };
    let begun = clock::now();
    assert!(receiving.wait_for(0, &AtomicBool::new(true)), "nothing is awaited");
    assert!(!receiving.wait_for(1, &AtomicBool::new(true)), "one event does not arrive");
    let took = clock::now() - begun;
    assert!(took < Nanos::from_secs(20), "{took}");
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
