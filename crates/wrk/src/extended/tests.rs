use super::*;
use crate::samples::hash;

fn of(n: u64) -> Extended {
    Extended::from(n)
}

#[test]
fn every_whole_microsecond_below_a_second_reads_as_in_c() {
    let lines = (850..1_000_000).map(|us| (of(us) / of(1000)).fixed(2));
    assert_eq!(hash(lines), 14_389_647_516_008_278_363);
}

#[test]
fn doubles_would_print_another_last_digit() {
    let (ours, doubles) = ((of(855) / of(1000)).fixed(2), format!("{:.2}", 855.0 / 1000.0));
    assert_eq!((ours.as_str(), doubles.as_str()), ("0.86", "0.85"));
}

#[test]
fn quotients_products_and_doubles_read_as_in_c() {
    let quotients = (1..300_000).map(|n| (of(n * 1_000_003) / of(n * n % 9973 + 1)).fixed(2));
    assert_eq!(hash(quotients), 4_797_616_723_827_183_519);
    let shares = (1..300_000).map(|n| (of(n) / of(800) * of(100)).fixed(2));
    assert_eq!(hash(shares), 2_897_420_785_289_891_149);
    let rates = (1..300_000).map(|n| {
        let seconds = (n * 7 + 13) as f64 / 1_000_000.0;
        format!("{:>9}", (of(n * n) / Extended::from(seconds)).fixed(2))
    });
    assert_eq!(hash(rates), 13_578_829_460_394_612_994);
    let doubles = (0..300_000).map(|n| Extended::from(f64::from(n) / 128.0 / 1000.0).fixed(6));
    assert_eq!(hash(doubles), 6_510_257_776_157_069_625);
}

#[test]
fn a_tie_is_printed_as_the_even_number() {
    let read = |x: f64, decimals| Extended::from(x).fixed(decimals);
    let texts = [read(1.125, 2), read(1.375, 2), read(0.5, 0), read(1.5, 0), read(2.5, 0)];
    assert_eq!(texts, ["1.12", "1.38", "0", "2", "2"]);
}

#[test]
fn large_and_small_numbers_are_exact() {
    assert_eq!(of(u64::MAX).fixed(2), "18446744073709551615.00");
    assert_eq!((of(u64::MAX) * of(1 << 40)).fixed(0), "20282409603651670422847739658240");
    assert_eq!(Extended::from(1e300).fixed(1), format!("{:.1}", 1e300));
    assert_eq!(Extended::from(5e-324).fixed(6), "0.000000");
}

#[test]
fn invalid_amounts_are_zero() {
    for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Extended::from(x), Extended::ZERO);
    }
    assert_eq!(of(1) / of(0), Extended::ZERO);
    assert_eq!(of(0) / of(1), Extended::ZERO);
    assert_eq!(of(0) * of(1), Extended::ZERO);
    assert_eq!(Extended::ZERO.fixed(2), "0.00");
    assert_eq!(Extended::ZERO.to_f64(), 0.0);
}

#[test]
fn order_is_that_of_the_numbers() {
    let mut numbers = [0.0, 1e-9, 0.85, 1.0, 870.4, 871.0, 1e18].map(Extended::from);
    let sorted = numbers;
    numbers.reverse();
    numbers.sort();
    assert_eq!(numbers, sorted);
}

#[test]
fn a_mantissa_that_rounds_up_to_a_power_of_two_stays_one() {
    let third = of(1) / of(3);
    assert_eq!((third * of(3)).to_f64(), 1.0);
    assert_eq!((of(u64::MAX) * of(u64::MAX)).to_f64(), 2f64.powi(128));
}
