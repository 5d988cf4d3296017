//! Zipf's law over any number of ranks, without a table.

use measure::Random;

/// Draws rank k of 1 … n with probability proportional to k^−s.
///
/// Rejection-inversion by Hörmann and Derflinger (1996): the time of a draw does not depend on n,
/// and fewer than one draw in two is repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Zipf {
    n: f64,
    s: f64,
    /// The integral of the density up to the first and behind the last rank.
    first: f64,
    last: f64,
    /// A rank that is no further than this from where it was drawn needs no test.
    sure: f64,
}

/// Ranks beyond this are not whole numbers of a double.
pub(crate) const MOST_RANKS: u64 = 1 << 53;

impl Zipf {
    /// `n` is in 1 … [`MOST_RANKS`], `s` above 0.
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

/// (x^(1−s) − 1) / (1 − s), and ln x where s is 1.
fn integral(x: f64, s: f64) -> f64 {
    let log = x.ln();
    let power = (1.0 - s) * log;
    log * if power.abs() < 1e-8 { 1.0 + power / 2.0 } else { power.exp_m1() / power }
}

fn inverse(y: f64, s: f64) -> f64 {
    // Rounding may lead below the smallest value that there is.
    let t = (y * (1.0 - s)).max(-1.0);
    let factor = if t.abs() < 1e-8 { 1.0 - t / 2.0 } else { t.ln_1p() / t };
    (factor * y).exp()
}

#[cfg(test)]
mod tests;
