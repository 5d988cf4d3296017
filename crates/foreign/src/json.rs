//! The common parts of several JSON formats.

use measure::Nanos;
use results::foreign::Quantiles;
use results::printed::Percentile;
use results::secrets;
use serde_json::{Map, Value};

use crate::{Unit, time};

/// Returns the message of the parser, for a document that a tool wrote.
pub(crate) fn wrong(error: &serde_json::Error) -> String {
    match error.is_eof() {
        true => format!("it ends in the middle: {error}; was the tool interrupted?"),
        // The message of the parser can contain a value.
        false => secrets::without_plain(&format!("its JSON cannot be read: {error}")),
    }
}

pub(crate) fn number(map: &Map<String, Value>, key: &str) -> Option<f64> {
    map.get(key)?.as_f64().filter(|number| number.is_finite())
}

pub(crate) fn count(map: &Map<String, Value>, key: &str) -> Option<u64> {
    whole(number(map, key)?)
}

/// Refuses a metric with a negative count: a reader would take it for one that the file does not have.
pub(crate) fn refuse_negative(name: &str, metric: &Map<String, Value>) -> Result<(), String> {
    for key in ["count", "passes", "fails", "matches"] {
        if let Some(number) = number(metric, key).filter(|number| *number < 0.0) {
            return Err(format!("the {key} of {name} is {number}, and no count is negative"));
        }
    }
    Ok(())
}

/// Returns a count that JSON has as a number of any kind.
pub(crate) fn whole(number: f64) -> Option<u64> {
    /// Counts above are not exact.
    const MOST: f64 = 9e15;
    (0.0..=MOST).contains(&number).then_some(number.round() as u64)
}

/// Returns the percentiles among the members whose names `level` reads as percents, in their order.
pub(crate) fn percentiles(
    map: &Map<String, Value>,
    unit: Unit,
    level: impl Fn(&str) -> Option<f64>,
) -> Vec<Percentile> {
    let one = |(name, value): (&String, &Value)| {
        let time = time(value.as_f64()?, unit)?;
        percentile(level(name)?, time)
    };
    ascending(map.iter().filter_map(one).collect())
}

/// Returns a percentile from its level in percent; the 0th and the 100th are not among them.
pub(crate) fn percentile(percent: f64, time: Nanos) -> Option<Percentile> {
    (0.0 < percent && percent < 100.0).then(|| crate::printed::percentile(percent, time))
}

pub(crate) fn ascending(percentiles: Vec<Percentile>) -> Vec<Percentile> {
    crate::printed::ascending(percentiles)
}

/// Returns quantiles with a mean, a least and a greatest time of these names.
pub(crate) fn quantiles(
    map: &Map<String, Value>,
    [mean, min, max]: [&str; 3],
    unit: Unit,
) -> Quantiles {
    let of = |name: &str| Some(time(number(map, name)?, unit)?.0);
    Quantiles { mean_ns: of(mean), min_ns: of(min), max_ns: of(max), ..Quantiles::default() }
}
