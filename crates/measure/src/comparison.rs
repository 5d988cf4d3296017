//! The comparison of two versions by trials in blocks: few trials of both, near each other in time
//! and in random order, so that what drifts between blocks does not count.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::factorial::ln_binomial;

use crate::estimate::{half_width, is_constant, logs, mean, median, moments};

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
    /// The estimate of Hodges and Lehmann: with this ratio taken off, the ranks of both arms agree. A
    /// few trials that lie apart hardly move it.
    pub ratio: f64,
    /// The ratios that the permutation test does not refuse. It decides, contains `ratio`, and excludes
    /// 1 exactly if `p` is at most the significance. Infinite where the trials are too few to refuse any.
    pub interval: (f64, f64),
    /// The interval of Student's t for the mean over the blocks, to look at beside it; absent with one
    /// block.
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
    let logs = logs_of(blocks)?;
    let differences = differences(&logs);
    let t_half = half_width(&differences, 1.0 - significance);
    let effect = mean(&differences);
    let t_interval = t_half.map(|half| ((effect - half).exp(), (effect + half).exp()));
    Some(Comparison { t_interval, ..Shifted::of(logs).compared(significance) })
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
/// more, or inside the margins for a smaller one, and as many as the rank test needs to refuse anything.
/// `None` if the noise is not known from so few trials, or if more than a thousand are needed.
pub fn more_blocks(blocks: &[Block], significance: f64, margin: f64) -> Option<u32> {
    const MOST: usize = 1_000;
    let logs = logs_of(blocks)?;
    let differences = differences(&logs);
    let (effect, margin) = (Shifted::of(logs.clone()).estimate().abs(), margin.ln_1p());
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
    // The orders of the arms in a block: two of all orders of all blocks are as extreme as possible.
    let orders = |block: &Block| {
        let (n, m) = (block.a.len() as u64, block.b.len() as u64);
        ln_binomial(n + m, n)
    };
    let orders = mean(&blocks.iter().map(orders).collect::<Vec<f64>>());
    let decides = |count: &usize| {
        if significance < 2.0 * (-orders * *count as f64).exp() {
            return false;
        }
        let degrees = if logs.len() == 1 { freedom * *count as f64 } else { *count as f64 - 1.0 };
        let Ok(student) = StudentsT::new(0.0, 1.0, degrees) else { return false };
        student.inverse_cdf(1.0 - significance / 2.0) * sd / (*count as f64).sqrt() < spare
    };
    let needed = (blocks.len() + 1..=MOST).find(decides)?;
    Some((needed - blocks.len()) as u32)
}

/// Returns the smallest probability that the test can find in so many trials of each arm, so many of them in each
/// block: two of all orders of the arms are as extreme as possible.
pub fn least_p(trials: u64, in_a_block: u64) -> f64 {
    let orders = |of_each: u64| ln_binomial(2 * of_each, of_each);
    let (whole, rest) = (trials / in_a_block, trials % in_a_block);
    2.0 * (-(whole as f64 * orders(in_a_block) + orders(rest))).exp()
}

/// Returns the difference of the arms' means in each block.
fn differences(logs: &[Block]) -> Vec<f64> {
    logs.iter().map(|block| mean(&block.b) - mean(&block.a)).collect()
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
    /// The probability of a ratio as far from 1 if the true one were 1.
    pub p: f64,
}

/// Returns the geometric mean of b over that of a, by Welch's t test of the logarithms (*Biometrika* 34,
/// 1947) with Satterthwaite's degrees of freedom. It is for trials that were not made in blocks: a drift
/// between the two looks like a difference. `None` below two trials of one, if a value is not positive,
/// if neither has a spread, or if an end of the interval is beyond all numbers.
pub fn welch(a: &[f64], b: &[f64], significance: f64) -> Option<Ratio> {
    if is_constant(a) && is_constant(b) {
        return None;
    }
    let ((mean_a, sd_a), (mean_b, sd_b)) = (moments(&logs(a)?)?, moments(&logs(b)?)?);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (of_a, of_b) = (sd_a * sd_a / n, sd_b * sd_b / m);
    let freedom = (of_a + of_b).powi(2) / (of_a * of_a / (n - 1.0) + of_b * of_b / (m - 1.0));
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let deviation = (of_a + of_b).sqrt();
    let half = student.inverse_cdf(1.0 - significance / 2.0) * deviation;
    let effect = mean_b - mean_a;
    let interval = ((effect - half).exp(), (effect + half).exp());
    let is_known = 0.0 < interval.0 && interval.1.is_finite();
    let p = 2.0 * student.sf(effect.abs() / deviation);
    is_known.then_some(Ratio { ratio: effect.exp(), interval, p })
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

    /// Compares the arms, without Student's t.
    fn compared(&self, significance: f64) -> Comparison {
        assert!(0.0 < significance && significance < 1.0, "a significance is a probability");
        let (effect, p) = (self.estimate(), self.p(0.0));
        let (low, high) = self.interval(effect, significance);
        Comparison {
            blocks: self.values.len(),
            ratio: effect.exp(),
            interval: (low.exp(), high.exp()),
            t_interval: None,
            p,
        }
    }

    /// Returns the shift that leaves B's ranks as they are expected without a difference: the middle of
    /// all that do, or the one at which the ranks pass what is expected (Hodges & Lehmann, *Annals of
    /// Mathematical Statistics* 34, 1963).
    fn estimate(&self) -> f64 {
        let reach = self.reach();
        // The larger the shift, the lower are B's ranks.
        let first = |is_low: fn(f64) -> bool| {
            let (mut before, mut after) = (-reach, reach);
            while 0.1 * EQUAL < after - before {
                let middle = f64::midpoint(before, after);
                // Figures that no machine has lie so far apart that there is nothing between two shifts.
                if middle <= before || after <= middle {
                    break;
                }
                if is_low(self.ranks(middle).excess) { after = middle } else { before = middle }
            }
            after
        };
        let middle = f64::midpoint(first(|excess| excess <= 0.0), first(|excess| excess < 0.0));
        let middle = if middle.abs() < EQUAL { 0.0 } else { middle };
        // Where many values are equal, the test may refuse this shift, and not the ones beside it.
        let beside = [middle - BESIDE, middle + BESIDE, middle].map(|shift| (self.p(shift), shift));
        let (_, shift) = beside
            .into_iter()
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .expect("there are three");
        shift
    }

    /// Returns the ends of the shifts around the estimate that the test does not refuse. They enclose 0
    /// exactly if it does not refuse that. Infinite where it refuses none, or all.
    fn interval(&self, estimate: f64, significance: f64) -> (f64, f64) {
        /// The exactness of the ends: a thousandth of a per cent.
        const EXACTNESS: f64 = 1e-5;
        const FIRST_STEP: f64 = 0.01;
        let is_refused = |shift: f64| self.p(shift) <= significance;
        if is_refused(estimate) {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let (reach, zero_is_refused) = (self.reach(), is_refused(0.0));
        let end = |sign: f64| {
            let (mut inside, bound) = match 0.0 < -sign * estimate {
                true if zero_is_refused => (estimate, 0.0),
                true => (0.0, sign * f64::INFINITY),
                false => (estimate, sign * f64::INFINITY),
            };
            let mut step = FIRST_STEP;
            let mut outside = loop {
                let next = inside + sign * step;
                if sign * bound <= sign * next {
                    break bound;
                }
                if is_refused(next) {
                    break next;
                }
                if reach < next.abs() {
                    return sign * f64::INFINITY;
                }
                (inside, step) = (next, 2.0 * step);
            };
            while EXACTNESS < (outside - inside).abs() {
                let middle = f64::midpoint(inside, outside);
                if middle == inside || middle == outside {
                    break;
                }
                if is_refused(middle) { outside = middle } else { inside = middle }
            }
            inside
        };
        (end(-1.0), end(1.0))
    }

    /// Returns a shift that is larger than all differences: beyond it the ranks hardly change.
    fn reach(&self) -> f64 {
        /// A ratio of e^±10 is far beyond what anybody compares.
        const FARTHEST: f64 = 10.0;
        let range = |block: &Block| {
            let all = || block.a.iter().chain(&block.b);
            let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
            all().copied().fold(high, f64::max) - all().copied().fold(low, f64::min)
        };
        FARTHEST + 2.0 * self.values.iter().map(range).fold(0.0, f64::max)
    }

    /// Returns the two-sided probability of the sum of B's ranks, after the shift is taken off.
    fn p(&self, shift: f64) -> f64 {
        let Ranks { doubled, of_b, excess } = self.ranks(shift);
        let mut chances = vec![1.0];
        for (block, ranks) in self.values.iter().zip(&doubled) {
            chances = sum_of(&chances, &chances_of_sums(ranks, block.b.len()));
        }
        let distance = |sum: usize| (excess + sum as f64 - of_b as f64).abs();
        // Sums are whole numbers, so that this much is rounding only.
        let least = excess.abs() - 1e-6;
        let far = chances.iter().enumerate().filter(|(sum, _)| least <= distance(*sum));
        far.map(|(_, chance)| chance).sum()
    }

    fn ranks(&self, shift: f64) -> Ranks {
        let aligned = self.values.iter().zip(&self.parts).map(|(values, parts)| {
            let parts = parts.a.iter().chain(&parts.b);
            let values = values.a.iter().chain(&values.b).zip(parts);
            let mut all: Vec<f64> = values.map(|(value, part)| value - shift * part).collect();
            let middle = median(&all).expect("a block has trials");
            all.iter_mut().for_each(|value| *value -= middle);
            all
        });
        let doubled = doubled_ranks(&aligned.collect::<Vec<Vec<f64>>>());
        let (mut of_b, mut expected) = (0, 0.0);
        for (block, ranks) in self.values.iter().zip(&doubled) {
            of_b += ranks[block.a.len()..].iter().sum::<usize>();
            let all = ranks.iter().sum::<usize>() as f64;
            expected += all * block.b.len() as f64 / ranks.len() as f64;
        }
        Ranks { doubled, of_b, excess: of_b as f64 - expected }
    }
}

/// The ranks of the aligned values.
struct Ranks {
    /// Twice the rank of each, by block.
    doubled: Vec<Vec<usize>>,
    /// The sum of B's.
    of_b: usize,
    /// The same less what is expected without a difference.
    excess: f64,
}

/// Logarithms that differ by less are equal: the rest is rounding.
const EQUAL: f64 = 1e-12;
/// A shift that separates equal values, and is far below what is printed.
const BESIDE: f64 = 1e-9;

/// Returns twice the rank of each value among all, by block; equal values share their mean rank, which
/// doubled is a whole number.
fn doubled_ranks(blocks: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let mut ranks: Vec<Vec<usize>> = blocks.iter().map(|block| vec![0; block.len()]).collect();
    let all = blocks.iter().enumerate().flat_map(|(block, values)| {
        values.iter().enumerate().map(move |(place, value)| (*value, block, place))
    });
    let mut sorted: Vec<(f64, usize, usize)> = all.collect();
    sorted.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let mut below = 0;
    for equal in sorted.chunk_by(|one, next| next.0 - one.0 < EQUAL) {
        for (_, block, place) in equal {
            ranks[*block][*place] = 2 * below + equal.len() + 1;
        }
        below += equal.len();
    }
    ranks
}

/// Returns the probability of each sum of `count` of the ranks, if all choices are equally probable.
pub(crate) fn chances_of_sums(ranks: &[usize], count: usize) -> Vec<f64> {
    let most = ranks.iter().sum::<usize>() + 1;
    // By the number of chosen ranks.
    let mut ways = vec![vec![0.0; most]; count + 1];
    ways[0][0] = 1.0;
    let mut reached = 0;
    for (before, &rank) in ranks.iter().enumerate() {
        reached += rank;
        for chosen in (1..=count.min(before + 1)).rev() {
            for sum in (rank..=reached).rev() {
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
    let possible = |(_, chance): &(usize, &f64)| 0.0 < **chance;
    let other: Vec<(usize, &f64)> = other.iter().enumerate().filter(possible).collect();
    for (i, p) in one.iter().enumerate().filter(possible) {
        for &(j, q) in &other {
            both[i + j] += p * q;
        }
    }
    both
}
