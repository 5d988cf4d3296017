//! The text of a spec, and errors that show the place in it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use results::{Secrets, secrets};

use super::patch::AND;
use places::{Document, Token};

mod places;

#[cfg(test)]
mod tests;

/// The text of a spec, with the name that the user knows it by.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: String,
    /// The profiles of the text that are in effect, in their order.
    profiles: Vec<String>,
    /// The settings that replace parts of the text.
    settings: Vec<Setting>,
    /// Read at the first error.
    document: Arc<OnceLock<Option<Document>>>,
}

/// A setting `path=value`.
#[derive(Clone, Debug)]
struct Setting {
    path: Vec<String>,
    value: String,
    /// As a message shows it, without secrets.
    shown: String,
}

/// The location of something that a spec says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Location {
    /// In its text: line and column count from 1, in characters.
    Text { line: usize, column: usize, length: usize },
    /// In a setting of the command line, by its index.
    Setting(usize),
}

/// The error of a spec that is not valid: what, where, and the remedy, as it is printed.
///
/// ```text
/// unknown field `warmup`; did you mean `warm_up`?
///   --> my.yaml:14:3
///    |
/// 14 |   warmup: 10s
///    |   ^^^^^^ fields here: settle, warm_up, measure, drain
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SpecError(String);

/// The longest line that is shown; a longer one would hide the message.
const LONGEST_LINE: usize = 160;

impl Source {
    pub(super) fn new(name: &str, text: String) -> Source {
        let (name, profiles, settings) = (name.to_owned(), Vec::new(), Vec::new());
        Source { name, text, profiles, settings, document: Arc::default() }
    }

    /// Returns the same text with these profiles, joined by `+`, and settings in effect: an error shows no
    /// part of the text that is not, and no part that a setting replaces.
    pub(super) fn with(self, profiles: Option<&str>, set: &[String]) -> Source {
        let setting = |text: &String| {
            let (path, value) = text.split_once('=')?;
            Some(Setting {
                path: path.split('.').map(|part| part.trim().to_owned()).collect(),
                value: value.to_owned(),
                shown: super::secrets::setting_shown(text, &Secrets::default()),
            })
        };
        let profiles = profiles.into_iter().flat_map(|names| names.split(AND));
        Source {
            profiles: profiles.map(str::to_owned).collect(),
            settings: set.iter().filter_map(setting).collect(),
            ..self
        }
    }

    /// Returns an error at this place; `label` is the remedy that is shown beside it.
    pub fn error(
        &self,
        message: impl fmt::Display,
        place: Option<Location>,
        label: &str,
    ) -> SpecError {
        let name = &self.name;
        let remedy = || if label.is_empty() { String::new() } else { format!("\n  = {label}") };
        let (line, column, length) = match place {
            None => return SpecError(format!("{message}\n --> {name}{}", remedy())),
            Some(Location::Setting(index)) => {
                let shown = secrets::without_plain(&self.settings[index].shown);
                let shown: String = shown.chars().take(LONGEST_LINE).map(visible).collect();
                return SpecError(format!("{message}\n --> --set {shown}{}", remedy()));
            }
            Some(Location::Text { line, column, length }) => (line, column, length),
        };
        let content = secrets::line_without_plain(&self.text, line);
        // The place may be in a value that is not shown.
        let at = column.min(content.chars().count() + 1);
        let shown: String = content.chars().take(LONGEST_LINE).map(visible).collect();
        let room = shown.chars().count().saturating_sub(at - 1).max(1);
        let mark = " ".repeat(at - 1) + &"^".repeat(length.min(room));
        let margin = " ".repeat(line.to_string().len());
        let marked = format!("{mark} {label}");
        SpecError(format!(
            "{message}\n\
             {margin}--> {name}:{line}:{column}\n\
             {margin} |\n\
             {line} | {shown}\n\
             {margin} | {}",
            marked.trim_end()
        ))
    }

    /// Finds `text` behind this key, as a word of a value or as a key. If it is the name of the key, finds
    /// the key itself; if the key does not end with `:`, the word anywhere.
    ///
    /// Nothing is found where the text of the spec does not say it: a value may also come from the level
    /// of a factor, or from a default.
    pub fn find(&self, key: &str, text: &str) -> Option<Location> {
        let name = key.trim_end_matches(':');
        if text.trim_end_matches(':') != name {
            return self.behind(&[name], text);
        }
        let length = text.chars().count();
        match self.key(&[name]) {
            Some(Location::Text { line, column, .. }) => {
                Some(Location::Text { line, column, length })
            }
            None if name == key => self.anywhere(text),
            setting => setting,
        }
    }

    /// Returns an error at a key, which is written as its path: `search:` or `load.rate:`.
    pub(super) fn error_at(&self, message: &str, key: &str, label: &str) -> SpecError {
        let path: Vec<&str> = key.trim_end_matches(':').split('.').collect();
        self.error(message, self.key(&path), label)
    }

    /// Finds the key at the end of this path, which begins anywhere: the one with the fewest keys above it.
    pub(super) fn key(&self, path: &[&str]) -> Option<Location> {
        let at_end = self.setting(|setting| {
            let above = setting.path.len().checked_sub(path.len());
            above.is_some_and(|above| is(&setting.path[above..], path))
        });
        let mut best: Option<(usize, Location)> = None;
        let mut see = |seen: &Token<'_>| {
            let is_better = best.is_none_or(|(depth, _)| seen.path.len() < depth);
            if seen.is_key && seen.path.ends_with(path) && is_better {
                best =
                    Some((seen.path.len(), self.place(seen.at.start, &self.text[seen.at.clone()])));
            }
        };
        if at_end.is_none() {
            self.walk(&mut see);
        }
        // A setting may make the parts of what the text does not have.
        let anywhere = || self.setting(|setting| has(&setting.path, path));
        at_end.or(best.map(|(_, place)| place)).or_else(anywhere)
    }

    /// Finds a word behind the last key of this path, in its value or in what is below it.
    pub(super) fn behind(&self, path: &[&str], text: &str) -> Option<Location> {
        let says = |setting: &Setting| {
            let below = setting.path.iter().any(|part| part == text);
            has(&setting.path, path) && (below || word(&setting.value, text).is_some())
        };
        self.setting(says).or_else(|| {
            let is_below = |seen: &Token<'_>| {
                let above = if seen.is_key { &seen.path[..seen.path.len() - 1] } else { seen.path };
                above.windows(path.len()).any(|part| part == path)
            };
            self.first(text, &is_below)
        })
    }

    /// Finds a part of this whole text.
    pub(super) fn inside(&self, whole: &str, part: &str) -> Option<Location> {
        let is_it = |seen: &Token<'_>| self.text[seen.at.clone()].contains(whole);
        self.first(part, &is_it).or_else(|| self.setting(|setting| setting.value.contains(whole)))
    }

    /// Finds a word anywhere.
    fn anywhere(&self, text: &str) -> Option<Location> {
        let of_setting = || self.setting(|setting| word(&setting.value, text).is_some());
        self.first(text, &|_| true).or_else(of_setting)
    }

    /// Returns the first place of a word among the keys and values that fit.
    fn first(&self, text: &str, fits: &dyn Fn(&Token<'_>) -> bool) -> Option<Location> {
        let mut found = None;
        self.walk(&mut |seen| {
            if found.is_none() && fits(seen) {
                let at = word(&self.text[seen.at.clone()], text);
                found = at.map(|at| self.place(seen.at.start + at, text));
            }
        });
        found
    }

    /// Calls a function with each key and value of the text that is in effect. What is in effect of a
    /// profile comes first, with the path that it has in the spec.
    fn walk(&self, see: &mut dyn FnMut(&Token<'_>)) {
        let read = || Document::read(&self.text);
        let Some(document) = self.document.get_or_init(read) else { return };
        let is_set = |path: &[&str]| {
            let replaces = |setting: &Setting| {
                !setting.value.trim_start().starts_with('{') && is(&setting.path, path)
            };
            self.settings.iter().any(replaces)
        };
        for profile in self.profiles.iter().rev() {
            let is_above = |path: &[&str]| match path {
                ["profiles"] => true,
                ["profiles", name] => *name == profile,
                ["profiles", _, rest @ ..] => !is_set(rest),
                _ => false,
            };
            document.walk(&self.text, &is_above, &mut |seen| {
                if let ["profiles", name, rest @ ..] = seen.path
                    && *name == profile
                    && !(rest.is_empty() || seen.is_key && is_set(rest))
                {
                    see(&Token { path: rest, ..seen.clone() });
                }
            });
        }
        let of_text = |path: &[&str]| match path {
            ["profiles", ..] => path.len() == 1,
            path => !is_set(path),
        };
        document.walk(&self.text, &of_text, &mut |seen| {
            let is_in_effect = match seen.path {
                ["profiles", name] => self.profiles.iter().any(|profile| profile == name),
                path => !(seen.is_key && is_set(path)),
            };
            if is_in_effect {
                see(seen);
            }
        });
    }

    /// Returns the place of the last setting that fits: it replaces the ones before.
    fn setting(&self, fits: impl Fn(&Setting) -> bool) -> Option<Location> {
        self.settings.iter().rposition(fits).map(Location::Setting)
    }

    /// Returns the place of a text that begins at this byte.
    fn place(&self, at: usize, text: &str) -> Location {
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before[begin..].chars().count() + 1;
        Location::Text { line, column, length: text.chars().count().max(1) }
    }

    /// Returns the word or quoted text that begins at this line and column.
    pub fn word_at(&self, line: usize, column: usize) -> Location {
        let content = self.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let rest: Vec<char> = content.chars().skip(column.saturating_sub(1)).collect();
        let length = match rest.first() {
            Some(&quote @ ('"' | '\'')) => {
                rest.iter().skip(1).position(|&c| c == quote).map_or(1, |end| end + 2)
            }
            _ => rest.iter().take_while(|&&c| !c.is_whitespace() && !":,[]{}#".contains(c)).count(),
        };
        Location::Text { line: line.max(1), column: column.max(1), length: length.max(1) }
    }
}

/// Returns the first place of a text in another one where it is a whole word: `9` is none of `19101`,
/// nor `geo` of `geo-cache`.
fn word(content: &str, text: &str) -> Option<usize> {
    let joins = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let begins = text.starts_with(joins);
    let ends = text.ends_with(joins);
    let is_part = |at: usize| {
        begins && content[..at].ends_with(joins)
            || ends && content[at + text.len()..].starts_with(joins)
    };
    content.match_indices(text).map(|(at, _)| at).find(|&at| !is_part(at))
}

/// Returns true if these keys follow each other somewhere in a path.
fn has(path: &[String], keys: &[&str]) -> bool {
    path.windows(keys.len()).any(|part| is(part, keys))
}

fn is(path: &[String], keys: &[&str]) -> bool {
    path.iter().map(String::as_str).eq(keys.iter().copied())
}

impl SpecError {
    /// Returns the error of one question among several, which `what` names.
    pub fn within(&self, what: &str) -> SpecError {
        SpecError(format!("{what}: {}", self.0))
    }
}

/// Replaces control characters, which the terminal would interpret.
fn visible(c: char) -> char {
    match c {
        _ if c.is_control() => ' ',
        '\u{2028}' | '\u{2029}' => ' ',
        c => c,
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}
