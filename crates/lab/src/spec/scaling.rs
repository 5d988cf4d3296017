//! The scaling law of an experiment: the factor whose levels count units.

use measure::scaling::{FEWEST_LEVELS, FEWEST_VALUES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::SpecError;
use super::{Name, Resolved, Spec, questions};

#[cfg(test)]
mod tests;

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
                "add it, for example factors: {replicas: {path: sut.replicas, levels: [1, 2, 4, 8]}}"
                    .to_owned()
            }
            false => format!("factors here: {}", names.join(", ")),
        };
        let message = format!("no factor is called `{factor}`");
        return error(message, "scaling_law:", factor, &label);
    };
    if let Some(level) = found.levels.iter().find(|level| units(&level.name).is_none()) {
        let message = format!("the level `{}` of `{factor}` is not a number of units", level.name);
        let label =
            "a scaling law needs levels that are numbers from 1 on, for example [1, 2, 4, 8]";
        return error(message, "levels:", &level.name, label);
    }
    if found.levels.len() < FEWEST_LEVELS {
        let message = format!("`{factor}` has {} levels", found.levels.len());
        let label = format!(
            "a scaling law needs at least {FEWEST_LEVELS}, for example levels: [1, 2, 4, 8]"
        );
        return error(message, "scaling_law:", factor, &label);
    }
    Ok(())
}

/// Checks that the levels can give as many values as a law needs. Only for a new run: the answer of an older
/// one says that its values are too few.
pub(super) fn check_values(resolved: &Resolved) -> Result<(), SpecError> {
    let Some(ScalingLaw { factor }) = &resolved.spec.scaling_law else { return Ok(()) };
    let (_, questions) = questions(resolved)?;
    let factors = &resolved.spec.factors.0;
    let found = factors.iter().find(|(name, _)| name == factor);
    let levels = found.map_or(0, |(_, found)| found.levels.len());
    let of_each = questions.iter().map(|one| values(&one.resolved.spec)).max().unwrap_or(0);
    let values =
        levels.saturating_mul(of_each).saturating_mul(resolved.spec.repeat.searches.0 as usize);
    if FEWEST_VALUES <= values {
        return Ok(());
    }
    let has_search = questions.iter().any(|one| one.resolved.spec.search.is_some());
    let repeat = if has_search { "searches" } else { "trials" };
    let label = match values {
        0 => "a fixed rate completes what it offers: search for a capacity, or write model: closed"
            .to_owned(),
        _ => format!(
            "a scaling law needs at least {FEWEST_VALUES}: add a level, or write repeat: {{{repeat}: 3}}"
        ),
    };
    let message = format!("the {levels} levels of `{factor}` give {values} values");
    Err(resolved.source.error(message, resolved.source.find("scaling_law:", factor), &label))
}

/// Returns how many values of a law one question gives, put once: a search its result, a closed loop the
/// goodput of each trial.
fn values(spec: &Spec) -> usize {
    let Spec { search, load, repeat, .. } = spec;
    match load.is_closed() {
        _ if search.is_some() => 1,
        true => repeat.until.as_ref().map_or(repeat.trials, |until| until.max).0 as usize,
        false => 0,
    }
}
