use super::*;

use expect_test::{Expect, expect};
use redb::backends::InMemoryBackend;

use tonic::Code;

use crate::hotel::api::store::Store;

fn store() -> Embedded {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    Embedded::over(database).unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn booking(hotel: &str, nights: Range<Night>, rooms: u32) -> Booking {
    let Range { start: begin, end } = nights;
    Booking { hotel_id: hotel.into(), customer_name: "Bob".into(), begin, end, rooms }
}

/// Returns true if it was made, false if the hotel is full, or the code of the refusal.
fn reserve(store: &Embedded, booking: Booking) -> Result<bool, Code> {
    let reserved = wait(store.reserve(Request::new(booking)));
    reserved.map(|reply| reply.into_inner().made).map_err(|status| status.code())
}

fn counts(store: &Embedded) -> CountsReply {
    wait(store.counts(Request::new(Nothing {}))).unwrap().into_inner()
}

fn check(store: &Embedded, expected: Expect) {
    let CountsReply { hotels, rates, users, nights, reservations, .. } = counts(store);
    expected.assert_eq(&format!(
        "{hotels} hotels, {rates} rates, {users} users, {nights} nights, {reservations} documents"
    ));
}

#[test]
fn a_new_store_holds_the_seeded_data() {
    check(&store(), expect!["80 hotels, 27 rates, 501 users, 1 nights, 1 documents"]);
    assert_eq!(counts(&store()), counts(&store()));
}

#[test]
fn a_booking_takes_its_rooms_in_every_night_or_in_none() {
    let store = store();
    let reserve = |nights, rooms| reserve(&store, booking("9", nights, rooms));
    let has_rooms = |nights, rooms| store.view().has_rooms("9", nights, rooms).unwrap();
    assert_eq!(reserve(10..13, 199), Ok(true));
    assert!(has_rooms(10..13, 1) && !has_rooms(10..13, 2) && has_rooms(13..14, 200));
    assert_eq!(reserve(12..14, 2), Ok(false));
    assert!(has_rooms(13..14, 200), "the night after was not changed");
    assert_eq!(reserve(12..14, 1), Ok(true));
    check(&store, expect!["80 hotels, 27 rates, 501 users, 5 nights, 6 documents"]);
}

#[test]
fn bookings_of_one_batch_count_against_each_other() {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    seed(&database).unwrap();
    let order = |rooms| booking("1", 5..6, rooms);
    let decided = decide(&database, &[order(150), order(51), order(50), order(1)]).unwrap();
    assert_eq!(decided, [Decided::Made, Decided::Full, Decided::Made, Decided::Full]);
}

#[test]
fn an_unknown_hotel_is_refused_and_has_no_rooms() {
    let store = store();
    assert_eq!(reserve(&store, booking("81", 1..2, 1)), Err(Code::NotFound));
    assert_eq!(reserve(&store, booking("81", 2..2, 1)), Err(Code::NotFound));
    assert!(!store.view().has_rooms("81", 1..2, 1).unwrap());
}

#[test]
fn a_booking_of_nothing_succeeds_and_leaves_no_trace() {
    let store = store();
    let before = counts(&store);
    assert_eq!(reserve(&store, booking("9", 2..2, 1)), Ok(true));
    assert_eq!(reserve(&store, booking("9", 2..3, 0)), Ok(true));
    assert_eq!(counts(&store), before);
}

#[test]
fn a_reset_returns_to_the_same_bytes() {
    let store = store();
    let before = counts(&store);
    for number in 0..100 {
        reserve(&store, booking("7", number..number + 4, 1)).unwrap();
    }
    assert_ne!(counts(&store).digest, before.digest);
    assert_eq!(wait(store.reset(Request::new(Nothing {}))).unwrap().into_inner(), before);
    assert!(store.view().has_rooms("7", 0..4, 300).unwrap());
}

#[test]
fn two_processes_cannot_have_the_same_store() {
    let folder = tempfile::tempdir().unwrap();
    let first = Embedded::open(folder.path(), Durability::Kill).unwrap();
    let refused = Embedded::open(folder.path(), Durability::Kill).err().unwrap();
    assert!(format!("{refused:#}").ends_with("another process has it open"), "{refused:#}");
    reserve(&first, booking("9", 1..2, 1)).unwrap();
    let before = counts(&first);
    drop(first);
    let again = Embedded::open(folder.path(), Durability::PowerLoss).unwrap();
    assert_eq!(counts(&again), before);
}

#[test]
fn a_stay_is_at_most_a_leap_year() {
    let store = store();
    assert_eq!(reserve(&store, booking("9", 0..366, 1)), Ok(true));
    assert_eq!(reserve(&store, booking("9", 0..367, 1)), Err(Code::InvalidArgument));
    assert_eq!(reserve(&store, booking("9", i32::MIN..i32::MAX, 1)), Err(Code::InvalidArgument));
}

#[test]
fn documents_are_found_by_hotel() {
    let store = store();
    let of = |hotels: &[&str]| {
        let hotel_ids = hotels.iter().map(|id| id.to_string()).collect();
        let found = wait(store.profiles(Request::new(Hotels { hotel_ids }))).unwrap();
        let ids = found.into_inner().hotels.into_iter().map(|hotel| hotel.id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(of(&["42", "nowhere", "7"]), ["42", "7"]);
    assert_eq!(of(&[]).len(), 80);
}
