use super::{Corrupt, check, length_of_run, record_at};
use crate::address::Address;
use crate::log::{BLOCK, Draft, Info, Log};

const PAGE: u64 = 16 << 10;
const STORE: u64 = 7;

fn append(log: &Log, key: &[u8], value: Option<&[u8]>) -> Address {
    log.append(&Draft { key, value }, Info::new(Address::NONE, 1)).unwrap().0
}

#[test]
fn sealed_blocks_have_the_records_of_the_memory() {
    let log = Log::new(2, PAGE, None, None).unwrap();
    let small = append(&log, b"small", Some(&[1; 8]));
    let deleted = append(&log, b"deleted", None);
    let large = append(&log, b"large", Some(&[2; 5000]));
    let mut bytes = Vec::new();
    log.seal(0, PAGE, STORE, &mut bytes);
    assert_eq!(bytes.len() as u64, PAGE);

    let block = &bytes[..BLOCK as usize];
    assert_eq!(length_of_run(block), Some(1));
    assert_eq!(check(block, 0, STORE), Ok(()));
    let record = record_at(block, small).unwrap();
    assert_eq!((record.key, record.value), (&b"small"[..], &[1; 8][..]));
    assert!(record_at(block, deleted).unwrap().info.is_tombstone());

    let run = &bytes[BLOCK as usize..3 * BLOCK as usize];
    assert_eq!(length_of_run(run), Some(2));
    assert_eq!(check(run, BLOCK, STORE), Ok(()));
    assert_eq!(record_at(run, large).unwrap().value, [2; 5000]);
    assert_eq!(record_at(&run[..BLOCK as usize], large), Err(Corrupt));
}

#[test]
fn a_flipped_bit_another_place_and_another_store_are_found() {
    let log = Log::new(2, PAGE, None, None).unwrap();
    append(&log, b"key", Some(b"some value"));
    let mut bytes = Vec::new();
    log.seal(0, BLOCK, STORE, &mut bytes);
    assert_eq!(check(&bytes, 0, STORE), Ok(()));
    assert_eq!(check(&bytes, BLOCK, STORE), Err(Corrupt));
    assert_eq!(check(&bytes, 0, STORE + 1), Err(Corrupt));
    assert_eq!(check(&bytes[..100], 0, STORE), Err(Corrupt));
    assert_eq!(check(&[], 0, STORE), Err(Corrupt));
    for at in [0, 4, 9, 16, 40, 4095] {
        bytes[at] ^= 16;
        assert_eq!(check(&bytes, 0, STORE), Err(Corrupt), "byte {at}");
        bytes[at] ^= 16;
    }
}
