use super::Hash;

#[test]
fn hashes_are_those_of_the_vectors() {
    let of = |key: &[u8]| Hash::of(key, 0).0;
    assert_eq!(of(&0u64.to_le_bytes()), 0xc77b_3abb_6f87_acd9);
    assert_eq!(of(&1u64.to_le_bytes()), 0x2fbc_5935_64db_792e);
    assert_eq!(of(b"user6284781860667377211"), 0x5c8c_1255_4f88_eabc);
    assert_eq!(of(b"a"), 0xe6c6_32b6_1e96_4e1f);
}

#[test]
fn the_parts_of_a_hash_lie_behind_each_other() {
    let hash = Hash::of_number(0xabc1_2123_4000_0000);
    assert_eq!(hash.slice(), 0xabc);
    assert_eq!(hash.bucket(0), 0xabc);
    assert_eq!(hash.bucket(8), 0xabc12);
    assert_eq!(hash.tag(8), 0x1234 >> 1);
}
