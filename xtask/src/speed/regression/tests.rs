use measure::Random;

use super::*;

fn points(slope: f64, noise: f64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(7);
    let x: Vec<f64> = (0..1_000).map(|_| random.normal()).collect();
    let y = x.iter().map(|x| 3.0 + slope * x + noise * random.normal()).collect();
    (x, y)
}

#[test]
fn a_line_leaves_its_noise_and_a_covariate_without_relation_helps_nothing() {
    let (x, y) = points(-2.0, 0.0);
    assert!((correlation(&x, &y) + 1.0).abs() < 1e-9);
    assert!(residual_sd(&x, &y) < 1e-9);
    // Bounds of six standard deviations of an estimated standard deviation: 1 / √(2n).
    let (x, y) = points(-2.0, 0.5);
    assert!((residual_sd(&x, &y) - 0.5).abs() < 0.07);
    let (x, y) = points(0.0, 0.5);
    assert!((residual_sd(&x, &y) - 0.5).abs() < 0.07);
    assert!(correlation(&x, &y).abs() < 6.0 / 1_000f64.sqrt());
}

#[test]
fn a_constant_covariate_predicts_the_mean_of_the_others() {
    let y = [1.0, 2.0, 3.0, 4.0, 5.0];
    // Each is predicted by the mean of the other four: errors of −2.5, −1.25, 0, 1.25 and 2.5.
    assert!((residual_sd(&[1.0; 5], &y) - (3.125f64).sqrt()).abs() < 1e-12);
}

#[test]
fn means_leave_out_a_rest() {
    assert_eq!(means(&[1.0, 3.0, 5.0, 7.0, 100.0], 2), [2.0, 6.0]);
}
