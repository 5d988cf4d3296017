//! Trends over the order of trials: whether what came later was higher or lower.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::estimate::median;

#[cfg(test)]
mod tests;

/// The result of a test for a trend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The pairs of values that rise in time, less those that fall (Kendall's S).
    pub s: i64,
    /// The largest possible S: that of values which only rise.
    pub most: i64,
    /// The probability of an S at least as far from zero if the order is by chance.
    pub p: f64,
}

/// The longest series whose distribution of S is computed exactly; a longer one is nearly normal.
const LONGEST_EXACT: usize = 30;

/// Tests whether values rise or fall in the order of time, in several groups alike: the Mann-Kendall
/// test, with the S of all groups added (Hirsch, Slack & Smith, *Water Resources Research* 18, 1982).
/// What differs between the groups does not count. `None` if no group has two values.
///
/// The probability is exact if no two values of a group are equal and no group has more than 30.
/// Otherwise S is taken as normal, with Kendall's variance for ties, and corrected by one, as S
/// is a whole number (Kendall, *Rank Correlation Methods*, 1975, chapters 3 and 4).
pub fn mann_kendall(groups: &[&[f64]]) -> Option<Trend> {
    let groups: Vec<&[f64]> = groups.iter().copied().filter(|group| 2 <= group.len()).collect();
    if groups.is_empty() {
        return None;
    }
    let s: i64 = groups.iter().map(|group| s_of(group)).sum();
    let most = groups.iter().map(|group| pairs(group.len())).sum();
    let is_exact = groups.iter().all(|group| group.len() <= LONGEST_EXACT && !has_ties(group));
    let p = if is_exact { exact_p(&groups, s, most) } else { normal_p(&groups, s) };
    Some(Trend { s, most, p })
}

/// Returns the median of the slopes between all pairs of values, in units of the value from one trial
/// to the next: the estimator of Theil (1950) and Sen (*JASA* 63, 1968). `None` below two values.
pub fn slope(values: &[f64]) -> Option<f64> {
    let slopes = values.iter().enumerate().flat_map(|(i, early)| {
        let later = values.iter().enumerate().skip(i + 1);
        later.map(move |(j, late)| (late - early) / (j - i) as f64)
    });
    median(&slopes.collect::<Vec<_>>())
}

fn pairs(n: usize) -> i64 {
    (n * (n - 1) / 2) as i64
}

fn s_of(values: &[f64]) -> i64 {
    let signs = values.iter().enumerate().flat_map(|(i, early)| {
        values[i + 1..].iter().map(move |late| match late.total_cmp(early) {
            _ if late == early => 0,
            std::cmp::Ordering::Greater => 1,
            _ => -1,
        })
    });
    signs.sum()
}

fn has_ties(values: &[f64]) -> bool {
    sorted(values).windows(2).any(|pair| pair[0] == pair[1])
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the probability from the number of pairs that fall: S = most − 2 × falling.
fn exact_p(groups: &[&[f64]], s: i64, most: i64) -> f64 {
    let chances = groups.iter().fold(vec![1.0], |chances, group| {
        (2..=group.len()).fold(chances, |chances, n| with_one_more(&chances, n))
    });
    let far = |falling: usize| s.abs() <= (most - 2 * falling as i64).abs();
    chances.iter().enumerate().filter(|(falling, _)| far(*falling)).map(|(_, p)| p).sum::<f64>()
}

/// Returns the distribution of the falling pairs with an n-th value, which falls behind 0, 1, … or
/// n − 1 of the others with equal probability.
fn with_one_more(chances: &[f64], n: usize) -> Vec<f64> {
    let mut more = vec![0.0; chances.len() + n - 1];
    for (falling, chance) in chances.iter().enumerate() {
        more[falling..falling + n].iter_mut().for_each(|sum| *sum += chance / n as f64);
    }
    more
}

fn normal_p(groups: &[&[f64]], s: i64) -> f64 {
    let variance: f64 = groups.iter().map(|group| variance_of_s(group)).sum();
    if variance == 0.0 || s == 0 {
        return 1.0;
    }
    let z = (s.abs() - 1) as f64 / variance.sqrt();
    2.0 * Normal::standard().sf(z)
}

/// Returns Kendall's variance: (n(n−1)(2n+5) − Σ t(t−1)(2t+5)) / 18, over the groups of t equal values.
fn variance_of_s(values: &[f64]) -> f64 {
    let term = |n: usize| (n * (n - 1) * (2 * n + 5)) as f64;
    let sorted = sorted(values);
    let ties = sorted.chunk_by(|one, other| one == other).map(|equal| term(equal.len()));
    (term(values.len()) - ties.sum::<f64>()) / 18.0
}
