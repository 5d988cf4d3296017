//! CPUs and memory as Kubernetes and Linux write them.

use std::collections::BTreeSet;

use lab::spec::{Cpus, Literal};
use serde_json::Value;

#[cfg(test)]
mod tests;

/// Returns an amount of CPU in thousandths: `500m`, `2`, `0.5`.
pub(crate) fn millicores(quantity: &Value) -> Option<u64> {
    let text = text(quantity)?;
    let (number, scale) = match text.strip_suffix('m') {
        Some(number) => (number, 1.0),
        None => (text.as_str(), 1000.0),
    };
    let amount = number.parse::<f64>().ok()? * scale;
    (0.0..1e9).contains(&amount).then_some(amount.round() as u64)
}

/// Returns the CPUs of a list: `0-3,8`.
pub(crate) fn cpus(list: &str) -> Option<BTreeSet<u32>> {
    Some(Cpus::read(list).ok()?.0.into_iter().collect())
}

/// Returns an amount of memory in bytes: `8040100Ki`, `512Mi`, `1000000`.
pub(crate) fn bytes(quantity: &Value) -> Option<u64> {
    let text = text(quantity)?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale: u64 = match &text[digits.len()..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

fn text(quantity: &Value) -> Option<String> {
    match quantity {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
