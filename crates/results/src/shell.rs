//! Command lines as a POSIX shell reads them, so that a printed one can be copied.

/// Returns one word, quoted where the shell would read something else.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns a text as it is written between `$'` and `'`.
fn escaped(word: &str) -> String {
    let mut text = String::new();
    for c in word.chars() {
        match c {
            '\\' | '\'' => text.extend(['\\', c]),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    text += &format!("\\{byte:03o}");
                }
            }
            c => text.push(c),
        }
    }
    text
}

/// Returns the words of a command as one line. A word with an end of a line would make lines of its own, which look
/// like ours.
pub fn line<S: AsRef<str>>(words: &[S]) -> String {
    let shown = |one: &str| match one.contains(char::is_control) {
        true => format!("$'{}'", escaped(one)),
        false => word(one),
    };
    words.iter().map(|one| shown(one.as_ref())).collect::<Vec<_>>().join(" ")
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
        assert_eq!(line(&["it's\n\u{9b}m\\"]), r"$'it\'s\012\302\233m\\'");
        let set = ["--set".to_owned(), "budget.trials=8".to_owned()];
        assert_eq!(resume("my run", &set), "benchwright resume 'my run' --set budget.trials=8");
    }
}
