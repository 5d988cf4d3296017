//! Names that are told apart.

use std::iter;

/// Returns a name, or if it is taken the first free one with a number; `numbered` returns the name with this number,
/// from 2 on. It must differ for each number.
pub fn free(
    name: String,
    numbered: impl Fn(usize) -> String,
    is_free: impl Fn(&str) -> bool,
) -> String {
    let mut names = iter::once(name).chain((2..).map(numbered));
    names.find(|name| is_free(name)).expect("there are numbers without end")
}
