use super::*;

#[test]
fn a_cost_is_shown_as_time_and_as_rate() {
    assert_eq!(in_words(0.0583), "58.300 ms of CPU per login, 17.2 logins per CPU-second");
}
