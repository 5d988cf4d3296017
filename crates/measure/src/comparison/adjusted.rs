//! A comparison that takes off what a covariate explains, such as the speed of the machine.
//!
//! For each shift δ of B, the logarithms less δ are regressed on the logarithm of the covariate, both
//! centred by block, and the residuals are tested as the raw logarithms are (Rosenbaum, *Statistical
//! Science* 17, 2002, "Covariance adjustment in randomized experiments"). The arms are not in this
//! regression, so if there is no difference, the residuals do not depend on the order of the arms, and
//! the test stays exact whatever the covariate is, as long as the arms do not change it.
//!
//! The estimate is the shift with which the ranks of the residuals agree. The slope is that of the
//! analysis of covariance, the regression on blocks, arms and the covariate.

use super::{Block, Comparison, Shifted, logs_of};
use crate::estimate::mean;

#[cfg(test)]
mod tests;

/// A comparison at equal values of the covariate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjusted {
    /// It has no interval of Student's t.
    pub comparison: Comparison,
    /// The change of the figure's logarithm with that of the covariate: −1 if a machine of half the
    /// speed doubles the figure.
    pub slope: f64,
}

/// Compares both arms at equal values of the covariate, which has a value for each figure, in the same
/// place. `None` if a value is missing or not positive, or if the covariate does not vary beside the arms.
pub fn adjusted(figures: &[Block], covariate: &[Block], significance: f64) -> Option<Adjusted> {
    let parts = Parts::of(figures, covariate)?;
    Some(Adjusted { comparison: parts.shifted().compared(significance), slope: parts.slope })
}

/// Returns the probability of the test alone, without the interval.
pub fn adjusted_p_value(figures: &[Block], covariate: &[Block]) -> Option<f64> {
    Some(Parts::of(figures, covariate)?.shifted().p(0.0))
}

/// The parts of the regression, all centred by block.
struct Parts {
    /// The logarithms of the figures.
    y: Vec<Block>,
    /// The logarithms of the covariate.
    x: Vec<Block>,
    /// The arms: 1 for B and 0 for A.
    z: Vec<Block>,
    /// The slope of the regression of y on x and z.
    slope: f64,
}

impl Parts {
    fn of(figures: &[Block], covariate: &[Block]) -> Option<Parts> {
        let (y, x) = (logs_of(figures)?, logs_of(covariate)?);
        let lengths = |blocks: &[Block]| -> Vec<(usize, usize)> {
            blocks.iter().map(|block| (block.a.len(), block.b.len())).collect()
        };
        if lengths(&y) != lengths(&x) {
            return None;
        }
        let z = Shifted::of(y.clone()).parts;
        let [y, x, z] = [y, x, z].map(|blocks| centred(&blocks));
        let beside = less(&x, product(&x, &z) / product(&z, &z), &z);
        let left = product(&beside, &beside);
        // Below this a covariate that does not vary has only the errors of its logarithms.
        let varies = 1e-12 < left;
        varies.then(|| Parts { slope: product(&beside, &y) / left, y, x, z })
    }

    /// Returns the residuals of the regression on x alone, and what a shift takes off each.
    fn shifted(&self) -> Shifted {
        let Parts { y, x, z, .. } = self;
        let residual = |of: &[Block]| less(of, product(x, of) / product(x, x), x);
        Shifted { values: residual(y), parts: residual(z) }
    }
}

fn centred(blocks: &[Block]) -> Vec<Block> {
    let centred = |block: &Block| {
        let all: Vec<f64> = block.a.iter().chain(&block.b).copied().collect();
        let middle = mean(&all);
        let less = |values: &[f64]| values.iter().map(|value| value - middle).collect();
        Block { a: less(&block.a), b: less(&block.b) }
    };
    blocks.iter().map(centred).collect()
}

/// Returns the values less so many times the others.
fn less(blocks: &[Block], times: f64, others: &[Block]) -> Vec<Block> {
    let of = |values: &[f64], others: &[f64]| {
        values.iter().zip(others).map(|(value, other)| value - times * other).collect()
    };
    let pair = |(block, other): (&Block, &Block)| Block {
        a: of(&block.a, &other.a),
        b: of(&block.b, &other.b),
    };
    blocks.iter().zip(others).map(pair).collect()
}

fn product(one: &[Block], other: &[Block]) -> f64 {
    let all = |blocks: &[Block]| -> Vec<f64> {
        blocks.iter().flat_map(|block| block.a.iter().chain(&block.b)).copied().collect()
    };
    all(one).iter().zip(all(other)).map(|(one, other)| one * other).sum()
}
