//! The spread of repeated trials: how far a figure differs from one to the next, and how well that
//! is known.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

use crate::comparison::chances_of_sums;
use crate::estimate::{is_constant, logs, mean, median, moments};

#[cfg(test)]
mod tests;

/// The relative standard deviation of a figure over trials, as a share: 0.01 is one per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rsd {
    pub rsd: f64,
    /// The interval that holds the true one with the chosen confidence, if trials are normal.
    pub interval: (f64, f64),
}

/// Returns the standard deviation by the mean, with divisor n − 1, and its interval from the χ²
/// distribution of (n − 1)s²/σ². `None` below two values, or if the mean is not positive.
pub fn rsd(values: &[f64], confidence: f64) -> Option<Rsd> {
    assert!(0.0 < confidence && confidence < 1.0, "a confidence is a probability");
    let (mean, sd) = moments(values)?;
    if mean <= 0.0 {
        return None;
    }
    let rsd = sd / mean;
    Some(Rsd { rsd, interval: rsd_interval(rsd, values.len(), confidence)? })
}

/// Returns the interval of a relative standard deviation that so many values have. `None` below two.
pub fn rsd_interval(rsd: f64, count: usize, confidence: f64) -> Option<(f64, f64)> {
    let freedom = count.checked_sub(1)? as f64;
    let squares = ChiSquared::new(freedom).ok()?;
    let tail = (1.0 - confidence) / 2.0;
    let bound = |p: f64| rsd * (freedom / squares.inverse_cdf(p)).sqrt();
    Some((bound(1.0 - tail), bound(tail)))
}

/// Returns Shamos' estimate of the standard deviation by the median: the median distance of two
/// trials × 1.0484, which makes it the standard deviation of normal values. Half of all pairs
/// can be outliers without effect, and unlike the deviation from the median it sees that there
/// are two groups of values (Shamos 1976; Rousseeuw & Croux, *JASA* 88, 1993).
pub fn shamos(values: &[f64]) -> Option<f64> {
    const OF_NORMAL: f64 = 1.048_358_4;
    let distances = values
        .iter()
        .enumerate()
        .flat_map(|(i, one)| values[i + 1..].iter().map(move |other| (one - other).abs()));
    let distance = median(&distances.collect::<Vec<_>>())?;
    let middle = median(values).filter(|middle| 0.0 < *middle)?;
    Some(distance * OF_NORMAL / middle)
}

/// A percentile of response times: 0.99 is that of P99.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    pub level: f64,
    pub value: f64,
}

/// Returns the least RSD that a percentile of `count` requests can have, if nothing but chance
/// differs between trials: √(p(1 − p)/N) / f(q), the asymptotic standard error of an order
/// statistic, by the percentile itself. The density is that of an exponential tail from a lower
/// percentile on, mostly P90: f(q) = (1 − p)/θ with θ = (q − q₀) / ln((1 − p₀)/(1 − p)). `None` if the
/// percentiles are not in order.
pub fn sampling_floor(lower: Percentile, upper: Percentile, count: u64) -> Option<f64> {
    let beyond = 1.0 - upper.level;
    let in_order = 0.0 < lower.value && lower.value <= upper.value && lower.level < upper.level;
    if !in_order || count == 0 || beyond <= 0.0 {
        return None;
    }
    let scale = (upper.value - lower.value) / ((1.0 - lower.level) / beyond).ln();
    Some(scale / upper.value * (upper.level / (beyond * count as f64)).sqrt())
}

/// The difference of two spreads: the probabilities of one as large, if the true ones were equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpreadTest {
    /// The mean distance from the median of the second over that of the first.
    pub ratio: f64,
    /// By all exchanges of these distances between the two. It assumes no distribution, and decides.
    pub p: f64,
    /// The correlation of each trial with the one before, if it is larger than chance usually makes it:
    /// then the trials of one set lie close together for another reason, and `p` is too small.
    pub autocorrelation: Option<f64>,
    /// By the F test of the variances of logarithms, to look at: it assumes that they are normal, and
    /// is wrong with outliers and other heavy tails.
    pub f: f64,
    /// By Brown and Forsythe's test of distances from the median, to look at: it assumes less, and
    /// finds little in few trials.
    pub brown_forsythe: f64,
}

/// Compares the relative spread of two sets of trials, each in the order in which it ran. `None` if one
/// has fewer than three values, a value that is not positive, or no spread at all.
pub fn compare_spreads(one: &[f64], other: &[f64]) -> Option<SpreadTest> {
    if one.len().min(other.len()) < 3 || is_constant(one) || is_constant(other) {
        return None;
    }
    let (one, other) = (logs(one)?, logs(other)?);
    let ((_, s), (_, r)) = (moments(&one)?, moments(&other)?);
    if s == 0.0 || r == 0.0 {
        return None;
    }
    let freedom = |values: &[f64]| (values.len() - 1) as f64;
    let ratio = FisherSnedecor::new(freedom(&one), freedom(&other)).ok()?;
    let f = (s / r).powi(2);
    let f = 2.0 * ratio.cdf(f).min(ratio.sf(f));
    let (of_one, of_other) = (distances(&one)?, distances(&other)?);
    // One standard error of the mean of both correlations.
    let usual = 1.0 / ((one.len() + other.len()) as f64).sqrt();
    let correlation = f64::midpoint(lag_1(&one), lag_1(&other));
    Some(SpreadTest {
        ratio: mean(&of_other) / mean(&of_one),
        p: exchanged(&of_one, &of_other),
        autocorrelation: (usual < correlation).then_some(correlation),
        f: f.min(1.0),
        brown_forsythe: brown_forsythe(&one, &other)?,
    })
}

/// Returns the distances from the median, without the smallest: of an odd number it is zero, and of an
/// even one equal to the next, whatever the values are (Hines & Hines, *Biometrics* 56, 2000).
fn distances(values: &[f64]) -> Option<Vec<f64>> {
    let middle = median(values)?;
    let mut distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    distances.sort_by(f64::total_cmp);
    distances.remove(0);
    Some(distances)
}

/// Returns the share of all exchanges of the distances between both sets whose means differ by as large a
/// factor. It is exact to a thousandth of their sum, and nearly normal for larger sets.
fn exchanged(one: &[f64], other: &[f64]) -> f64 {
    const LONGEST_EXACT: usize = 100;
    const PARTS: f64 = 1_000.0;
    let all: Vec<f64> = one.iter().chain(other).copied().collect();
    let total = all.iter().sum::<f64>();
    let (n, m) = (one.len() as f64, other.len() as f64);
    if LONGEST_EXACT < all.len() {
        let middle = total / (n + m);
        let squares = all.iter().map(|distance| (distance - middle).powi(2)).sum::<f64>();
        let variance = n * m / ((n + m) * (n + m - 1.0)) * squares;
        let excess = one.iter().sum::<f64>() - n * middle;
        return 2.0 * Normal::standard().sf(excess.abs() / variance.sqrt());
    }
    let parts = |of: &[f64]| -> Vec<usize> {
        of.iter().map(|distance| (distance / total * PARTS).round() as usize).collect()
    };
    let (of_one, all) = (parts(one).iter().sum::<usize>(), parts(&all));
    let sum = all.iter().sum::<usize>();
    let factor = |of_one: usize| {
        let (one, other) = (of_one as f64 * m, (sum - of_one) as f64 * n);
        one.max(other) / one.min(other)
    };
    let least = factor(of_one) * (1.0 - 1e-12);
    let chances = chances_of_sums(&all, one.len());
    let far = chances.iter().enumerate().filter(|(of_one, _)| least <= factor(*of_one));
    far.map(|(_, chance)| chance).sum::<f64>().min(1.0)
}

/// Returns the correlation of each value with the one before.
fn lag_1(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>();
    let products = values.windows(2).map(|two| (two[0] - middle) * (two[1] - middle)).sum::<f64>();
    products / squares
}

/// Returns the probability of Brown and Forsythe's test (*JASA* 69, 1974): an analysis of variance of
/// the distances |x − median| of two groups, with 1 and n − 2 degrees of freedom.
fn brown_forsythe(one: &[f64], other: &[f64]) -> Option<f64> {
    let distances = |values: &[f64]| -> Option<Vec<f64>> {
        let middle = median(values)?;
        Some(values.iter().map(|value| (value - middle).abs()).collect())
    };
    let groups = [distances(one)?, distances(other)?];
    let count = (one.len() + other.len()) as f64;
    let all = groups.iter().flatten().sum::<f64>() / count;
    let (mut between, mut within) = (0.0, 0.0);
    for group in &groups {
        let mean = mean(group);
        between += group.len() as f64 * (mean - all).powi(2);
        within += group.iter().map(|distance| (distance - mean).powi(2)).sum::<f64>();
    }
    let statistic = between / (within / (count - 2.0));
    Some(FisherSnedecor::new(1.0, count - 2.0).ok()?.sf(statistic))
}

/// A trial that lies apart from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    pub index: usize,
    /// The probability that one of so many normal trials lies as far apart.
    pub p: f64,
}

/// Returns the values that are improbable beside the others, in their order: externally
/// studentized residuals of the mean, tⱼ = eⱼ·√((n − 2)/(SSE·(1 − 1/n) − eⱼ²)) with n − 2 degrees of
/// freedom, and Bonferroni's factor n (Cook & Weisberg, *Residuals and Influence in Regression*,
/// 1982, §2.2.2). They are named and never left out.
pub fn outliers(values: &[f64], significance: f64) -> Vec<Outlier> {
    let n = values.len() as f64;
    let Some((mean, sd)) = moments(values).filter(|_| 4 <= values.len()) else {
        return Vec::new();
    };
    let Ok(student) = StudentsT::new(0.0, 1.0, n - 2.0) else { return Vec::new() };
    let squares = sd * sd * (n - 1.0);
    let tested = values.iter().enumerate().map(|(index, value)| {
        let residual = value - mean;
        let rest = squares * (1.0 - 1.0 / n) - residual * residual;
        let t = residual.abs() * ((n - 2.0) / rest.max(0.0)).sqrt();
        let p = if t.is_nan() { 1.0 } else { 2.0 * student.sf(t) * n };
        Outlier { index, p: p.min(1.0) }
    });
    tested.filter(|outlier| outlier.p <= significance).collect()
}
