//! Command lines with places, such as `--rate {rate}`, which are filled in when a program is started.

use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

pub(super) type Places = BTreeMap<String, String>;

/// Splits a text into words, and replaces the place in each; what replaces it may contain spaces. An
/// option whose place is not there is left out.
pub(super) fn filled(text: &str, places: &Places) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let fill = |word: String, (name, text): (&String, &String)| {
            word.replace(&format!("{{{name}}}"), text)
        };
        let filled = places.iter().fold(word.to_owned(), fill);
        if word.contains('{') && filled == word {
            words.pop();
        } else {
            words.push(filled);
        }
    }
    words
}
