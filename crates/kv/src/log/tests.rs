use super::record::{Draft, Info, Refused};
use super::{BLOCK, HEADER, Log, place};
use crate::address::Address;

const PAGE: u64 = 16 << 10;

fn draft<'a>(key: &'a [u8], value: &'a [u8]) -> Draft<'a> {
    Draft { key, value: Some(value) }
}

fn info() -> Info {
    Info::new(Address::NONE, 1)
}

fn value(log: &Log, address: Address) -> Vec<u8> {
    let mut value = Vec::new();
    log.record(address).read(&mut value).unwrap();
    value
}

#[test]
fn a_small_record_never_crosses_a_block() {
    assert_eq!(place(0, 32, PAGE), (32, 64));
    assert_eq!(place(4064, 32, PAGE), (4064, 4096));
    assert_eq!(place(4064, 64, PAGE), (4096 + 32, 4096 + 96));
    assert_eq!(place(4096, 32, PAGE), (4096 + 32, 4096 + 64));
}

#[test]
fn a_large_record_has_a_run_of_blocks_in_one_page() {
    assert_eq!(place(64, BLOCK, PAGE), (BLOCK + 32, 3 * BLOCK));
    assert_eq!(place(64, 3 * BLOCK, PAGE), (PAGE + 32, 2 * PAGE));
    assert_eq!(place(0, PAGE - HEADER, PAGE), (32, PAGE));
}

#[test]
fn a_record_of_8_and_8_bytes_is_one_unit() {
    assert_eq!(draft(&[1; 8], &[2; 8]).size(), 32);
    assert_eq!(draft(&[1; 8], &[2; 9]).size(), 64);
    assert_eq!(Draft { key: &[1; 8], value: None }.size(), 32);
}

#[test]
fn records_are_read_as_they_were_written() {
    let log = Log::new(2, PAGE, None, None).unwrap();
    for (key, written) in [(1, 0), (8, 8), (9, 7), (1024, 100), (3, 9000), (16, 8)] {
        let (key, written) = (vec![7; key], vec![9; written]);
        let draft = draft(&key, &written);
        let (address, record) = log.append(&draft, info()).unwrap();
        assert_eq!(value(&log, address), written);
        assert!(record.has_key(&key));
        assert!(!record.has_key(&key[1..]));
        assert!(!record.has_key(b"other"));
    }
}

#[test]
fn only_a_plain_record_of_8_and_8_bytes_is_fixed() {
    let log = Log::new(2, PAGE, None, None).unwrap();
    let key = 5_u64.to_le_bytes();
    let (fixed, record) = log.append(&draft(&key, &[0; 8]), info()).unwrap();
    let (wide, _) = log.append(&draft(&key, &[0; 9]), info()).unwrap();
    assert!(log.fixed(fixed, 5).is_some());
    assert!(log.fixed(fixed, 6).is_none());
    assert!(log.fixed(wide, 5).is_none());
    assert!(record.bury());
    assert!(!record.bury());
    assert!(log.fixed(fixed, 5).is_none());
}

#[test]
fn a_wide_value_changes_its_length_within_its_room() {
    let log = Log::new(2, PAGE, None, None).unwrap();
    let (address, record) = log.append(&draft(b"name", &[1; 20]), info()).unwrap();
    // Three words of header and one for the key leave four of the record's two units.
    assert_eq!(record.replace(&[2; 32]), Ok(()));
    assert_eq!(value(&log, address), [2; 32]);
    assert_eq!(record.replace(&[3; 33]), Err(Refused::Length));
    assert_eq!(record.replace(&[3; 8]), Ok(()));
    assert_eq!(record.replace(&1_u64.to_le_bytes()), Ok(()));
    assert_eq!(record.add(-3), Ok(-2));
    assert_eq!(value(&log, address), (-2_i64).to_le_bytes());
}

#[test]
fn parts_of_values_are_read_and_written() {
    let log = Log::new(2, PAGE, None, None).unwrap();
    for length in [8_usize, 21] {
        let (address, record) = log.append(&draft(b"key", &vec![0; length]), info()).unwrap();
        assert_eq!(record.write_at(3, b"abc"), Ok(()));
        let mut part = b"before ".to_vec();
        record.read_at(4, 3, &mut part).unwrap();
        assert_eq!(part, b"before bc\0");
        assert_eq!(record.write_at(length - 1, b"xy"), Err(Refused::Length));
        assert_eq!(record.read_at(length - 1, 2, &mut part), Err(Refused::Length));
        assert_eq!(record.write_at(length - 1, b"z"), Ok(()));
        assert_eq!(value(&log, address).last(), Some(&b'z'));
    }
}

#[test]
fn a_full_log_takes_nothing_more() {
    let log = Log::new(2, PAGE, None, None).unwrap();
    let draft = draft(&[1; 8], &[2; 8]);
    let count = std::iter::from_fn(|| log.append(&draft, info())).count() as u64;
    assert_eq!(count, 2 * PAGE / BLOCK * ((BLOCK - HEADER) / 32));
    assert_eq!(log.tail(), 2 * PAGE);
}
