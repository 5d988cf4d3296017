//! Command lines and URLs as documents and pages show them.

use super::{HIDDEN, field_kept, is_secret_field, without_plain};

/// The options whose value is a body.
const BODIES: [&str; 1] = ["--body"];
/// The options whose value is a header field.
const HEADERS: [&str; 2] = ["--header", "-H"];
/// The short options without a value that may stand before `H`: `-kH`.
const FLAGS: &str = "kLU";

/// Returns the words of a command line for a document: without bodies, and without secrets that are written plainly.
pub fn words(words: &[String]) -> Vec<String> {
    let mut result = Vec::new();
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        // The arguments of a script follow.
        if word == "--" {
            result.push(word.to_owned());
            result.extend(rest.by_ref().map(other));
            break;
        }
        let (option, joined) = parts(word);
        let shown: fn(&str) -> String = match () {
            () if BODIES.contains(&option) => body,
            () if HEADERS.contains(&option) => header,
            () => {
                result.push(other(word));
                continue;
            }
        };
        match joined {
            Some((before, value)) => result.push(format!("{before}{}", shown(value))),
            None => {
                result.push(word.to_owned());
                result.extend(rest.next().map(shown));
            }
        }
    }
    result
}

/// Returns the option of a word, and what stands before its value and the value if they are in this word.
fn parts(word: &str) -> (&str, Option<(&str, &str)>) {
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((option, value)) => (option, Some((&word[..=option.len()], value))),
            None => (word, None),
        };
    }
    let at = word.find('H').filter(|_| word.starts_with('-'));
    match at.filter(|at| word[1..*at].chars().all(|c| FLAGS.contains(c))) {
        Some(at) if at + 1 == word.len() => ("-H", None),
        Some(at) => ("-H", Some(word.split_at(at + 1))),
        None => (word, None),
    }
}

fn body(value: &str) -> String {
    format!("({} bytes)", value.len())
}

fn header(field: &str) -> String {
    match field.split_once(':') {
        Some((name, value)) if is_secret_field(name.trim()) => {
            let value = field_kept(name.trim(), value.trim(), &mut |_| HIDDEN.to_owned());
            format!("{name}: {value}")
        }
        _ => without_plain(field),
    }
}

/// Returns another word: a property of a store may be a password, too.
fn other(word: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = |name: &str| !name.starts_with('-') && name.chars().all(is_of_name);
    match word.split_once('=') {
        Some((name, value))
            if is_name(name)
                && is_secret_field(name)
                && !value.contains("${")
                && !value.is_empty() =>
        {
            format!("{name}={HIDDEN}")
        }
        _ => url_shown(word),
    }
}

/// Returns a URL as it is shown: without secrets, and without its fragment, which is never sent. Other texts keep
/// their `#`.
#[must_use]
pub fn url_shown(url: &str) -> String {
    let shown = without_plain(url);
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let is_scheme = |scheme: &str| !scheme.is_empty() && scheme.chars().all(is_of_scheme);
    match shown.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
        Some(_) => shown.split('#').next().unwrap_or_default().to_owned(),
        None => shown,
    }
}
