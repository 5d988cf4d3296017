//! The files of a results directory that cannot be read any more: every command that reads one names them.

use lab::past::Past;
use results::{regular, shell};

use console::output::{self, Exit};

/// Names the files on standard error.
pub(super) fn tell(past: &Past) {
    lines(&past.name, &past.unread()).iter().for_each(|line| output::error(line));
}

/// Returns the lines that name the files of a directory.
pub(super) fn lines(directory: &str, unread: &[String]) -> Vec<String> {
    let name = regular::one_line(directory);
    let line = |text: &String| format!("! {name}: {text}");
    let mut lines: Vec<String> = unread.iter().map(line).collect();
    if !unread.is_empty() {
        let resume = shell::resume(directory, &[]);
        lines.push(format!(
            "  such a trial does not count; put the file back, or measure it again with `{resume}`"
        ));
    }
    lines
}

/// Returns the exit code of a command whose text says more than yes or no: where evidence is not there any more,
/// nothing that it says can be trusted.
pub(super) fn exit(lacks_evidence: bool) -> Exit {
    if lacks_evidence { Exit::NoAnswer } else { Exit::Answered }
}
