//! The comparison of two versions by trials in blocks: few trials of both, near each other in time
//! and in random order, so that what drifts between blocks does not count.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::estimate::{half_width, logs, mean, median, moments};

pub use adjusted::{Adjusted, adjusted, adjusted_p_value};

mod adjusted;
#[cfg(test)]
mod tests;

/// The figures of trials that ran near each other, of both arms. All are above zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub a: Vec<f64>,
    pub b: Vec<f64>,
}

/// The difference of arm B from arm A, as ratios of B to A: 1.05 is five per cent more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    pub blocks: usize,
    pub ratio: f64,
    /// The ratios that the permutation test does not refuse. It decides, and excludes 1 exactly
    /// if `p` is at most the significance. Infinite if there are too few trials to refuse any.
    pub interval: (f64, f64),
    /// The interval of Student's t over the blocks, to look at beside it; absent with one block.
    pub t_interval: Option<(f64, f64)>,
    /// The probability of ranks as far apart as these if both arms were equal.
    pub p: f64,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    Better,
    Worse,
    /// The difference is smaller than the margin, either way.
    Equivalent,
    /// More blocks are needed.
    Undecided,
}

/// The direction in which a figure improves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Better {
    Lower,
    Higher,
}

/// Compares both arms by the aligned rank test (Hodges & Lehmann, *Annals of Mathematical Statistics*
/// 33, 1962): the logarithms less the median of their block are ranked together, and the sum of B's
/// ranks is compared with that of all orders of the arms in each block. Its distribution is
/// exact: that of a sum of independent blocks. `None` if a block lacks an arm or a value is not positive.
pub fn compare(blocks: &[Block], significance: f64) -> Option<Comparison> {
    assert!(0.0 < significance && significance < 1.0, "a significance is a probability");
    let logs = logs_of(blocks)?;
    let differences: Vec<f64> = logs.iter().map(|block| mean(&block.b) - mean(&block.a)).collect();
    let effect = mean(&differences);
    let moved = Shifted::of(logs);
    let end = |sign: f64| moved.end_of_interval(effect, sign, significance);
    let t_half = half_width(&differences, 1.0 - significance);
    Some(Comparison {
        blocks: blocks.len(),
        ratio: effect.exp(),
        interval: (end(-1.0).exp(), end(1.0).exp()),
        t_interval: t_half.map(|half| ((effect - half).exp(), (effect + half).exp())),
        p: moved.p(0.0),
    })
}

/// Returns the probability of the test alone, without the interval.
pub fn p_value(blocks: &[Block]) -> Option<f64> {
    Some(Shifted::of(logs_of(blocks)?).p(0.0))
}

impl Comparison {
    /// Judges the difference against a margin, as a share: 0.03 is three per cent.
    pub fn verdict(&self, better: Better, margin: f64) -> Verdict {
        let (low, high) = self.interval;
        let margin = margin.ln_1p();
        if low.ln() > -margin && high.ln() < margin {
            return Verdict::Equivalent;
        }
        let is_more = 1.0 < low && margin <= self.ratio.ln();
        let is_less = high < 1.0 && self.ratio.ln() <= -margin;
        match (is_more, is_less, better) {
            (true, _, Better::Higher) | (_, true, Better::Lower) => Verdict::Better,
            (true, _, Better::Lower) | (_, true, Better::Higher) => Verdict::Worse,
            _ => Verdict::Undecided,
        }
    }
}

/// Returns about how many further blocks of the same size are needed for a verdict, if the effect and the
/// noise stay as they are: as many as bring Student's t interval off 1 for an effect of the margin or
/// more, or inside the margins for a smaller one. `None` if the noise is not known from so few trials, or
/// if more than a thousand are needed.
pub fn more_blocks(blocks: &[Block], significance: f64, margin: f64) -> Option<u32> {
    const MOST: usize = 1_000;
    let logs = logs_of(blocks)?;
    let differences: Vec<f64> = logs.iter().map(|block| mean(&block.b) - mean(&block.a)).collect();
    let (effect, margin) = (mean(&differences).abs(), margin.ln_1p());
    // The standard deviation of a block's difference, and the degrees of freedom that a block adds.
    let (sd, freedom) = match &logs[..] {
        [only] => {
            let ((_, of_a), (_, of_b)) = (moments(&only.a)?, moments(&only.b)?);
            let (n, m) = (only.a.len() as f64, only.b.len() as f64);
            ((of_a * of_a / n + of_b * of_b / m).sqrt(), n + m - 2.0)
        }
        _ => (moments(&differences)?.1, 1.0),
    };
    let spare = if margin <= effect { effect } else { margin - effect };
    let decides = |count: &usize| {
        let degrees = if logs.len() == 1 { freedom * *count as f64 } else { *count as f64 - 1.0 };
        let Ok(student) = StudentsT::new(0.0, 1.0, degrees) else { return false };
        student.inverse_cdf(1.0 - significance / 2.0) * sd / (*count as f64).sqrt() < spare
    };
    let needed = (blocks.len() + 1..=MOST).find(decides)?;
    Some((needed - blocks.len()) as u32)
}

/// Returns the logarithms; `None` if a block lacks an arm or a value is not positive.
fn logs_of(blocks: &[Block]) -> Option<Vec<Block>> {
    let logs = |values: &[f64]| -> Option<Vec<f64>> {
        let is_usable = |value: &f64| 0.0 < *value && value.is_finite();
        let all = !values.is_empty() && values.iter().all(is_usable);
        all.then(|| values.iter().map(|value| value.ln()).collect())
    };
    let block = |block: &Block| Some(Block { a: logs(&block.a)?, b: logs(&block.b)? });
    let logs = blocks.iter().map(block).collect::<Option<Vec<Block>>>()?;
    (!logs.is_empty()).then_some(logs)
}

/// A ratio of geometric means, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    pub interval: (f64, f64),
}

/// Returns the geometric mean of b over that of a, by Welch's t test of the logarithms (*Biometrika* 34,
/// 1947) with Satterthwaite's degrees of freedom. It is for trials that were not made in blocks: a drift
/// between the two looks like a difference. `None` below two trials of one, if a value is not positive,
/// or if neither has a spread.
pub fn welch(a: &[f64], b: &[f64], significance: f64) -> Option<Ratio> {
    let ((mean_a, sd_a), (mean_b, sd_b)) = (moments(&logs(a)?)?, moments(&logs(b)?)?);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (of_a, of_b) = (sd_a * sd_a / n, sd_b * sd_b / m);
    let freedom = (of_a + of_b).powi(2) / (of_a * of_a / (n - 1.0) + of_b * of_b / (m - 1.0));
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let half = student.inverse_cdf(1.0 - significance / 2.0) * (of_a + of_b).sqrt();
    let effect = mean_b - mean_a;
    let interval = ((effect - half).exp(), (effect + half).exp());
    half.is_finite().then_some(Ratio { ratio: effect.exp(), interval })
}

/// Logarithms under the hypothesis of a shift between the arms: what is left of each value once the
/// shift is taken off.
struct Shifted {
    /// The values without a shift.
    values: Vec<Block>,
    /// The part of the shift that is taken off each.
    parts: Vec<Block>,
}

impl Shifted {
    /// All of the shift is B's.
    fn of(values: Vec<Block>) -> Shifted {
        let part =
            |block: &Block| Block { a: vec![0.0; block.a.len()], b: vec![1.0; block.b.len()] };
        let parts = values.iter().map(part).collect();
        Shifted { values, parts }
    }

    /// Returns the end of the interval on one side of the effect: the last shift that the test does
    /// not refuse; infinite if it refuses none.
    fn end_of_interval(&self, effect: f64, sign: f64, significance: f64) -> f64 {
        /// A ratio of e^±10 is far beyond what anybody compares.
        const FARTHEST: f64 = 10.0;
        /// The exactness of the end: a hundredth of a per cent.
        const STEP: f64 = 1e-4;
        let is_refused = |distance: f64| self.p(effect + sign * distance) <= significance;
        let (mut inside, mut outside) = (0.0, STEP);
        while !is_refused(outside) {
            if FARTHEST < outside {
                return sign * f64::INFINITY;
            }
            (inside, outside) = (outside, 2.0 * outside);
        }
        while STEP < outside - inside {
            let middle = (inside + outside) / 2.0;
            if is_refused(middle) { outside = middle } else { inside = middle }
        }
        effect + sign * outside
    }

    /// Returns the two-sided probability of the sum of B's ranks, after the shift is taken off.
    fn p(&self, shift: f64) -> f64 {
        let aligned = self.values.iter().zip(&self.parts).map(|(values, parts)| {
            let parts = parts.a.iter().chain(&parts.b);
            let values = values.a.iter().chain(&values.b).zip(parts);
            let all: Vec<f64> = values.map(|(value, part)| value - shift * part).collect();
            let middle = median(&all).expect("a block has trials");
            all.iter().map(|value| value - middle).collect()
        });
        let ranks = doubled_ranks(&aligned.collect::<Vec<Vec<f64>>>());
        let mut chances = vec![1.0];
        let (mut observed, mut expected) = (0, 0.0);
        for (block, ranks) in self.values.iter().zip(&ranks) {
            let of_b = ranks[block.a.len()..].iter().sum::<usize>();
            let all = ranks.iter().sum::<usize>() as f64;
            observed += of_b;
            expected += all * block.b.len() as f64 / ranks.len() as f64;
            chances = sum_of(&chances, &chances_of_sums(ranks, block.b.len()));
        }
        let distance = |sum: usize| (sum as f64 - expected).abs();
        // Sums are whole numbers, so that this much is rounding only.
        let least = distance(observed) - 1e-6;
        let far = chances.iter().enumerate().filter(|(sum, _)| least <= distance(*sum));
        far.map(|(_, chance)| chance).sum()
    }
}

/// Returns twice the rank of each value among all, by block; equal values share their mean rank, which
/// doubled is a whole number.
fn doubled_ranks(blocks: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let mut sorted: Vec<f64> = blocks.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        below + up_to + 1
    };
    blocks.iter().map(|block| block.iter().map(rank).collect()).collect()
}

/// Returns the probability of each sum of `count` of the ranks, if all choices are equally probable.
fn chances_of_sums(ranks: &[usize], count: usize) -> Vec<f64> {
    let most = ranks.iter().sum::<usize>() + 1;
    // By the number of chosen ranks.
    let mut ways = vec![vec![0.0; most]; count + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for chosen in (1..=count).rev() {
            for sum in (rank..most).rev() {
                ways[chosen][sum] += ways[chosen - 1][sum - rank];
            }
        }
    }
    let all = ways[count].iter().sum::<f64>();
    ways[count].iter().map(|way| way / all).collect()
}

/// Returns the distribution of the sum of two independent whole numbers.
fn sum_of(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut both = vec![0.0; one.len() + other.len() - 1];
    for (i, p) in one.iter().enumerate().filter(|(_, p)| 0.0 < **p) {
        for (j, q) in other.iter().enumerate() {
            both[i + j] += p * q;
        }
    }
    both
}
