//! The text of a spec, and errors that show the place in it.

use std::fmt;

use results::secrets;

/// The text of a spec, with the name that the user knows it by.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: String,
}

/// A place in the text: line and column count from 1, in characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub length: usize,
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
    /// Returns an error at this place; `label` is the remedy that is shown beside it.
    pub fn error(
        &self,
        message: impl fmt::Display,
        place: Option<Place>,
        label: &str,
    ) -> SpecError {
        let Source { name, text } = self;
        let Some(Place { line, column, length }) = place else {
            let remedy = if label.is_empty() { String::new() } else { format!("\n  = {label}") };
            return SpecError(format!("{message}\n --> {name}{remedy}"));
        };
        let content = text.lines().nth(line - 1).unwrap_or_default();
        let content = secrets::without_plain(content);
        let shown: String = content.chars().take(LONGEST_LINE).map(visible).collect();
        let room = shown.chars().count().saturating_sub(column - 1).max(1);
        let mark = " ".repeat(column - 1) + &"^".repeat(length.min(room));
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

    /// Finds the first `text` behind `key` on the same line; if there is none, `text` anywhere.
    pub fn find(&self, key: &str, text: &str) -> Option<Place> {
        let behind_key = |line: &str| {
            let begins = |&(at, _): &(usize, &str)| !line[..at].ends_with(char::is_alphanumeric);
            let (key, _) = line.match_indices(key).find(begins)?;
            Some(key + line[key..].find(text)?)
        };
        let anywhere = |line: &str| line.find(text);
        self.find_by(text, behind_key).or_else(|| self.find_by(text, anywhere))
    }

    fn find_by(&self, text: &str, find: impl Fn(&str) -> Option<usize>) -> Option<Place> {
        (1..).zip(self.text.lines()).find_map(|(line, content)| {
            let content = content.split(" #").next().unwrap_or(content);
            let at = find(content)?;
            let column = content[..at].chars().count() + 1;
            Some(Place { line, column, length: text.chars().count().max(1) })
        })
    }

    /// Returns the word or quoted text that begins at this line and column.
    pub fn word_at(&self, line: usize, column: usize) -> Place {
        let content = self.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let rest: Vec<char> = content.chars().skip(column.saturating_sub(1)).collect();
        let length = match rest.first() {
            Some(&quote @ ('"' | '\'')) => {
                rest.iter().skip(1).position(|&c| c == quote).map_or(1, |end| end + 2)
            }
            _ => rest.iter().take_while(|&&c| !c.is_whitespace() && !":,[]{}#".contains(c)).count(),
        };
        Place { line: line.max(1), column: column.max(1), length: length.max(1) }
    }
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
