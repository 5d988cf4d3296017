//! Java's `.properties` files, and the properties of YCSB with their defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The place where a property was set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    File {
        name: Arc<str>,
        line: usize,
    },
    /// An argument, such as `-p recordcount=0`.
    Argument(Arc<str>),
    /// Nobody set it.
    Default,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { name, line } => write!(out, "{name}:{line}"),
            Place::Argument(argument) => write!(out, "{argument}"),
            Place::Default => write!(out, "default"),
        }
    }
}

/// The value of a property.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Value {
    pub text: String,
    pub place: Place,
}

/// A property that is wrong, with the remedy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wrong {
    pub property: String,
    pub value: Value,
    pub why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wrong { property, value, why } = self;
        match value.place {
            Place::Default => write!(out, "the property `{property}` {why}"),
            _ => write!(out, "{}: the property `{property}` {why}", value.place),
        }
    }
}

impl std::error::Error for Wrong {}

/// A property that somebody reads, and its default.
pub type Known = (&'static str, &'static str);

/// The properties that were set. The last value of a name counts.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    values: BTreeMap<String, Value>,
}

impl Properties {
    /// Sets a property, in whatever way it was set before.
    pub fn set(&mut self, name: &str, text: &str, place: Place) {
        self.values.insert(name.to_owned(), Value { text: text.to_owned(), place });
    }

    /// Returns the value of a property, or its default in the table.
    ///
    /// # Panics
    /// If the table does not have it.
    pub fn value(&self, known: &[Known], name: &str) -> Value {
        let default = known.iter().find(|(known, _)| *known == name);
        let (_, default) = default.unwrap_or_else(|| panic!("the table has the property {name}"));
        let default = || Value { text: (*default).to_owned(), place: Place::Default };
        self.values.get(name).cloned().unwrap_or_else(default)
    }
}
