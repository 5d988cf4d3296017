use super::{column, per_second};

#[test]
fn figures_are_read_by_name_and_place() {
    let lines = ["fill 5", "uniform 2000000 3000000", "zipf 1 2", "uniform 4000000 5000000"];
    let lines = lines.map(str::to_owned);
    assert_eq!(column(&lines, "uniform", 0, 1e6), [2.0, 4.0]);
    assert_eq!(column(&lines, "uniform", 1, 1e6), [3.0, 5.0]);
    assert!(column(&lines, "uniform", 2, 1e6).is_empty());
}

#[test]
fn the_rate_of_redis_benchmark_is_in_its_last_line() {
    let csv =
        "\"test\",\"rps\",\"avg_latency_ms\"\n\"INCR key:__rand_int__\",\"1519756.88\",\"2.3\"\n";
    assert_eq!(per_second(csv), Some(1_519_756.88));
    assert_eq!(per_second("ERR"), None);
}
