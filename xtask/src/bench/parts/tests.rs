use super::*;

#[test]
fn shares_of_ticks_divide_the_exact_time() {
    assert_eq!(row("geo", 9.0, 2.0, 1.0), "geo                9.0 µs  (user 6.0, kernel 3.0)");
    assert_eq!(row("geo", 0.0, 0.0, 0.0), "geo                0.0 µs  (user 0.0, kernel 0.0)");
}
