use super::*;

/// Returns the keys of a text that is read in pieces of this size, and the lines without one and with one that is
/// too large.
fn keys(text: &[u8], piece: usize) -> (Vec<u64>, [u64; 2]) {
    let (mut keys, mut bytes) = (Keys::default(), Vec::new());
    text.chunks(piece).for_each(|piece| keys.read(piece, &mut bytes));
    keys.end(&mut bytes);
    let found: Vec<u64> =
        bytes.chunks(8).map(|key| u64::from_le_bytes(key.try_into().unwrap())).collect();
    assert_eq!(found.len() as u64, keys.found());
    (found, [keys.skipped(), keys.too_large()])
}

#[test]
fn each_line_yields_its_key_for_any_pieces() {
    let long = format!("INSERT usertable user5 [ field0={} ]\n", "usertable user9 ".repeat(100));
    let text = [
        "YCSB Client\n\nINSERT usertable user6284781860667377211 [ field0=x ]\n",
        &long,
        "READ usertable user18446744073709551615 [ <all fields> ]\r\n",
        "READ usertable user18446744073709551616 [ <all fields> ]\n",
        "usertable user\nusertable userx usertable user7\nusertable usertable user8\n",
        "ususertable user1\nuserusertable user2\nusertable usertable x\n",
        "[OVERALL], RunTime(ms), 5\nUPDATE usertable user0012",
    ]
    .concat();
    let expected = vec![6_284_781_860_667_377_211, 5, u64::MAX, 7, 8, 1, 2, 12];
    for piece in [1, 2, 3, 7, 64, 4096] {
        assert_eq!(keys(text.as_bytes(), piece), (expected.clone(), [5, 1]), "{piece}");
    }
    assert_eq!(keys(b"", 1), (vec![], [0, 0]));
}
