//! The command line of our generator. Its words are typed until a process or a pod gets them, so that
//! nobody has to find an option or a file in a list of texts.

use std::fmt;
use std::path::PathBuf;

use results::shell;

use crate::spec::workload::ARGUMENTS;

/// The arguments after `benchwright`, in their order.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Arguments(Vec<(&'static str, Value)>);

/// The word behind the name of an option.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Value {
    /// Nothing.
    Flag,
    Text(String),
    /// The path of a file that the generator reads.
    File(PathBuf),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl Arguments {
    /// Adds an option at the end.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Arguments {
        self.0.push((name, value));
        self
    }

    /// Returns true if the option is there.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| *other == name)
    }

    /// Removes all occurrences of an option.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(other, _)| *other != name);
    }

    /// Sets an option to one value. Where it was not there, it comes before the arguments of a script, which are
    /// the last.
    pub fn set(&mut self, name: &'static str, value: Value) {
        let at = self.0.iter().position(|(other, _)| *other == name || *other == ARGUMENTS);
        let at = at.unwrap_or(self.0.len());
        self.remove(name);
        self.0.insert(at, (name, value));
    }

    /// Returns the paths of the files, which may be changed.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.0.iter_mut().filter_map(|(_, value)| match value {
            Value::File(path) => Some(path),
            Value::Flag | Value::Text(_) => None,
        })
    }

    /// Returns the words of the command line.
    pub fn words(&self) -> Vec<String> {
        let first_of_script = self.0.iter().position(|(name, _)| *name == ARGUMENTS);
        let mut words = vec!["load".to_owned()];
        for (index, (name, value)) in self.0.iter().enumerate() {
            words.extend((first_of_script == Some(index)).then(|| "--".to_owned()));
            words.extend(name.starts_with("--").then(|| (*name).to_owned()));
            match value {
                Value::Flag => {}
                Value::Text(text) => words.push(text.clone()),
                Value::File(path) => words.push(path.display().to_string()),
            }
        }
        words
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shell::line(&self.words()))
    }
}
