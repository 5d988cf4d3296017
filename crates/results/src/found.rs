//! The result of a search for a quantity: a figure, or only bounds of it.
//!
//! A search that reached the end of its range, used up its budget, was interrupted or never met the SLO
//! knows its quantity in part: it is *censored*. Such a result is neither a figure nor left out: without it
//! the searches that remain would decide. Whatever is concluded from several results holds for every value
//! within the bounds.

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// A result per second. As JSON a figure is a number, and bounds are an object: `{"at_least": 300.0}`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Found {
    Exact(f64),
    /// The quantity lies between the bounds that are known, if any.
    Bounds {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
    },
}

impl Found {
    pub fn between(at_least: Option<f64>, at_most: Option<f64>) -> Found {
        Found::Bounds { at_least, at_most }
    }

    /// Returns the figure, if it is known.
    pub fn exact(self) -> Option<f64> {
        match self {
            Found::Exact(value) => Some(value),
            Found::Bounds { .. } => None,
        }
    }

    /// Returns the least and the most that the quantity can be: 0 and infinity where no bound is known.
    pub fn ends(self) -> (f64, f64) {
        match self {
            Found::Exact(value) => (value, value),
            Found::Bounds { at_least, at_most } => {
                (at_least.unwrap_or(0.0), at_most.unwrap_or(f64::INFINITY))
            }
        }
    }

    /// Returns what is known of a quantity between these ends.
    pub fn of_ends((low, high): (f64, f64)) -> Found {
        match low == high {
            true => Found::Exact(low),
            false => Found::between((0.0 < low).then_some(low), high.is_finite().then_some(high)),
        }
    }

    pub fn is_unknown(self) -> bool {
        self == Found::between(None, None)
    }

    /// Returns `1,820/s`, `at least 300/s`, `at least 80.0/s and at most 900/s` or `unknown`.
    pub fn in_words(self, written: impl Fn(f64) -> String) -> String {
        match self {
            Found::Exact(value) => written(value),
            Found::Bounds { at_least, at_most } => {
                let (at_least, at_most) = (at_least.map(&written), at_most.map(&written));
                // As far as it is shown, it is known.
                if let Some(value) = at_least.as_ref().filter(|_| at_least == at_most) {
                    return value.clone();
                }
                let at_least = at_least.map(|value| format!("at least {value}"));
                let at_most = at_most.map(|value| format!("at most {value}"));
                let parts: Vec<String> = at_least.into_iter().chain(at_most).collect();
                if parts.is_empty() { "unknown".to_owned() } else { parts.join(" and ") }
            }
        }
    }
}

/// Equal measurements: their number, and where they lie.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Spread {
    pub count: u32,
    pub least: Found,
    pub median: Found,
    pub most: Found,
}

impl Spread {
    /// Returns the spread of some results; `None` if nothing is known of any of them.
    pub fn of(all: &[Found]) -> Option<Spread> {
        let (low, high): (Vec<f64>, Vec<f64>) = all.iter().map(|found| found.ends()).unzip();
        let known = all.iter().any(|found| !found.is_unknown());
        // Each of these grows with every value, so its own bounds are those of the bounds.
        let of = |statistic: fn(&[f64]) -> Option<f64>| {
            Some(Found::of_ends((statistic(&low)?, statistic(&high)?)))
        };
        Some(Spread {
            count: all.len() as u32,
            least: of(|values| values.iter().copied().reduce(f64::min))?,
            median: of(measure::estimate::median)?,
            most: of(|values| values.iter().copied().reduce(f64::max))?,
        })
        .filter(|_| known)
    }
}
