//! Texts of a source in comments and labels: each stays in its line, and shows no secret.

use results::secrets;

/// The most characters of a foreign text in a comment or a label.
const MOST: usize = 160;

/// Returns a text for a comment: one line, without characters that would end it or that a terminal obeys, and without
/// the secrets that can be recognised.
pub fn one_line(text: &str) -> String {
    let is_kept = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
            && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|&c| is_kept(c)));
        if MOST <= line.chars().count() {
            break;
        }
    }
    // The text may be cut in the middle of a secret, which is then not known as one: before the cut.
    shortened(&secrets::without_plain(&line))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Returns `1 request`, `2 requests`: a number with the right form of what it counts.
pub(crate) fn several(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", measure::quantity::counted(count), if count == 1 { one } else { many })
}
