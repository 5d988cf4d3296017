//! The lines of a YAML text as an error shows them: without the values of secret header fields, which may be lists and
//! go on in the lines below.

use super::{HIDDEN, SCHEMES, field_kept, name_of_field_at, without_all};

/// The characters that may stand behind the name of a field; in a wrong line the colon may be missing.
const BEHIND_NAMES: [char; 3] = [':', ' ', '='];

/// Returns a line of a YAML text, which count from 1.
#[must_use]
pub fn line_without_plain(text: &str, number: usize) -> String {
    let mut lines = Lines::default();
    text.lines().take(number).map(|line| lines.shown(line)).nth(number - 1).unwrap_or_default()
}

/// Returns a line of YAML that stands alone.
#[must_use]
pub fn without_plain_in_line(line: &str) -> String {
    Lines::default().shown(line)
}

/// The state behind the lines that were read.
#[derive(Default)]
struct Lines {
    open: Option<Open>,
    /// The column of the key `headers`, while lines are below it.
    headers: Option<usize>,
}

/// A value that may go on in the next line.
enum Open {
    /// One in brackets or in quotes.
    Flow { depth: usize, quote: Option<char> },
    /// One that lasts while lines are deeper than the column of its name. If it is not certain that it is a value, it
    /// may be a mapping with a name such as `auth-service`.
    Block { column: usize, is_certain: bool },
}

impl Lines {
    /// Reads the next line and returns it without the secrets in it.
    fn shown(&mut self, line: &str) -> String {
        without_all(line, |line| self.without_fields(line))
    }

    fn without_fields(&mut self, line: &str) -> String {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let mut result = String::new();
        let mut from = 0;
        match self.open.take() {
            Some(Open::Flow { mut depth, mut quote }) => {
                let end = end_of_flow(line, &mut depth, &mut quote);
                if end.is_none() {
                    self.open = Some(Open::Flow { depth, quote });
                }
                from = end.unwrap_or(line.len()).max(indent);
                result += &line[..indent];
                result += &kept("", &line[indent..from]);
            }
            Some(open @ Open::Block { .. }) if content.is_empty() => self.open = Some(open),
            Some(Open::Block { column, is_certain }) => {
                let is_item = content == "-" || content.starts_with("- ");
                let is_below = column < indent || column == indent && is_item;
                if is_below && (is_certain || !is_mapping(content)) {
                    self.open = Some(Open::Block { column, is_certain: true });
                    let value = content.strip_prefix("- ").unwrap_or(content);
                    return line[..line.len() - value.len()].to_owned() + &kept("", value);
                }
            }
            None => {}
        }
        self.note_headers(line);
        let lower = line.to_ascii_lowercase();
        while let Some(((begin, end), at)) = name_of_field_at(&lower, from, &BEHIND_NAMES) {
            result += &line[from..at];
            let (name, value) = (&line[begin..end], &line[at..]);
            let before = line[..begin].chars().next_back().filter(|c| matches!(c, '"' | '\''));
            let is_certain = self.headers.is_some();
            let column = begin - before.map_or(0, char::len_utf8);
            let may_go_on = line[end..at].contains(':') && !content.starts_with('#');
            // A quote that opens before the name and does not close behind it has the value in it, too.
            let around = before.filter(|quote| !line[end..].starts_with(*quote));
            let length = match value.chars().next() {
                Some(first @ ('[' | '{' | '"' | '\'')) => {
                    let (mut depth, mut quote) = (0, None);
                    let found = end_of_flow(value, &mut depth, &mut quote);
                    if found.is_none() {
                        self.open = Some(Open::Flow { depth, quote });
                    }
                    let length = found.unwrap_or(value.len());
                    if matches!(first, '[' | '{') {
                        let list = &value[..length];
                        result += if is_of_references(name, list) { list } else { HIDDEN };
                    } else {
                        let end = if found.is_some() { length - 1 } else { length };
                        result += &format!(
                            "{first}{}{}",
                            kept(name, &value[1..end]),
                            &value[end..length]
                        );
                    }
                    length
                }
                None | Some('#') => {
                    if may_go_on {
                        self.open = Some(Open::Block { column, is_certain });
                    }
                    0
                }
                Some('|' | '>') if is_header_of_block(value) => {
                    result += value;
                    if may_go_on {
                        self.open = Some(Open::Block { column, is_certain: true });
                    }
                    value.len()
                }
                Some(_) => {
                    let piece = piece_of_flow(value);
                    let in_quotes = around.and_then(|quote| value.find(quote));
                    let length = match in_quotes {
                        Some(length) => length,
                        None if is_of_references(name, piece) => piece.len(),
                        None => value.len(),
                    };
                    result += &kept(name, &value[..length]);
                    if may_go_on {
                        self.open = Some(Open::Block { column, is_certain: true });
                    }
                    length
                }
            };
            from = at + length;
        }
        result + &line[from..]
    }

    /// Notes whether lines are below the key `headers`.
    fn note_headers(&mut self, line: &str) {
        let key = line.trim_start().trim_start_matches("- ");
        let column = line.len() - key.len();
        if key.is_empty() {
            return;
        }
        if self.headers.is_some_and(|above| column <= above) {
            self.headers = None;
        }
        let behind = key.strip_prefix("headers:").map(str::trim_start);
        if behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('#')) {
            self.headers = Some(column);
        }
    }
}

/// Returns a value as it is shown. One of references only says itself what is secret in it.
fn kept(name: &str, value: &str) -> String {
    match () {
        () if is_of_references(name, value) => value.to_owned(),
        () if value.contains("${") => HIDDEN.to_owned(),
        () => field_kept(name, value, &mut |_| HIDDEN.to_owned()),
    }
}

/// Returns true if a value has nothing but references, schemes of credentials, and names of cookies in a field of them.
fn is_of_references(name: &str, value: &str) -> bool {
    let mut others = String::new();
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((_, behind)) = behind.split_once('}') else { break };
        others += before;
        others.push(' ');
        rest = behind;
    }
    others += rest;
    let has_cookies = name.to_ascii_lowercase().ends_with("cookie");
    let is_around = |c: char| c.is_whitespace() || ",;[]{}\"'".contains(c);
    others.split(is_around).all(|word| {
        word.is_empty()
            || word == "-"
            || has_cookies && word.ends_with('=')
            || SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(word))
    })
}

/// Returns the end of a value that begins with a bracket or a quote, or goes on with these open.
fn end_of_flow(text: &str, depth: &mut usize, quote: &mut Option<char>) -> Option<usize> {
    let mut is_escaped = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let behind = &text[at + c.len_utf8()..];
        match *quote {
            Some(_) if is_escaped => is_escaped = false,
            Some('"') if c == '\\' => is_escaped = true,
            Some('\'') if c == '\'' && behind.starts_with('\'') => is_escaped = true,
            Some(open) if c == open => *quote = None,
            Some(_) => {}
            None => match c {
                // Inside of a word it is an apostrophe.
                '"' | '\'' if !before.is_alphanumeric() => *quote = Some(c),
                '[' | '{' => *depth += 1,
                ']' | '}' => *depth = depth.saturating_sub(1),
                _ => {}
            },
        }
        if *depth == 0 && quote.is_none() {
            return Some(text.len() - behind.len());
        }
        before = c;
    }
    None
}

/// Returns the beginning of a text that may be a value without quotes in brackets.
fn piece_of_flow(text: &str) -> &str {
    let mut in_reference = false;
    for (at, c) in text.char_indices() {
        match c {
            '$' if text[at..].starts_with("${") => in_reference = true,
            '}' if in_reference => in_reference = false,
            ',' | '}' | ']' if !in_reference => return &text[..at],
            _ => {}
        }
    }
    text
}

/// Returns true for `|` or `>` with what may follow it before the lines of its text.
fn is_header_of_block(value: &str) -> bool {
    let behind = value[1..].trim_start_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
    behind.trim_start().is_empty() || behind.trim_start().starts_with('#')
}

/// Returns true for a line with a key of its own.
fn is_mapping(content: &str) -> bool {
    let content = content.trim_start_matches("- ");
    let is_of_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let behind = content.trim_start_matches(is_of_name);
    behind.len() < content.len() && (behind.trim_end() == ":" || behind.starts_with(": "))
}
