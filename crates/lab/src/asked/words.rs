//! The words of a file beside its values: what it is, and what in it is only a guess.

use std::collections::BTreeMap;

/// The most characters of a line of comment.
const WIDTH: usize = 112;

/// The words of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// The sentences at its beginning; each begins a line.
    pub head: Vec<String>,
    /// The beginning of the experiment's name.
    pub prefix: String,
    /// The reason of each value that nobody stated.
    pub guesses: BTreeMap<Guessed, String>,
}

/// A value that may be a guess.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Guessed {
    /// The URL of the service.
    Service,
    Cpus,
    Ready,
    /// The path of the requests.
    Path,
    Arrivals,
    Connections,
    Timeout,
    Phases,
    Slo,
    Search,
}

impl Words {
    /// The words of a question that a user asks by `benchwright capacity`, who guesses nothing.
    pub fn of_capacity() -> Words {
        Words {
            head: vec![
                "The experiment of `benchwright capacity`. Of this file, `benchwright plan` says what a run would do, \
                 and `benchwright run` asks the same again."
                    .to_owned(),
            ],
            prefix: "capacity-".to_owned(),
            guesses: BTreeMap::new(),
        }
    }

    /// Returns the comment before a value that is a guess; nothing before one that was stated.
    pub(super) fn guess(&self, of: Guessed, indent: &str) -> String {
        self.guesses
            .get(&of)
            .map_or_else(String::new, |why| comment(&format!("guess: {why}"), indent))
    }
}

/// Returns a sentence as comments, without the characters that would end one.
pub(super) fn comment(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = format!("{indent}#");
    for word in one_line(text).split(' ') {
        if WIDTH < line.chars().count() + 1 + word.chars().count() && !line.ends_with('#') {
            lines += &line;
            lines.push('\n');
            line = format!("{indent}#");
        }
        line.push(' ');
        line += word;
    }
    lines + &line + "\n"
}

/// Returns a text without line breaks, and without other characters that YAML does not have.
pub(super) fn one_line(text: &str) -> String {
    let is_kept = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    let words =
        text.split_whitespace().map(|word| word.chars().filter(is_kept).collect::<String>());
    words.collect::<Vec<String>>().join(" ")
}
