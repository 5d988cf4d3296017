//! The secrets of a source: variables of the environment take their places, and their values go nowhere.

use std::collections::BTreeMap;

use results::secrets::{free_name, variable_of};

/// The longest name of a variable.
const MOST: usize = 64;

/// The variables that stand for secrets, each with what it is the value of.
#[derive(Debug, Default)]
pub(crate) struct References(pub(crate) BTreeMap<String, String>);

impl References {
    /// Returns the reference to put in place of a secret with this name. Equal names of the same part have one variable,
    /// whatever the values: the load sends one of them.
    pub(crate) fn to(&mut self, name: &str, of: &str) -> String {
        let mut variable: String = variable_of(name).chars().take(MOST).collect();
        if !variable.starts_with(|c: char| c.is_ascii_alphabetic()) {
            variable.insert_str(0, "SECRET_");
        }
        // One with its scheme and one without are not values for the same place.
        let variable = free_name(&variable, |name| {
            self.0.get(name).is_none_or(|other| other.eq_ignore_ascii_case(of))
        });
        let reference = format!("${{env.{variable}}}");
        self.0.entry(variable).or_insert_with(|| of.to_owned());
        reference
    }
}
