//! The secrets of a source: variables of the environment take their places, and their values go nowhere.

use std::collections::BTreeMap;

/// The longest name of a variable.
const MOST: usize = 64;

/// The variables that stand for secrets, each with what it is the value of.
#[derive(Debug, Default)]
pub(crate) struct References(pub(crate) BTreeMap<String, String>);

impl References {
    /// Returns the reference to put in place of a secret with this name. Equal names of the same part have one variable,
    /// whatever the values: the load sends one of them.
    pub(crate) fn to(&mut self, name: &str, of: &str) -> String {
        let in_name =
            |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let mut variable: String = name.chars().map(in_name).take(MOST).collect();
        if !variable.starts_with(|c: char| c.is_ascii_alphabetic()) {
            variable.insert_str(0, "SECRET_");
        }
        // One with its scheme and one without are not values for the same place.
        let is_free =
            |name: &String| self.0.get(name).is_none_or(|other| other.eq_ignore_ascii_case(of));
        let others = (2..).map(|number| format!("{variable}_{number}"));
        let variable = std::iter::once(variable.clone()).chain(others).find(is_free);
        let variable = variable.expect("there are numbers without end");
        let reference = format!("${{env.{variable}}}");
        self.0.entry(variable).or_insert_with(|| of.to_owned());
        reference
    }
}
