//! Arms of which some searches found only a bound.
//!
//! The rank test is monotone: with higher values of B, or lower ones of A, its effect, the ends of its
//! interval and the sum of B's ranks rise. So both arms are compared twice, with every bound at the end that
//! is worst for B's figures and at the end that is best for them. What both say holds for every value between
//! them; if they differ, the comparison is undecided.

use measure::comparison::{self, Block, Comparison};

use super::{Compared, Difference, Question, Verdict, finite};
use crate::found::{Found, Spread};

#[cfg(test)]
mod tests;

/// The figures of an open end: beyond every rate.
const BEYOND: (f64, f64) = (1e-9, 1e18);
/// An effect as large as this (logarithm) comes from an open end.
const OPEN: f64 = 9.0;

/// The results of equal searches of both arms, some of which are only bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Censored {
    pub a: Vec<Found>,
    pub b: Vec<Found>,
}

impl Censored {
    /// Returns the two ends: the least and the most of B in comparison with A.
    fn ends(&self) -> [Block; 2] {
        let (least, most) = BEYOND;
        let low = |found: &Found| found.ends().0.max(least);
        let high = |found: &Found| found.ends().1.min(most);
        let all = |arm: &[Found], end: &dyn Fn(&Found) -> f64| arm.iter().map(end).collect();
        [
            Block { a: all(&self.a, &high), b: all(&self.b, &low) },
            Block { a: all(&self.a, &low), b: all(&self.b, &high) },
        ]
    }

    fn compared(&self, significance: f64) -> Option<[Comparison; 2]> {
        let [least, most] = self.ends();
        let compare = |block: Block| comparison::compare(&[block], significance);
        Some([compare(least)?, compare(most)?])
    }

    /// Returns the most that the probability of the test can be; `None` if the direction of the difference
    /// is open.
    pub(super) fn p_value(&self) -> Option<f64> {
        most_p(&self.compared(super::SIGNIFICANCE)?)
    }
}

fn most_p([least, most]: &[Comparison; 2]) -> Option<f64> {
    let is_sure = 1.0 < least.ratio || most.ratio < 1.0;
    is_sure.then(|| least.p.max(most.p))
}

/// Judges a metric by what is certain.
pub(super) fn judged(
    question: &Question,
    arms: &Censored,
    significance: f64,
    margin: f64,
    differences: &[Difference],
) -> Compared {
    let found = arms.compared(significance);
    let ends = found.map(|ends| ends.map(|one| one.verdict(question.metric.better(), margin)));
    let (verdict, depends_on_bounds) = match ends {
        Some([least, most]) if least == most => (least.into(), false),
        Some(_) => (Verdict::Undecided, true),
        None => (Verdict::Undecided, false),
    };
    let effect = found.map(|[least, most]| {
        let known = |ratio: f64| Some(ratio).filter(|ratio| ratio.ln().abs() < OPEN);
        Found::between(known(least.ratio), known(most.ratio))
    });
    let interval = found.and_then(|[least, most]| finite((least.interval.0, most.interval.1)));
    let median = |arm: &[Found]| Some(Spread::of(arm)?.median);
    let censored = |arm: &[Found]| arm.iter().filter(|found| found.exact().is_none()).count();
    Compared {
        metric: question.metric,
        of: question.of.clone(),
        verdict,
        refused: None,
        effect: None,
        effect_bounds: effect.filter(|effect| !effect.is_unknown()),
        interval: interval.filter(|(low, high)| high.ln().max(-low.ln()) < OPEN),
        confidence: 1.0 - significance,
        t_interval: None,
        p: found.and_then(|found| most_p(&found)),
        adjusted: None,
        median_a: median(&arms.a),
        median_b: median(&arms.b),
        trials_a: arms.a.len(),
        trials_b: arms.b.len(),
        censored_a: censored(&arms.a),
        censored_b: censored(&arms.b),
        depends_on_bounds,
        blocks: 1,
        interleaved: question.interleaved,
        environment_differences: differences.to_vec(),
        more_blocks_needed: (verdict != Verdict::Undecided).then_some(0),
    }
}
