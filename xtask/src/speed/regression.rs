//! A line through points, and how well it predicts others.

use measure::estimate::mean;

#[cfg(test)]
mod tests;

/// The parts of a cross-validation: runs of neighbours, since seconds resemble the next.
const PARTS: usize = 5;

/// Returns the correlation; not a number if one of the two is constant.
pub(super) fn correlation(x: &[f64], y: &[f64]) -> f64 {
    covariance(x, y) / (covariance(x, x) * covariance(y, y)).sqrt()
}

/// Returns the root of the mean squared error of the line y = a + b·x, where each fifth of the points
/// is predicted by the line of the others.
pub(super) fn residual_sd(x: &[f64], y: &[f64]) -> f64 {
    let part = |index: usize| index * PARTS / x.len();
    let error = |index: usize| {
        let others =
            |of: &[f64]| -> Vec<f64> { pick(of, |other| part(other) != part(index)).collect() };
        let (others_x, others_y) = (others(x), others(y));
        let slope = match covariance(&others_x, &others_x) {
            0.0 => 0.0,
            variance => covariance(&others_x, &others_y) / variance,
        };
        (y[index] - mean(&others_y) - slope * (x[index] - mean(&others_x))).powi(2)
    };
    let errors: Vec<f64> = (0..x.len()).map(error).collect();
    mean(&errors).sqrt()
}

/// Returns the means of so many neighbours; a rest is left out.
pub(super) fn means(values: &[f64], of: usize) -> Vec<f64> {
    values.chunks_exact(of).map(mean).collect()
}

fn pick(values: &[f64], wanted: impl Fn(usize) -> bool) -> impl Iterator<Item = f64> {
    values.iter().enumerate().filter(move |(index, _)| wanted(*index)).map(|(_, value)| *value)
}

fn covariance(x: &[f64], y: &[f64]) -> f64 {
    let (mean_x, mean_y) = (mean(x), mean(y));
    x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / x.len() as f64
}
