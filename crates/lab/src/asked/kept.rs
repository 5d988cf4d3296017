//! The secrets of a question, which leave it.

use std::collections::BTreeMap;

use results::secrets::{ENV, free_name, variable_of};

/// The secrets that left a question.
#[derive(Default)]
pub(super) struct Kept {
    /// By the variable that stands for each, the part that it is the value of, and the value.
    pub(super) values: BTreeMap<String, (String, String)>,
    /// The variables that the files of the question need, each with what it is the value of.
    of_files: BTreeMap<String, String>,
}

impl Kept {
    pub(super) fn beside(of_files: &[(String, String)]) -> Kept {
        Kept { of_files: of_files.iter().cloned().collect(), ..Kept::default() }
    }

    /// Keeps a secret; returns the reference to put in its place. A variable has one value, and is the value of one
    /// part, also in the files.
    pub(super) fn keep(&mut self, prefix: &str, of: &str, value: &str) -> String {
        let name = free_name(&variable_of(prefix), |name| {
            self.values.get(name).is_none_or(|(_, kept)| kept == value)
                && self.of_files.get(name).is_none_or(|other| other.eq_ignore_ascii_case(of))
        });
        self.values.insert(name.clone(), (of.to_owned(), value.to_owned()));
        format!("${{{ENV}{name}}}")
    }
}
