//! Scaling laws: how a throughput grows with the number of units (replicas, CPUs, threads) that
//! make it, and whether the trials show that at all.
//!
//! The law is the Universal Scalability Law, X(N) = λN / (1 + σ(N − 1) + κN(N − 1)) (Gunther, *Guerrilla
//! Capacity Planning*, 2007, chapters 4 and 5): λ is the throughput of one unit, σ the share of the work
//! that is done by one unit at a time, and κ the cost of keeping every two units consistent. With κ = 0
//! it is Amdahl's law, and with σ = κ = 0 it is linear. It is never evaluated beyond twice the largest N.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::Random;
use crate::comparison::welch;
use crate::estimate::{CONFIDENCE, logs, mean};

#[cfg(test)]
mod tests;

/// An efficiency above this is more than what the first level promises.
const SUPERLINEAR: f64 = 1.05;
/// The law is not evaluated beyond this many times the largest level.
pub const FARTHEST: f64 = 2.0;
/// The fewest levels that show a law.
pub const FEWEST_LEVELS: usize = 3;
/// A form needs this many values more than it has parameters: the variance of the noise is a parameter, too,
/// and the corrected information criterion divides by what is left, less one.
const SPARE: usize = 3;
/// The fewest values that show a law: those of the simplest form.
pub const FEWEST_VALUES: usize = Form::Linear.parameters() + SPARE;

/// The number of simulated experiments behind the intervals of a law.
const DRAWS: usize = 1_000;
/// A law that misses a level by less is near enough.
const NEAR: f64 = 0.05;
/// The significance at which the scatter of the trials does not explain the miss.
const MISS: f64 = 0.01;
/// A parameter this near its bound is at it.
const AT_BOUND: f64 = 1e-6;
/// The least standard deviation of logarithms that is taken for noise: exact data have none.
const ROUNDING: f64 = 1e-9;

/// The throughputs of the trials or searches with so many units.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub n: f64,
    /// At least one; all above zero.
    pub values: Vec<f64>,
    /// The 95 % interval of a single value that has one: a capacity that was estimated from many trials.
    pub interval: Option<(f64, f64)>,
}

/// The efficiency of a level: its throughput per unit over that of the first level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Efficiency {
    pub value: f64,
    /// Its 95 % interval: by Welch's t test of the logarithms, or of single values from their own intervals.
    /// Absent at the first level, and if a level has a single value without an interval.
    pub interval: Option<(f64, f64)>,
}

impl Efficiency {
    /// Returns true if a level does more than the first one promises, and scatter does not explain it.
    fn is_superlinear(&self) -> bool {
        SUPERLINEAR < self.value && self.interval.is_none_or(|(low, _)| 1.0 < low)
    }
}

/// Returns the efficiency of each level by the geometric means of its values. `None` if a level has no
/// positive number of units or a value that is not positive.
pub fn efficiencies(levels: &[Level]) -> Option<Vec<Efficiency>> {
    let per_unit = |level: &Level| {
        let is_usable = 0.0 < level.n && !level.values.is_empty();
        Some((mean(&logs(&level.values)?) - level.n.ln()).exp()).filter(|_| is_usable)
    };
    let first = levels.first()?;
    let of_first = per_unit(first)?;
    let efficiency = |(index, level): (usize, &Level)| {
        let found = welch(&first.values, &level.values, 1.0 - CONFIDENCE);
        let found = found.map(|ratio| ratio.interval).or_else(|| ratio_of_singles(first, level));
        let units = level.n / first.n;
        let interval = found.filter(|_| 0 < index);
        let interval = interval.map(|(low, high)| (low / units, high / units));
        Some(Efficiency { value: per_unit(level)? / of_first, interval })
    };
    levels.iter().enumerate().map(efficiency).collect()
}

/// Returns the interval of the ratio of two single values from their own intervals, by the method of
/// variance estimates recovery (Zou & Donner, *Statistics in Medicine* 27, 2008): on each side the
/// distances of the two ends that move the ratio there, as logarithms, add up in squares.
fn ratio_of_singles(first: &Level, level: &Level) -> Option<(f64, f64)> {
    let [of_first, of_level] = [first, level].map(|level| {
        let ([value], (low, high)) = (&level.values[..], level.interval?) else { return None };
        let away = |from: f64, to: f64| (to / from).ln().max(0.0);
        Some((*value, away(low, *value), away(*value, high)))
    });
    let ((first, first_below, first_above), (value, below, above)) = (of_first?, of_level?);
    let ratio = value / first;
    let (below, above) = (below.hypot(first_above), above.hypot(first_below));
    Some((ratio * (-below).exp(), ratio * above.exp()))
}

/// Returns the number of units and the efficiency of the most superlinear level: the one that does most
/// beyond what the first level promises, with an efficiency above 1.05 that scatter does not explain. The
/// levels are in ascending order. `None` if there is none, or if no efficiency is known.
pub fn superlinear(levels: &[Level]) -> Option<(f64, f64)> {
    let efficiencies = efficiencies(levels)?;
    let each = levels.iter().zip(efficiencies).filter(|(_, one)| one.is_superlinear());
    each.map(|(level, one)| (level.n, one.value)).max_by(|a, b| a.1.total_cmp(&b.1))
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Form {
    Linear,
    Amdahl,
    Usl,
}

impl Form {
    const ALL: [Form; 3] = [Form::Linear, Form::Amdahl, Form::Usl];

    /// The number of its parameters.
    const fn parameters(self) -> usize {
        match self {
            Form::Linear => 1,
            Form::Amdahl => 2,
            Form::Usl => 3,
        }
    }
}

/// A law with its parameters; those that its form lacks are zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    pub form: Form,
    pub lambda: f64,
    pub sigma: f64,
    pub kappa: f64,
}

impl Law {
    fn at(&self, n: f64) -> f64 {
        self.lambda * n / slowdown(n, self.sigma, self.kappa)
    }

    /// Returns the N of the highest throughput, √((1 − σ)/κ); infinite without κ.
    fn peak(&self) -> f64 {
        ((1.0 - self.sigma) / self.kappa).sqrt()
    }
}

fn slowdown(n: f64, sigma: f64, kappa: f64) -> f64 {
    1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub interval: (f64, f64),
}

/// A law that the trials show.
#[derive(Clone, Debug, PartialEq)]
pub struct Identified {
    pub form: Form,
    pub lambda: Estimate,
    pub sigma: Estimate,
    pub kappa: Estimate,
    /// The N of the highest throughput, if the trials show that there is one, within twice the largest N.
    pub peak: Option<Estimate>,
    /// The corrected information criterion of each form that the levels allow: the least was chosen.
    pub aicc: Vec<(Form, f64)>,
    law: Law,
    draws: Vec<Law>,
    /// The smallest N, and twice the largest.
    range: (f64, f64),
}

impl Identified {
    /// Returns the throughput of the law at N; `None` below the smallest level, and beyond twice the
    /// largest.
    pub fn at(&self, n: f64) -> Option<Estimate> {
        let is_known = self.range.0 <= n && n <= self.range.1;
        is_known.then(|| estimate(&self.law, &self.draws, |law| law.at(n)))
    }
}

/// The reason why the trials show no law.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// A law needs three levels, and three values more than it has parameters.
    TooFew { levels: usize, values: usize },
    /// A level does more than the first one promises: no form of the law allows that.
    Superlinear { n: f64, efficiency: f64 },
    /// The throughput does not grow with N, or that cannot be excluded: the interval of σ ends at its bound.
    NoGrowth,
    /// The law misses a level by this share, and the scatter of the trials does not explain it.
    Misses { n: f64, by: f64 },
    /// The interval of the curve at the largest level covers more than half of the range from no growth
    /// to linear growth.
    Scatter { n: f64, low: f64, high: f64 },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    Identified(Identified),
    NotIdentifiable(Reason),
}

/// Concludes which law the levels, in ascending N from 1 on, show.
///
/// Each form is fitted by least squares of ln X within 0 ≤ σ ≤ 1 and 0 ≤ κ, all values as points, and the
/// form with the least corrected information criterion is chosen (Hurvich & Tsai, *Biometrika* 76, 1989).
/// The intervals come from simulated experiments: around the fit with all terms, with normal noise of a
/// standard deviation that is itself drawn from its χ² distribution, so that few values widen an interval
/// as Student's t does. (Drawing the values themselves again covers 75 % instead of 95 % with three of
/// them.) The form is chosen again in each, so that an interval includes the doubt about it.
pub fn conclude(levels: &[Level], random: &mut Random) -> Conclusion {
    let values = levels.iter().map(|level| level.values.len()).sum();
    let too_few = Conclusion::NotIdentifiable(Reason::TooFew { levels: levels.len(), values });
    let Some(points) = points(levels) else { return too_few };
    let fits = fits(&points);
    let (Some(full), Some(best)) = (fits.last(), chosen(&fits)) else { return too_few };
    let not_identifiable = Conclusion::NotIdentifiable;
    if let Some((n, efficiency)) = superlinear(levels) {
        return not_identifiable(Reason::Superlinear { n, efficiency });
    }
    if let Some((n, by)) = missed(&points, best) {
        return not_identifiable(Reason::Misses { n, by });
    }
    let draws: Vec<Law> = (0..DRAWS).map(|_| draw(&points, full, random)).collect();
    let (first, last) = (levels[0].n, levels[levels.len() - 1].n);
    let of = |figure: fn(&Law) -> f64| estimate(&best.law, &draws, figure);
    let identified = Identified {
        form: best.law.form,
        lambda: of(|law| law.lambda),
        sigma: of(|law| law.sigma),
        kappa: of(|law| law.kappa),
        peak: Some(of(Law::peak)).filter(|peak| {
            peak.interval.1.is_finite() && first <= peak.value && peak.value <= FARTHEST * last
        }),
        aicc: fits.iter().map(|fit| (fit.law.form, fit.aicc)).collect(),
        law: best.law,
        draws,
        range: (first, FARTHEST * last),
    };
    let (low, high) = estimate(&identified.law, &identified.draws, |law| law.at(last)).interval;
    if 0.5 * (last / first).ln() < (high / low).ln() {
        return not_identifiable(Reason::Scatter { n: last, low, high });
    }
    if identified.form != Form::Linear && 1.0 - AT_BOUND < identified.sigma.interval.1 {
        return not_identifiable(Reason::NoGrowth);
    }
    Conclusion::Identified(identified)
}

/// The values of a level as logarithms.
#[derive(Clone, Debug)]
struct Points {
    n: f64,
    logs: Vec<f64>,
}

fn points(levels: &[Level]) -> Option<Vec<Points>> {
    let of_level = |level: &Level| {
        let logs = logs(&level.values).filter(|logs| !logs.is_empty())?;
        (1.0 <= level.n).then_some(Points { n: level.n, logs })
    };
    let points: Vec<Points> = levels.iter().map(of_level).collect::<Option<_>>()?;
    (FEWEST_LEVELS <= points.len()).then_some(points)
}

#[derive(Clone, Copy, Debug)]
struct Fit {
    law: Law,
    squares: f64,
    aicc: f64,
}

/// Fits each form that has fewer parameters than there are levels.
fn fits(points: &[Points]) -> Vec<Fit> {
    let values = count(points);
    let count = values as f64;
    let fit = |form: Form| {
        if points.len() <= form.parameters() || values < form.parameters() + SPARE {
            return None;
        }
        // The variance of the noise is a parameter, too.
        let k = form.parameters() as f64 + 1.0;
        let (law, squares) = least_squares(points, form);
        let variance = (squares / count).max(ROUNDING * ROUNDING);
        let aicc = count * variance.ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (count - k - 1.0);
        Some(Fit { law, squares, aicc })
    };
    Form::ALL.into_iter().filter_map(fit).collect()
}

/// Returns the fit with the least criterion; of equal ones the simplest.
fn chosen(fits: &[Fit]) -> Option<&Fit> {
    fits.iter().min_by(|a, b| a.aicc.total_cmp(&b.aicc))
}

/// Returns the law of this form with the least sum of squared logarithms, and that sum: Levenberg's and
/// Marquardt's method in σ and κ. λ follows from them. A parameter at its bound stays there as long as the
/// slope points outwards.
fn least_squares(points: &[Points], form: Form) -> (Law, f64) {
    let most = [
        if form == Form::Linear { 0.0 } else { 1.0 },
        match form {
            Form::Usl => f64::INFINITY,
            Form::Linear | Form::Amdahl => 0.0,
        },
    ];
    let count = count(points) as f64;
    let levels: Vec<(f64, f64, f64)> =
        points.iter().map(|level| (level.n, mean(&level.logs), level.logs.len() as f64)).collect();
    // The residual of each level's mean, and how it changes with σ and κ, all less their means over the
    // levels: that is the part of λ.
    let system = |at: [f64; 2]| {
        let row = |&(n, log, weight): &(f64, f64, f64)| {
            let slowdown = slowdown(n, at[0], at[1]);
            let residual = log - n.ln() + slowdown.ln();
            ([residual, (n - 1.0) / slowdown, n * (n - 1.0) / slowdown], weight)
        };
        let rows: Vec<([f64; 3], f64)> = levels.iter().map(row).collect();
        let means: [f64; 3] = std::array::from_fn(|i| {
            rows.iter().map(|(row, weight)| weight * row[i]).sum::<f64>() / count
        });
        let mut products = [[0.0; 3]; 3];
        for (row, weight) in &rows {
            let row: [f64; 3] = std::array::from_fn(|i| row[i] - means[i]);
            for (i, sums) in products.iter_mut().enumerate() {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * row[i] * value);
            }
        }
        (means[0], products)
    };
    let mut at = [most[0].min(0.05), most[1].min(0.001)];
    let (mut level, mut sums) = system(at);
    let mut damping = 1e-3;
    for _ in 0..200 {
        let gradient = [sums[0][1], sums[0][2]];
        let is_free: [bool; 2] = std::array::from_fn(|i| {
            0.0 < most[i]
                && (0.0 < at[i] || gradient[i] < 0.0)
                && (at[i] < most[i] || 0.0 < gradient[i])
        });
        let step = step(&sums, is_free, damping);
        let next: [f64; 2] = std::array::from_fn(|i| (at[i] - step[i]).clamp(0.0, most[i]));
        let moved =
            next.iter().zip(at).map(|(n, a)| (n - a).abs() / (1e-9 + a)).fold(0.0, f64::max);
        if moved < 1e-10 || 1e12 < damping {
            break;
        }
        let (next_level, next_sums) = system(next);
        if next_sums[0][0] <= sums[0][0] {
            (at, level, sums) = (next, next_level, next_sums);
            damping = (damping / 10.0).max(1e-15);
        } else {
            damping *= 10.0;
        }
    }
    let [sigma, kappa] = at;
    (Law { form, lambda: level.exp(), sigma, kappa }, sums[0][0] + scatter(points))
}

/// Returns the squares of the distances of all values from the mean of their level.
fn scatter(points: &[Points]) -> f64 {
    let of_level = |level: &Points| {
        let middle = mean(&level.logs);
        level.logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>()
    };
    points.iter().map(of_level).sum()
}

fn count(points: &[Points]) -> usize {
    points.iter().map(|level| level.logs.len()).sum()
}

/// Solves the damped normal equations for the free parameters.
fn step(sums: &[[f64; 3]; 3], is_free: [bool; 2], damping: f64) -> [f64; 2] {
    let (a, b) = (sums[1][1] * (1.0 + damping), sums[2][2] * (1.0 + damping));
    let (c, right) = (sums[1][2], [sums[0][1], sums[0][2]]);
    match is_free {
        [false, false] => [0.0, 0.0],
        [true, false] => [right[0] / a, 0.0],
        [false, true] => [0.0, right[1] / b],
        [true, true] => {
            let determinant = a * b - c * c;
            [
                (b * right[0] - c * right[1]) / determinant,
                (a * right[1] - c * right[0]) / determinant,
            ]
        }
    }
}

/// Returns the level that the law misses most with its share, if the scatter of equal trials does not
/// explain the misses: the F test of lack of fit.
fn missed(points: &[Points], fit: &Fit) -> Option<(f64, f64)> {
    let between = (points.len() - fit.law.form.parameters()) as f64;
    let within = (count(points) - points.len()) as f64;
    let ratio = FisherSnedecor::new(between, within).ok()?;
    let scatter = scatter(points);
    let of_scatter = (scatter / within).max(ROUNDING * ROUNDING);
    let p = ratio.sf((fit.squares - scatter).max(0.0) / between / of_scatter);
    let miss = |level: &Points| (level.n, (mean(&level.logs) - fit.law.at(level.n).ln()).exp_m1());
    let most = points.iter().map(miss).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    (NEAR < most.1.abs() && p <= MISS).then_some(most)
}

/// Returns the law of one simulated experiment around a fit.
fn draw(points: &[Points], fit: &Fit, random: &mut Random) -> Law {
    let free = count(points) - fit.law.form.parameters();
    let squares = (0..free).map(|_| random.normal().powi(2)).sum::<f64>();
    let deviation = (fit.squares / squares).sqrt();
    let simulated = points.iter().map(|level| {
        let middle = fit.law.at(level.n).ln();
        let logs = level.logs.iter().map(|_| middle + deviation * random.normal()).collect();
        Points { n: level.n, logs }
    });
    let fits = fits(&simulated.collect::<Vec<Points>>());
    chosen(&fits).expect("it has as many values as the trials").law
}

/// Returns a figure of the law, with the interval that it has in the simulated experiments.
fn estimate(law: &Law, draws: &[Law], figure: impl Fn(&Law) -> f64) -> Estimate {
    let mut figures: Vec<f64> = draws.iter().map(&figure).collect();
    figures.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let rank = (tail * figures.len() as f64) as usize;
    let value = figure(law);
    let (low, high) = (figures[rank], figures[figures.len() - 1 - rank]);
    // The choice of the form can put the estimate itself at an end.
    Estimate { value, interval: (low.min(value), high.max(value)) }
}
