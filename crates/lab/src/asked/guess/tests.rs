use super::*;

fn in_words((Range(low, high), _): (Range, String)) -> String {
    format!("{} to {}", low.as_per_second(), high.as_per_second())
}

#[test]
fn the_range_comes_from_the_time_of_one_connection() {
    let range = |time: Nanos| in_words(of_one_connection(time));
    assert_eq!(range(Nanos::from_millis(2)), "250 to 16000");
    assert_eq!(range(Nanos::from_micros(37)), "14000 to 860000");
    assert_eq!(range(Nanos::from_secs(7)), "1 to 5");
    assert_eq!(range(Nanos::ZERO), "500000 to 32000000");
}

#[test]
fn the_range_of_a_log_goes_from_its_usual_minute_beyond_its_busiest_one() {
    assert_eq!(in_words(of_rates(12.3, 40.0, 9)), "12 to 120");
    assert_eq!(in_words(of_rates(0.01, 0.02, 9)), "1 to 3");
}

#[test]
fn the_objective_is_a_readable_multiple_of_what_was_seen() {
    let limit = |alone: Option<Nanos>| slo(alone).0[0].response_time().unwrap();
    assert_eq!(limit(None), Nanos::from_millis(100));
    assert_eq!(limit(Some(Nanos::from_micros(100))), Nanos::from_millis(20));
    assert_eq!(limit(Some(Nanos::from_millis(13))), Nanos::from_millis(200));
    assert_eq!(limit(Some(Nanos::from_millis(400))), Nanos::from_secs(5));
    // Nothing takes longer than the timeout, so a higher limit can never be missed.
    assert_eq!(limit(Some(Nanos::from_secs(3))), TIMEOUT);
    let why = slo(Some(Nanos::from_secs(3))).1;
    assert!(why.starts_with("the timeout, as 10 times what"), "{why}");
}
