//! The rules by which a secret in a source is known: by its name, as everywhere, or by its looks.

use results::secrets;

/// The least length of a part of a path that nobody typed.
const LEAST_TOKEN: usize = 32;

/// Returns true if a secret can be recognised in a text, whatever its name is: credentials, a JSON Web Token, or a
/// field with the name of one, as in `login(password: "…")`.
pub(crate) fn is_in(text: &str) -> bool {
    secrets::without_plain(text) != text || has_web_token(text) || has_field(text)
}

fn has_web_token(text: &str) -> bool {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
    text.split(ends).any(|word| word.starts_with("eyJ") && word.contains('.'))
}

fn has_field(text: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_around = |c: char| c.is_whitespace() || "\"'\\".contains(c);
    text.match_indices([':', '=', '>']).any(|(at, _)| {
        let before = text[..at].trim_end_matches(is_around);
        let name = &before[before.trim_end_matches(is_of_name).len()..];
        let behind = text[at + 1..].trim_start_matches(is_around);
        secrets::is_secret_field(name) && !behind.is_empty() && !behind.starts_with("${")
    })
}

/// Returns true for a part of a path that is a token, such as the one of a link that was mailed: long, of letters and
/// digits in no order, and not an identifier as databases make them.
pub(crate) fn is_token(part: &str) -> bool {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-_.~=".contains(c);
    let has = |is: fn(char) -> bool| part.contains(is);
    let joints = part.matches(['-', '_', '.']).count();
    let is_identifier = part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    has_web_token(part)
        || LEAST_TOKEN <= part.len()
            && part.chars().all(is_of_token)
            && has(|c| c.is_ascii_digit())
            && has(|c| c.is_ascii_alphabetic())
            && joints <= 2
            && !is_identifier
}
