//! The messages of a process to people, on standard error. They may quote what a service answered or what an argument was
//! named; a terminal obeys control characters, so none is printed as such.

use std::borrow::Cow;
use std::io::Write;

#[cfg(test)]
mod tests;

/// Writes a message. If it cannot be written, the work goes on.
pub fn note(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(message));
}

/// Returns a text with control characters written out, as `\u001b`, and with them those that change the direction of a
/// text.
fn harmless(text: &str) -> Cow<'_, str> {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_kept = |c: char| !(c.is_control() || turns(c)) || matches!(c, '\n' | '\t');
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let shown = |c| match is_kept(c) {
        true => c.to_string(),
        false => format!("\\u{:04x}", u32::from(c)),
    };
    Cow::Owned(text.chars().map(shown).collect())
}
