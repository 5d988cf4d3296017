use super::*;

#[test]
fn the_memory_of_a_machine_is_read() {
    let text = "MemTotal:       24684812 kB\nMemFree: 1 kB\n";
    assert_eq!(meminfo(text, "MemTotal"), Some(24_684_812 * 1024));
    assert_eq!(meminfo(text, "MemFree"), Some(1024));
    assert_eq!(meminfo(text, "Mem"), None);
    assert_eq!(meminfo("MemTotal: much\n", "MemTotal"), None);
}

#[test]
fn a_number_of_buckets_has_units_that_are_powers_of_two() {
    assert_eq!(read_buckets("128M"), Some(1 << 27));
    assert_eq!(read_buckets("4096"), Some(4096));
    assert_eq!(["0", "M", "many", "2000G"].map(read_buckets), [None; 4]);
}
