use super::*;

#[test]
fn ticks_stand_behind_the_name_of_the_process() {
    let stat = "7 (a) b (c) S 1 7 7 0 -1 0 9 0 0 0 123 45 6 7 20 0 1 0";
    let [user, kernel, ..] = machine::ticks(stat).unwrap();
    assert_eq!([user, kernel], [Nanos::from_millis(1230), Nanos::from_millis(450)]);
    assert_eq!(machine::ticks("7 (a) S 1"), None);
}

#[test]
fn shares_of_ticks_divide_the_exact_time() {
    assert_eq!(row("geo", 9.0, 2.0, 1.0), "geo                9.0 µs  (user 6.0, kernel 3.0)");
    assert_eq!(row("geo", 0.0, 0.0, 0.0), "geo                0.0 µs  (user 0.0, kernel 0.0)");
}
