//! Command lines as a POSIX shell reads them, so that a printed one can be copied.

/// Returns one word, quoted where the shell would read something else.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns the words of a command as one line.
pub fn line<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|one| word(one.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Returns the command with which the run in a directory goes on.
pub fn resume(directory: &str, further: &[String]) -> String {
    let command = ["benchwright", "resume", directory].into_iter();
    line(&command.chain(further.iter().map(String::as_str)).collect::<Vec<&str>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(word("results/a-1"), "results/a-1");
        assert_eq!(line(&["a b", "it's $HOME", "", "x"]), r"'a b' 'it'\''s $HOME' '' x");
        let set = ["--set".to_owned(), "budget.trials=8".to_owned()];
        assert_eq!(resume("my run", &set), "benchwright resume 'my run' --set budget.trials=8");
    }
}
