//! The checks of the machines: how strict an experiment is towards what they find.

use results::doctor::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Resolved, SpecError, schema};

/// The strictness towards what `benchwright doctor` finds, before the run and after each trial.
/// Checks, and parts of them, are named as it prints them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Doctor {
    /// The strictness.
    #[schemars(schema_with = "schema::strictness")]
    pub level: Level,
    /// The checks that must be known and good, whatever their usual weight.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<String>,
    /// The checks that refuse nothing. What they find is printed all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
}

impl Doctor {
    pub(super) fn is_usual(&self) -> bool {
        *self == Doctor::default()
    }

    /// Refuses names of checks that the backend does not have.
    pub fn check(&self, known: &[&str], resolved: &Resolved) -> Result<(), SpecError> {
        let mut named = self.require.iter().chain(&self.allow);
        let Some(name) = named.find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
        let label = match known {
            [] => format!("the backend {} has no checks", resolved.spec.where_.backend),
            known => format!("checks and their parts: {}", known.join(", ")),
        };
        let place = resolved.source.find("doctor:", name);
        Err(resolved.source.error(format!("there is no check `{name}`"), place, &label))
    }
}
