//! The rules by which a secret in a source is known: by its name, as everywhere, or by its looks.

use results::secrets::has_web_token;

pub(crate) use results::secrets::is_in;

/// The least length of a part of a path that nobody typed.
const LEAST_TOKEN: usize = 32;

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
