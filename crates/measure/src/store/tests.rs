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
fn the_memory_of_a_log_is_a_power_of_two_within_its_share() {
    let gib = |gib: u64| gib << 30;
    assert_eq!(log_by_default(Some(gib(24))), gib(8));
    assert_eq!(log_by_default(Some(gib(40))), gib(16));
    assert_eq!([None, Some(gib(1000))].map(log_by_default), [gib(16); 2]);
}

#[test]
fn a_number_of_buckets_has_units_that_are_powers_of_two() {
    assert_eq!(read_buckets("128M"), Some(1 << 27));
    assert_eq!(read_buckets("4096"), Some(4096));
    assert_eq!(["0", "M", "many", "2000G"].map(read_buckets), [None; 4]);
}
