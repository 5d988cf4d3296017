//! The conversion of values to positions between 0 and 1, and the round values for ticks.

use std::ops::RangeInclusive;

#[cfg(test)]
mod tests;

/// The smallest and the largest value that an axis shows. Results of somebody else may have any, and beyond these not
/// even a power of ten is exact.
const SHOWN: RangeInclusive<f64> = 1e-300..=1e300;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    Linear {
        from: f64,
        to: f64,
    },
    Log {
        from: f64,
        to: f64,
    },
    /// Levels of quantiles by their nines: 0.9, 0.99 and 0.999 have equal distances, and the axis
    /// ends where one of this many samples is left.
    Nines {
        samples: f64,
    },
    /// Places for names, at 0, 1, 2 and so on, without ticks.
    Places {
        count: usize,
    },
}

impl Scale {
    /// A linear scale from zero to the first round value that is not below any of `values`.
    pub(crate) fn from_zero(values: impl IntoIterator<Item = f64>) -> Scale {
        let most = values.into_iter().filter(|x| SHOWN.contains(x)).fold(0.0, f64::max);
        let most = if most < 1e-9 { 1.0 } else { most };
        let step = round_step(most / 8.0);
        Scale::Linear { from: 0.0, to: (most / step - 1e-9).ceil() * step }
    }

    /// A logarithmic scale between the round values (1, 2, 5) around the positive ones of `values`.
    pub(crate) fn log_around(values: impl IntoIterator<Item = f64>) -> Scale {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for x in values.into_iter().filter(|x| SHOWN.contains(x)) {
            (least, most) = (least.min(x), most.max(x));
        }
        if most == 0.0 {
            return Scale::Log { from: 1.0, to: 10.0 };
        }
        let (from, mut to) = (round_below(least), round_step(most));
        if to < from * 5.0 {
            to = from * 5.0;
        }
        Scale::Log { from, to }
    }

    /// Returns true if the value lies on a linear or logarithmic axis.
    pub(crate) fn contains(&self, value: f64) -> bool {
        match *self {
            Scale::Linear { from, to } | Scale::Log { from, to } => (from..=to).contains(&value),
            Scale::Nines { .. } | Scale::Places { .. } => true,
        }
    }

    /// The position between 0 and 1; values outside are placed at the border.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let place = match *self {
            Scale::Linear { from, to } => (value - from) / (to - from),
            Scale::Log { from, to } => (value.max(from) / from).ln() / (to / from).ln(),
            Scale::Nines { samples } => nines(value) / samples.max(10.0).log10(),
            Scale::Places { count } => (value + 0.5) / count.max(1) as f64,
        };
        place.clamp(0.0, 1.0)
    }

    /// Round values inside the scale, about `most` of them or fewer.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        match *self {
            // Without a length there is nothing to divide.
            Scale::Linear { from, to } if !SHOWN.contains(&(to - from)) => Vec::new(),
            Scale::Linear { from, to } => {
                let step = round_step((to - from) / most as f64);
                let (first, last) =
                    ((from / step).ceil() as i64, (to / step + 1e-9).floor() as i64);
                (first..=last).map(|i| i as f64 * step).collect()
            }
            Scale::Log { from, to } => log_ticks(from, to, most),
            Scale::Nines { samples } => {
                let levels = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999, 0.999_999_9];
                let last = samples.max(10.0).log10() + 1e-9;
                levels.into_iter().filter(|&level| nines(level) <= last).collect()
            }
            Scale::Places { .. } => Vec::new(),
        }
    }
}

/// The label of a level of a quantile, in percent: `0`, `50`, `99.9`.
pub(crate) fn percent(level: f64) -> String {
    let text = format!("{:.5}", level * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// −log₁₀(1 − level); infinite for the level 1.
fn nines(level: f64) -> f64 {
    -(1.0 - level).log10()
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `x`.
fn round_step(x: f64) -> f64 {
    let power = 10f64.powf(x.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| x <= step * (1.0 + 1e-9))
        .expect("ten times the power of ten is above x")
}

/// The largest of 1, 2, 5 times a power of ten that is not above `x`.
fn round_below(x: f64) -> f64 {
    let power = 10f64.powf(x.log10().floor());
    [5.0, 2.0, 1.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| *step <= x * (1.0 + 1e-9))
        .unwrap_or(power)
}

/// The ticks 1, 2, 5 of every decade if they fit, otherwise 1 and 5, otherwise every decade, every
/// second one, and so on. There are always two: with a single one the axis would be unreadable.
fn log_ticks(from: f64, to: f64, most: usize) -> Vec<f64> {
    let decades = (from.log10().floor() as i32)..=(to.log10().ceil() as i32);
    let inside = |x: &f64| from * (1.0 - 1e-9) <= *x && *x <= to * (1.0 + 1e-9);
    let of = |digits: &[f64]| -> Vec<f64> {
        let decade = |exponent: i32| digits.iter().map(move |digit| digit * 10f64.powi(exponent));
        decades.clone().flat_map(decade).filter(inside).collect()
    };
    let fits = |ticks: &Vec<f64>| (2..=most).contains(&ticks.len());
    let sets: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 5.0], &[1.0]];
    sets.into_iter().map(of).find(fits).unwrap_or_else(|| {
        let decades = of(&[1.0]);
        let every = decades.len().div_ceil(most.max(1)).max(1);
        decades.into_iter().step_by(every).collect()
    })
}
