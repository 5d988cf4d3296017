use super::*;

use expect_test::{Expect, expect};
use redb::backends::InMemoryBackend;

fn store() -> Store {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    Store::over(database).unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn booking(hotel: &str, nights: Range<Night>, rooms: u32) -> Booking {
    Booking { hotel_id: hotel.into(), customer_name: "Bob".into(), nights, rooms }
}

fn check(store: &Store, expected: Expect) {
    let Counts { hotels, rates, users, nights, reservations, .. } = store.counts().unwrap();
    expected.assert_eq(&format!(
        "{hotels} hotels, {rates} rates, {users} users, {nights} nights, {reservations} documents"
    ));
}

#[test]
fn a_new_store_holds_the_seeded_data() {
    check(&store(), expect!["80 hotels, 27 rates, 501 users, 1 nights, 1 documents"]);
    assert_eq!(store().counts().unwrap(), store().counts().unwrap());
}

#[test]
fn a_booking_takes_its_rooms_in_every_night_or_in_none() {
    let store = store();
    let reserve = |nights, rooms| wait(store.reserve(booking("9", nights, rooms))).unwrap();
    let has_rooms = |nights, rooms| store.view().has_rooms("9", nights, rooms).unwrap();
    assert_eq!(reserve(10..13, 199), Reserved::Made);
    assert!(has_rooms(10..13, 1) && !has_rooms(10..13, 2) && has_rooms(13..14, 200));
    assert_eq!(reserve(12..14, 2), Reserved::Full);
    assert!(has_rooms(13..14, 200), "the night after was left alone");
    assert_eq!(reserve(12..14, 1), Reserved::Made);
    check(&store, expect!["80 hotels, 27 rates, 501 users, 5 nights, 6 documents"]);
}

#[test]
fn bookings_of_one_batch_know_each_other() {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    seed(&database).unwrap();
    let order = |rooms| Order { booking: booking("1", 5..6, rooms), answer: oneshot::channel().0 };
    let decided = decide(&database, &[order(150), order(51), order(50), order(1)]).unwrap();
    assert_eq!(decided, [Reserved::Made, Reserved::Full, Reserved::Made, Reserved::Full]);
}

#[test]
fn an_unknown_hotel_is_refused_and_has_no_rooms() {
    let store = store();
    assert_eq!(wait(store.reserve(booking("81", 1..2, 1))), Ok(Reserved::UnknownHotel));
    assert_eq!(wait(store.reserve(booking("81", 2..2, 1))), Ok(Reserved::UnknownHotel));
    assert!(!store.view().has_rooms("81", 1..2, 1).unwrap());
}

#[test]
fn a_booking_of_nothing_succeeds_and_leaves_no_trace() {
    let store = store();
    let before = store.counts().unwrap();
    assert_eq!(wait(store.reserve(booking("9", 2..2, 1))), Ok(Reserved::Made));
    assert_eq!(wait(store.reserve(booking("9", 2..3, 0))), Ok(Reserved::Made));
    assert_eq!(store.counts().unwrap(), before);
}

#[test]
fn a_reset_returns_to_the_same_bytes() {
    let store = store();
    let before = store.counts().unwrap();
    for number in 0..100 {
        wait(store.reserve(booking("7", number..number + 4, 1))).unwrap();
    }
    assert_ne!(store.counts().unwrap().digest, before.digest);
    assert_eq!(store.reset().unwrap(), before);
    assert!(store.view().has_rooms("7", 0..4, 300).unwrap());
}

#[test]
fn two_processes_cannot_have_the_same_store() {
    let folder = tempfile::tempdir().unwrap();
    let first = Store::open(folder.path(), Durability::Kill).unwrap();
    let refused = Store::open(folder.path(), Durability::Kill).err().unwrap();
    assert!(format!("{refused:#}").ends_with("another process has it open"), "{refused:#}");
    wait(first.reserve(booking("9", 1..2, 1))).unwrap();
    let before = first.counts().unwrap();
    drop(first);
    let again = Store::open(folder.path(), Durability::PowerLoss).unwrap();
    assert_eq!(again.counts().unwrap(), before);
}

#[test]
fn a_digest_is_lower_case_hexadecimal_sha_256() {
    expect!["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
        .assert_eq(&hex_digest(b"abc"));
}
