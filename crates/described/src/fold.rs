//! Paths that differ only by identifiers, as one.

use std::collections::BTreeSet;

use crate::secret::is_token;

/// The most different numbers that are kept for one place of a path.
const MOST_KEPT: usize = 1_024;
/// Numbers of which at least one in so many was seen are replaced by any number between them.
const SPARSEST: u64 = 4;
/// The least length of a text of hexadecimal digits that is an identifier.
const LEAST_HEX: usize = 16;
/// The most digits of a number that is kept as one.
const MOST_DIGITS: usize = 15;

/// A part of a path between two slashes.
enum Part<'a> {
    Word(&'a str),
    Number(u64),
    /// A UUID, a token, or the like.
    Identifier,
}

fn part(text: &str) -> Part<'_> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let begins_with_zero = text.starts_with('0') && 1 < text.len();
    if is_digits && text.len() <= MOST_DIGITS && !begins_with_zero {
        return Part::Number(text.parse().expect("so few digits fit"));
    }
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_long = is_hex && LEAST_HEX <= digits || is_digits && MOST_DIGITS < text.len();
    match is_long || is_token(text) {
        true => Part::Identifier,
        false => Part::Word(text),
    }
}

/// Returns a path with `*` in place of its identifiers, and the numbers among these in their order.
pub(crate) fn fold(path: &str) -> (String, Vec<u64>) {
    let mut numbers = Vec::new();
    let parts = path.split('/').map(|text| match part(text) {
        Part::Word(word) => word,
        Part::Number(number) => {
            numbers.push(number);
            "*"
        }
        Part::Identifier => "*",
    });
    let folded = parts.collect::<Vec<&str>>().join("/");
    (folded, numbers)
}

/// The numbers that were seen in one place of a path.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    seen: BTreeSet<u64>,
    low: u64,
    high: u64,
}

impl Numbers {
    pub(crate) fn add(&mut self, number: u64) {
        if self.seen.is_empty() {
            (self.low, self.high) = (number, number);
        }
        (self.low, self.high) = (self.low.min(number), self.high.max(number));
        if self.seen.len() < MOST_KEPT {
            self.seen.insert(number);
        }
    }

    /// Returns the lowest and the highest number, if most of those between them seem to exist.
    fn range(&self) -> Option<(u64, u64)> {
        let count = self.high - self.low + 1;
        (1 < self.seen.len() && count <= SPARSEST * self.seen.len() as u64)
            .then_some((self.low, self.high))
    }
}

/// Returns the path of one request with a placeholder where the numbers of all of them allow it, and the reason of each
/// choice.
pub(crate) fn unfold(example: &str, numbers: &[Numbers]) -> (String, Vec<String>) {
    let mut guesses = Vec::new();
    let mut place = numbers.iter();
    let mut has_fixed = false;
    let parts = example.split('/').map(|text| match part(text) {
        Part::Word(word) => word.to_owned(),
        Part::Identifier => {
            has_fixed = true;
            text.to_owned()
        }
        Part::Number(_) => match place.next().map(|numbers| (numbers, numbers.range())) {
            Some((numbers, Some((low, high)))) => {
                guesses.push(format!(
                    "{{{{int {low} {high}}}}}: {} of the numbers from {low} to {high} were seen, and the others may \
                     not exist",
                    numbers.seen.len()
                ));
                format!("{{{{int {low} {high}}}}}")
            }
            Some((numbers, None)) => {
                has_fixed |= 1 < numbers.seen.len();
                text.to_owned()
            }
            None => text.to_owned(),
        },
    });
    let path = parts.collect::<Vec<String>>().join("/");
    if has_fixed {
        guesses.push("one identifier that was seen stands for all".to_owned());
    }
    (path, guesses)
}
