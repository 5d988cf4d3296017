use super::*;

#[test]
fn a_p99_is_the_figure_that_one_in_a_hundred_exceeds() {
    let figures: Vec<f64> = (1..=300).rev().map(f64::from).collect();
    assert_eq!(p99(&figures), 297.0);
    assert_eq!(p99(&[7.0]), 7.0);
}

#[test]
fn the_declared_length_is_that_of_the_spec() {
    assert!(LOCAL.contains(&format!("time: {}ms", TRIAL.0 / 1_000_000)));
}
