//! The Zipf distribution over any number of ranks, without a table.

use measure::Random;

/// A distribution of ranks k in 1 … n with probability proportional to k^−s.
///
/// Uses rejection-inversion by Hörmann and Derflinger (1996): the time of a draw does not depend on
/// n, and fewer than half of the draws are repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Zipf {
    n: f64,
    s: f64,
    /// The integral of the density up to the first and after the last rank.
    first: f64,
    last: f64,
    /// The distance from the drawn point within which a rank needs no test.
    sure: f64,
}

/// The maximum number of ranks: a double cannot represent all larger whole numbers.
pub(crate) const MOST_RANKS: u64 = 1 << 53;

impl Zipf {
    /// Creates the distribution for `n` in 1 … [`MOST_RANKS`] and `s` above 0.
    pub(crate) fn new(n: u64, s: f64) -> Zipf {
        let n = n as f64;
        let sure = 2.0 - inverse(integral(2.5, s) - density(2.0, s), s);
        Zipf { n, s, first: integral(1.5, s) - 1.0, last: integral(n + 0.5, s), sure }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let Zipf { n, s, first, last, sure } = *self;
        loop {
            let u = last + random.unit() * (first - last);
            let x = inverse(u, s);
            let k = x.round().clamp(1.0, n);
            if k - x <= sure || integral(k + 0.5, s) - density(k, s) <= u {
                return k as u64;
            }
        }
    }
}

fn density(x: f64, s: f64) -> f64 {
    (-s * x.ln()).exp()
}

/// Returns (x^(1−s) − 1) / (1 − s), and ln x where s is 1.
fn integral(x: f64, s: f64) -> f64 {
    let log = x.ln();
    let power = (1.0 - s) * log;
    log * if power.abs() < 1e-8 { 1.0 + power / 2.0 } else { power.exp_m1() / power }
}

fn inverse(y: f64, s: f64) -> f64 {
    // Rounding may give a result below the smallest possible value.
    let t = (y * (1.0 - s)).max(-1.0);
    let factor = if t.abs() < 1e-8 { 1.0 - t / 2.0 } else { t.ln_1p() / t };
    (factor * y).exp()
}

#[cfg(test)]
mod tests;
