//! The look of a text for people: the colours and the width that its reader has.
//!
//! A pipe or a file gets the text as it is. `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR` and `TERM` mean the same as for
//! other programs (<https://no-color.org>, <https://bixense.com/clicolors>).

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use ratatui::crossterm::terminal;

use super::stream::Stream;

#[cfg(test)]
mod tests;

/// The narrowest width to which a text is fitted: a narrower terminal breaks the lines itself.
const LEAST_WIDTH: usize = 40;
/// The indentation of a line that continues another one.
const CONTINUED: usize = 2;

/// The meaning of a word at the beginning of a line. The word says it, too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mark {
    Good,
    Middling,
    Bad,
}

/// The look of what is written to a stream.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Look {
    has_colours: bool,
    /// The columns of the terminal; `None` if it is none, or does not tell.
    width: Option<usize>,
}

impl Look {
    pub(super) fn of(stream: Stream) -> Look {
        Look { has_colours: has_colours(stream), width: width(stream) }
    }

    /// Breaks the sentences that are longer than a line, and colours the words that begin them. Lines of
    /// tables and lists stay as they are.
    pub(super) fn shown(self, text: &str, marks: &[(&str, Mark)]) -> String {
        let mut shown = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let (line, end) = match line.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            if is_sentence(line) {
                let broken = self.width.map_or(line.to_owned(), |width| broken(line, width));
                shown += &self.marked(&broken, marks);
            } else {
                shown += line;
            }
            shown += end;
        }
        shown
    }

    fn marked(self, line: &str, marks: &[(&str, Mark)]) -> String {
        let mark =
            marks.iter().find_map(|(word, mark)| Some((line.strip_prefix(word)?, word, mark)));
        let (true, Some((rest, word, mark))) = (self.has_colours, mark) else {
            return line.to_owned();
        };
        let colour = match mark {
            Mark::Good => 32,
            Mark::Middling => 33,
            Mark::Bad => 31,
        };
        format!("\x1b[{colour}m{word}\x1b[0m{rest}")
    }
}

/// Returns true if what is written to a stream may have colours.
pub fn has_colours(stream: Stream) -> bool {
    decide(is_terminal(stream), |name| std::env::var_os(name))
}

/// Returns true for a kind of terminal, the value of `TERM`, that obeys more than line breaks.
pub(super) fn can_move(kind: Option<OsString>) -> bool {
    kind.is_some_and(|kind| !kind.is_empty() && kind != "dumb")
}

fn decide(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    let is_zero = |name| variable(name).is_some_and(|value| value == "0");
    match () {
        () if is_set("NO_COLOR") => false,
        () if is_set("CLICOLOR_FORCE") && !is_zero("CLICOLOR_FORCE") => true,
        () => is_terminal && can_move(variable("TERM")) && !is_zero("CLICOLOR"),
    }
}

fn is_terminal(stream: Stream) -> bool {
    match stream {
        Stream::Stdout => io::stdout().is_terminal(),
        Stream::Stderr => io::stderr().is_terminal(),
    }
}

fn width(stream: Stream) -> Option<usize> {
    let size = is_terminal(stream).then(terminal::window_size)?.ok()?;
    Some(usize::from(size.columns)).filter(|columns| LEAST_WIDTH <= *columns)
}

/// Returns true for a line without columns.
fn is_sentence(line: &str) -> bool {
    !line.trim_start().contains("  ")
}

/// Breaks a line between its words; each further line is indented by more than the first.
fn broken(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let indentation = line.chars().take_while(|c| *c == ' ').count();
    let continued = " ".repeat(indentation + CONTINUED);
    let mut broken = " ".repeat(indentation);
    let mut used = indentation;
    for (number, word) in line.trim_start().split(' ').enumerate() {
        let length = word.chars().count();
        if 0 < number && width < used + 1 + length {
            broken += "\n";
            broken += &continued;
            used = continued.len();
        } else if 0 < number {
            broken.push(' ');
            used += 1;
        }
        broken += word;
        used += length;
    }
    broken
}
