//! The scaling law of an experiment: the factor whose levels count units.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::SpecError;
use super::{Name, Resolved};

#[cfg(test)]
mod tests;

/// The fewest levels that show a law.
const FEWEST: usize = 3;

/// `scaling_law: {factor: replicas}`
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScalingLaw {
    /// The factor whose levels count units: at least three numbers from 1 on.
    pub factor: Name,
}

/// Returns the number of units that a level stands for; `None` if it is not a number from 1 on.
pub(crate) fn units(level: &str) -> Option<f64> {
    level.parse::<f64>().ok().filter(|units| 1.0 <= *units && units.is_finite())
}

/// Checks that the factor exists, and that at least three of its levels count units.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let Some(ScalingLaw { factor }) = &resolved.spec.scaling_law else { return Ok(()) };
    let source = &resolved.source;
    let factors = &resolved.spec.factors.0;
    let error = |message: String, key: &str, word: &str, label: &str| {
        let place = source.find(key, word);
        Err(source.error(message, place, label))
    };
    let Some((_, found)) = factors.iter().find(|(name, _)| name == factor) else {
        let names: Vec<&str> = factors.iter().map(|(name, _)| &**name).collect();
        let label = match names.is_empty() {
            true => {
                "add it, for example factors: {replicas: {path: sut.replicas, levels: [1, 2, 4]}}"
                    .to_owned()
            }
            false => format!("factors here: {}", names.join(", ")),
        };
        let message = format!("no factor is called `{factor}`");
        return error(message, "scaling_law:", factor, &label);
    };
    if let Some(level) = found.levels.iter().find(|level| units(&level.name).is_none()) {
        let message = format!("the level `{}` of `{factor}` is not a number of units", level.name);
        let label = "a scaling law needs levels that are numbers from 1 on, for example [1, 2, 4]";
        return error(message, "levels:", &level.name, label);
    }
    if found.levels.len() < FEWEST {
        let message = format!("`{factor}` has {} levels", found.levels.len());
        let label = "a scaling law needs at least three, for example levels: [1, 2, 4]";
        return error(message, "scaling_law:", factor, label);
    }
    Ok(())
}
