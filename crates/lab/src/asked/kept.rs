//! The secrets of a question, which leave it.

use std::collections::BTreeMap;

use results::secrets::ENV;

/// The secrets that left a question: by the variable that stands for each, the part that it is the value of, and
/// the value.
#[derive(Default)]
pub(super) struct Kept(pub(super) BTreeMap<String, (String, String)>);

impl Kept {
    /// Keeps a secret; returns the reference to put in its place.
    pub(super) fn keep(&mut self, prefix: &str, of: &str, value: &str) -> String {
        let in_name =
            |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let base: String = prefix.chars().map(in_name).collect();
        let names = (1..).map(|number| match number {
            1 => base.clone(),
            number => format!("{base}_{number}"),
        });
        let is_free = |name: &String| self.0.get(name).is_none_or(|(_, kept)| kept == value);
        let name = names.into_iter().find(is_free).expect("there are numbers without end");
        self.0.insert(name.clone(), (of.to_owned(), value.to_owned()));
        format!("${{{ENV}{name}}}")
    }
}
