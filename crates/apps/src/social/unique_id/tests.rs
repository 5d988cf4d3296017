use super::*;

const NOW: Duration = Duration::from_millis(1_795_190_686_711);

#[test]
fn a_number_has_the_replica_the_time_and_a_counter() {
    let number = Numbers::new(0x5ce, 0x018).next(NOW);
    assert_eq!(format!("{number:016x}"), "5ce414aaf73f7018");
    assert_eq!(Numbers::new(0x7ff, 0xfff).next(NOW) >> 52, 0x7ff);
}

#[test]
fn numbers_grow_even_if_the_clock_goes_back() {
    let numbers = Numbers::new(0, 4090);
    let later = NOW + Duration::from_millis(1);
    let mut last = 0;
    for now in [NOW; 5000].into_iter().chain([later, NOW, Duration::ZERO, later]) {
        let number = numbers.next(now);
        assert!(last < number, "{last:x} {number:x}");
        last = number;
    }
}

#[test]
fn replicas_without_a_number_draw_theirs() {
    let drawn = || Numbers::of(Machine { number: None }).unwrap();
    let first = drawn();
    // A chance of one in eight millions each: 20 equal ones in a row are not random.
    assert!((0..20).any(|_| {
        let other = drawn();
        (other.machine, other.first) != (first.machine, first.first)
    }));
    let given = Numbers::of(Machine { number: Some(7) }).unwrap();
    assert_eq!((given.machine, given.first), (7, 0));
}
