//! Converts results of version 1 to version 2. Values that version 1 did not keep are absent.

use serde::Deserialize;
use serde_json::Value;

use crate::Environment;
use crate::environment::Node;

/// Reads the environment: the properties of the only node stood beside the others.
#[derive(Deserialize)]
pub(crate) struct Flat {
    #[serde(flatten)]
    node: Node,
    #[serde(flatten)]
    rest: Environment,
}

/// Converts the environment.
pub(crate) fn environment(flat: Flat) -> Environment {
    Environment { nodes: vec![flat.node], ..flat.rest }
}

/// Converts a line of the journal.
pub(crate) fn entry(entry: &mut Value) {
    let Some(fields) = entry.as_object_mut() else { return };
    // It was the rate of each target, and the number of targets was not recorded.
    if let Some(asked) = fields.remove("asked_per_s") {
        fields.insert("asked_per_target_per_s".to_owned(), asked);
    }
    let Some(observed) = fields.get_mut("observed").and_then(Value::as_object_mut) else { return };
    let rate = |name: &str| observed.get(name).and_then(Value::as_f64);
    if let (Some(completed), Some(offered)) = (rate("completed_per_s"), rate("offered_per_s")) {
        observed.insert("sustained_per_s".to_owned(), completed.min(offered).into());
    }
}

/// Converts an answer.
pub(crate) fn answer(answer: &mut Value) {
    if let Some(trials) = answer.get_mut("trials").and_then(Value::as_array_mut) {
        trials.iter_mut().for_each(entry);
    }
}
