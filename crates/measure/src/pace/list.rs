//! Lists of paces, as Knative's performance image reads them: `100,200:20,400:60` is 100 requests a
//! second for 10 s, 200 for 20 s and 400 for 60 s, with rests between them.

use super::shape::{Curve, LONGEST, Shape, WarmUp};
use crate::Nanos;

#[cfg(test)]
mod tests;

/// The length of a pace without one.
const USUAL: Nanos = Nanos::from_secs(10);

/// The rest after a pace: 5 s for what is on its way, and 3 s in which that image's receivers collect
/// their garbage.
const REST: Nanos = Nanos::from_secs(8);

/// The warm-up: 100 requests a second, and then a rest.
const WARM_UP: WarmUp = WarmUp { rate: 100.0, rest: Nanos::from_secs(5) };

impl Shape {
    /// Parses a list of paces. There is no rest after the last one.
    pub fn of_paces(text: &str) -> Result<Shape, String> {
        let mut parts = Vec::new();
        for item in text.split(',') {
            let (rate, length) = pace(item).ok_or_else(|| {
                format!(
                    "`{text}` is not a list of paces; write requests per second and seconds, for \
                     example 100,200:20,400:60"
                )
            })?;
            if !parts.is_empty() {
                parts.push(("rest".to_owned(), Curve::Rest, Some(REST)));
            }
            let name = format!("{rate}/s {}", length.written());
            parts.push((name, Curve::Hold { rate: rate.into() }, Some(length)));
        }
        let mut shape = Shape::of(parts);
        shape.warm_up = Some(WARM_UP);
        match shape.length().is_some_and(|length| length <= LONGEST) {
            true => Ok(shape),
            false => Err(format!("`{text}` is longer than 104 days; shorten it")),
        }
    }
}

/// Parses `200:20` or `200`.
fn pace(item: &str) -> Option<(u32, Nanos)> {
    let (rate, length) = match item.trim().split_once(':') {
        Some((rate, seconds)) => (rate, Nanos::SECOND * u64::from(seconds.parse::<u32>().ok()?)),
        None => (item.trim(), USUAL),
    };
    let rate = rate.parse().ok()?;
    (0 < rate && Nanos::ZERO < length).then_some((rate, length))
}
