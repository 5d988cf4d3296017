//! One bucket in many interleavings: `RUSTFLAGS="--cfg shuttle" cargo test -p kv model`.

use shuttle::sync::Arc;
use shuttle::thread;

use super::bucket::Entry;
use super::table::Table;
use crate::address::Address;
use crate::hash::Hash;

const TAG: u64 = 3;

fn add(table: &Table, address: u64) -> bool {
    table.add(table.bucket(hash()), Entry::new(TAG, Address::new(address))).is_ok()
}

/// Returns the addresses of the entries that are found or could be.
fn visible(table: &Table) -> Vec<u64> {
    let entries = table.entries(table.bucket(hash()));
    entries.filter(|entry| !entry.is_tentative()).map(|entry| entry.address().get()).collect()
}

fn hash() -> Hash {
    Hash::of_number(0)
}

/// The interleavings that are tried of each test.
const INTERLEAVINGS: usize = 5_000;

#[test]
fn model_of_two_inserters_of_one_tag() {
    shuttle::check_random(
        || {
            let table = Arc::new(Table::of_one_bucket());
            let other = Arc::clone(&table);
            let second = thread::spawn(move || add(&other, 64));
            let first = add(&table, 32);
            let second = second.join().unwrap();
            assert!(!(first && second), "one of them sees the other");
            assert_eq!(visible(&table).len(), usize::from(first || second));
        },
        INTERLEAVINGS,
    );
}

#[test]
fn model_of_a_finder_while_an_entry_is_added_and_replaced() {
    shuttle::check_random(
        || {
            let table = Arc::new(Table::of_one_bucket());
            let other = Arc::clone(&table);
            let inserter = thread::spawn(move || {
                assert!(add(&other, 32));
                let (word, entry) = other.find(other.bucket(hash()), TAG).unwrap();
                let moved = entry.moved(Address::new(64));
                assert!(super::bucket::replace(word, entry, moved));
            });
            if let Some((_, entry)) = table.find(table.bucket(hash()), TAG) {
                assert!([32, 64].contains(&entry.address().get()));
            }
            inserter.join().unwrap();
            assert_eq!(visible(&table), [64]);
        },
        INTERLEAVINGS,
    );
}
