use std::collections::HashMap;
use std::ops::Range;

use super::{Added, Growth, Index, PLACES, Room};
use crate::address::Address;
use crate::hash::Hash;

/// A hash with these parts, for an index with one bucket for each slice.
fn hash(slice: u64, tag: u64) -> Hash {
    Hash::of_number(slice << 52 | tag << 37)
}

fn address(index: &Index, hash: Hash) -> Option<u64> {
    index.find(hash).map(|slot| slot.address().get())
}

#[test]
fn an_entry_is_found_by_bucket_and_tag_alone() {
    let index = Index::new(0).unwrap();
    assert_eq!(index.add(hash(5, 9), Address::new(64)), Added::Done);
    assert_eq!(address(&index, hash(5, 9)), Some(64));
    assert_eq!(address(&index, hash(5, 8)), None);
    assert_eq!(address(&index, hash(6, 9)), None);
    assert_eq!(index.add(hash(5, 9), Address::new(96)), Added::Exists);
}

#[test]
fn the_tag_zero_is_not_an_empty_place() {
    let index = Index::new(0).unwrap();
    assert_eq!(address(&index, hash(1, 0)), None);
    assert_eq!(index.add(hash(1, 0), Address::new(32)), Added::Done);
    assert_eq!(address(&index, hash(1, 0)), Some(32));
}

#[test]
fn a_replaced_entry_is_not_replaced_by_who_found_the_old_one() {
    let index = Index::new(0).unwrap();
    index.add(hash(1, 1), Address::new(32));
    let (first, second) = (index.find(hash(1, 1)).unwrap(), index.find(hash(1, 1)).unwrap());
    assert!(first.replace(Address::new(64)));
    assert!(!second.replace(Address::new(96)));
    assert_eq!(address(&index, hash(1, 1)), Some(64));
}

#[test]
fn buckets_overflow_until_the_arena_is_full() {
    let index = Index::new(0).unwrap();
    let (slices, overflows) = (64, 4096 / 4 / 64);
    let mut model = HashMap::new();
    for slice in 0..slices {
        for tag in 0..7 * (overflows + 1) {
            let address = 32 * (slice * 1000 + tag + 1);
            assert_eq!(index.add(hash(slice, tag), Address::new(address)), Added::Done);
            model.insert((slice, tag), address);
        }
    }
    assert_eq!(index.add(hash(7, 32767), Address::new(32)), Added::Full);
    assert_eq!(index.add(hash(slices, 32767), Address::new(32)), Added::Done);
    assert_eq!(index.room(hash(slices, 32766)), Room::Now);
    for ((slice, tag), expected) in model {
        assert_eq!(address(&index, hash(slice, tag)), Some(expected));
    }
}

/// Adds entries with these tags to a slice.
fn fill(index: &Index, slice: u64, tags: Range<u64>) {
    for tag in tags {
        assert_eq!(index.add(hash(slice, tag), Address::new(32 + tag)), Added::Done);
    }
}

/// Lets a slice grow alone, and returns the places of the tables that are unused then.
fn grow_one(index: &Index, slice: usize) -> Vec<usize> {
    assert!(index.mark(slice));
    index.grow(slice..slice + 1)
}

/// Uses up the arenas of the tables in these places.
fn use_up(index: &Index, places: Range<usize>) {
    for place in places {
        index.make_table(place).unwrap();
        index.made(place).use_up();
    }
}

#[test]
fn a_slice_without_room_grows_also_if_it_has_few_entries() {
    let index = Index::new(0).unwrap();
    // Another one has asked before.
    assert!(index.ask(8));
    fill(&index, 9, 0..7);
    use_up(&index, 1..2);
    while index.room(hash(9, 7)) == Room::Later {
        assert_eq!(index.add(hash(9, 7), Address::new(39)), Added::Full);
        let Growth::Begun(slices) = index.begin_growth() else { panic!("it was asked for") };
        index.grow(slices);
    }
    fill(&index, 9, 7..8);
    (0..8).for_each(|tag| assert_eq!(address(&index, hash(9, tag)), Some(32 + tag)));
    assert_eq!([8, 9].map(|slice| index.place(slice)), [2, 2]);
}

#[test]
fn a_slice_skips_a_table_without_room() {
    let index = Index::new(0).unwrap();
    fill(&index, 5, 0..14);
    use_up(&index, 2..4);
    assert!(grow_one(&index, 5).is_empty());
    assert_eq!(index.place(5), 4);
    (0..14).for_each(|tag| assert_eq!(address(&index, hash(5, tag)), Some(32 + tag)));
    assert_eq!([1, 2, 3].map(|place| index.made(place).leave()), [4094; 3]);
}

#[test]
fn a_slice_that_fits_nowhere_stays_as_it_is() {
    let index = Index::new(0).unwrap();
    fill(&index, 5, 0..14);
    use_up(&index, 1..PLACES);
    assert_eq!(index.room(hash(5, 14)), Room::Later);
    while let Growth::Begun(slices) = index.begin_growth() {
        assert!(index.grow(slices).is_empty());
    }
    assert_eq!(index.place(5), 1);
    assert_eq!([index.room(hash(5, 14)), index.room(hash(6, 14))], [Room::None, Room::Now]);
    (0..14).for_each(|tag| assert_eq!(address(&index, hash(5, tag)), Some(32 + tag)));
    assert_eq!(index.entries(), 14);
}

#[test]
fn an_index_that_cannot_grow_any_more_has_no_room() {
    let index = Index::new(0).unwrap();
    use_up(&index, 1..PLACES);
    // They have one bucket also after six doublings.
    fill(&index, 9, 0..7);
    let mut growths = 0;
    while index.room(hash(9, 7)) == Room::Later {
        while let Growth::Begun(slices) = index.begin_growth() {
            index.grow(slices);
            growths += 1;
        }
    }
    assert_eq!(growths, 6);
    assert_eq!([index.room(hash(9, 7)), index.room(hash(9, 1 << 14))], [Room::None, Room::Now]);
    assert!(!index.should_grow(), "it asks no more");
}

#[test]
fn a_slice_grows_without_losing_an_entry() {
    let index = Index::new(0).unwrap();
    let tags: Vec<u64> = (0..300).map(|number| number * 109 % (1 << 15)).collect();
    for (number, tag) in tags.iter().enumerate() {
        assert_eq!(index.add(hash(9, *tag), Address::new(32 + number as u64)), Added::Done);
        assert_eq!(index.add(hash(8, *tag), Address::new(5000 + number as u64)), Added::Done);
        while let Growth::Begun(slices) = index.begin_growth() {
            assert!(!index.may_change(hash(slices.start as u64, 0)));
            assert!(index.grow(slices).is_empty());
        }
    }
    assert!(index.tables[6].get().is_some());
    for (number, tag) in tags.iter().enumerate() {
        assert_eq!(address(&index, hash(9, *tag)), Some(32 + number as u64));
        assert_eq!(address(&index, hash(8, *tag)), Some(5000 + number as u64));
    }
    assert_eq!(address(&index, hash(9, 110)), None);
    assert!(index.may_change(hash(9, 0)));
}

#[test]
fn an_index_grows_as_a_whole_if_it_is_asked_for() {
    let index = Index::new(0).unwrap();
    index.add(hash(9, 5), Address::new(32));
    for doublings in 1..=6 {
        assert!(index.want_growth());
        let (mut grown, mut rounds) = (0, 0);
        while let Growth::Begun(slices) = index.begin_growth() {
            grown += slices.len();
            rounds += 1;
            let unused = index.grow(slices);
            assert_eq!(unused.is_empty(), grown < 4096, "{doublings}: {grown}");
            unused.into_iter().for_each(|table| index.clear(table));
        }
        // Those with 1024 buckets grow together.
        assert_eq!((grown, rounds, index.should_grow()), (4096, 4 << (doublings - 1), false));
        assert_eq!(index.buckets_now(), 4096 << doublings);
        assert_eq!(address(&index, hash(9, 5)), Some(32));
    }
    assert!(!index.want_growth());
}

#[test]
fn a_table_is_unused_when_its_last_slice_has_left() {
    let index = Index::new(0).unwrap();
    let mut unused = Vec::new();
    for slice in 0..4096 {
        for tag in 0..6 {
            index.add(hash(slice, tag * 5000), Address::new(32 * (tag + 1)));
        }
        let Growth::Begun(grown) = index.begin_growth() else { panic!("slice {slice}") };
        unused.extend(index.grow(grown));
    }
    assert_eq!(unused, [1]);
    index.clear(1);
    assert_eq!(address(&index, hash(77, 5000)), Some(64));
}
