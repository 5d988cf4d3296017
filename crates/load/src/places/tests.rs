use super::*;

#[test]
fn silent_peers_are_looked_for_only_when_all_places_are_taken_and_not_each_time() {
    let mut places = Places::with_patience(2, Nanos(100));
    let at = |now, places: &mut Places| places.too_silent_since(Instant(now)).map(|then| then.0);
    assert!(places.take());
    assert_eq!(at(1_000, &mut places), None, "there is room");
    assert!(places.take() && !places.take());
    assert_eq!(at(1_000, &mut places), Some(900));
    assert_eq!((at(1_009, &mut places), at(1_010, &mut places)), (None, Some(910)));
    places.give_back();
    assert_eq!(at(2_000, &mut places), None);
    assert!(places.take() && !places.take());
}

#[test]
fn there_are_no_more_places_than_descriptors() {
    let files = process::raise_open_files();
    let most = Places::new(usize::MAX).most as u64;
    assert!(0 < most && most < files, "{most} places, {files} files");
    assert_eq!(Places::new(3).most, 3);
}
