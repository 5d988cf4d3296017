//! Rules for every file.

use super::Finding;
use super::tree::{File, LARGEST, Tree};

/// The most lines of a source file; a longer file should be split.
const LONGEST: usize = 900;

const TEXTS: [&str; 9] =
    [".rs", ".md", ".toml", ".yaml", ".lua", ".css", ".js", ".ci/run", ".gitignore"];

/// Forbidden words in code, and their replacements. The words are split here, so that this file
/// does not find itself.
const FORBIDDEN: [(&str, &str); 5] = [
    (concat!("todo", "!("), "finish it, or leave it out"),
    (concat!("unimplemented", "!("), "finish it, or leave it out"),
    (concat!("#[", "ignore"), "a test that cannot run here reports it: see CONTRIBUTING.md"),
    (concat!("#[", "allow("), "use #[expect(lint, reason = \"…\")]"),
    (concat!("#![", "allow("), "use #![expect(lint, reason = \"…\")]"),
];

/// The beginnings of paths that exist on one machine only.
const MACHINES: [&str; 4] =
    [concat!("/", "home/"), concat!("/", "root/"), concat!("/", "work/"), concat!("/", "Users/")];

/// Wordings of a refusal that are replaced by `is not a` or `is not a valid`; split as above.
const REFUSALS: [&str; 2] = [concat!("` is", " no "), concat!("} is", " no ")];

/// Question words that a doc comment must not begin with.
const QUESTION_WORDS: [&str; 2] = ["Who ", "What "];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let root = tree.file("Cargo.toml");
    let license =
        root.and_then(|root| super::manifest::value(&root.text, "workspace.package", "license"));
    let mut findings: Vec<Finding> = tree.files().iter().flat_map(file).collect();
    if license != Some("\"Apache-2.0\"") {
        findings.push(Finding::new("Cargo.toml", "[workspace.package] must contain the license"));
    }
    if !tree.has("LICENSE") {
        findings.push(Finding::new("LICENSE", "is missing"));
    }
    findings
}

fn file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.bytes > LARGEST {
        findings.push(Finding::new(&file.path, format!("has {} bytes, over 1 MiB", file.bytes)));
    }
    if file.path.ends_with(".rs") {
        findings.extend(code(file));
        findings.extend(doc_comments(file));
    }
    if [".rs", ".md"].iter().any(|end| file.path.ends_with(end)) && !is_history(&file.path) {
        findings.extend(refusals(file));
    }
    if TEXTS.iter().any(|end| file.path.ends_with(end)) {
        findings.extend(text(file));
    }
    findings
}

fn code(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = file.lines().count();
    if lines > LONGEST {
        let what = format!("has {lines} lines, over {LONGEST}: is it one thing?");
        findings.push(Finding::new(&file.path, what));
    }
    for (index, line) in file.lines() {
        for (word, instead) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
            findings.push(Finding::at(&file.path, index, format!("`{word}`: {instead}")));
        }
    }
    findings
}

fn text(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.lines() {
        // rustfmt checks Rust; its strings, such as golden texts, may end lines in spaces.
        if line.ends_with([' ', '\t']) && !file.path.ends_with(".rs") {
            findings.push(Finding::at(&file.path, index, "space at the end of the line"));
        }
        if let Some(path) = MACHINES.iter().find(|path| names_machine(line, path)) {
            findings.push(Finding::at(&file.path, index, format!("`{path}…` is one machine's")));
        }
    }
    findings
}

/// Notes and the change log, which are not rewritten.
fn is_history(path: &str) -> bool {
    path == "CHANGELOG.md" || path.starts_with("docs/notes/")
}

fn refusals(file: &File) -> Vec<Finding> {
    let is_refusal = |line: &str| REFUSALS.iter().any(|words| line.contains(words));
    let lines = file.lines().filter(|(_, line)| is_refusal(line));
    let what = "a refusal with `is no`: write `is not a` or `is not a valid`";
    lines.map(|(index, _)| Finding::at(&file.path, index, what)).collect()
}

/// Checks the first line of each doc comment.
fn doc_comments(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut kind_before = None;
    for (index, line) in file.lines() {
        let doc = doc_comment(line);
        let kind = doc.map(|(kind, _)| kind);
        if let Some((_, text)) = doc
            && kind != kind_before
            && let Some(word) = QUESTION_WORDS.iter().find(|word| text.starts_with(**word))
        {
            let word = word.trim_end();
            let what = format!("a doc comment with `{word}`: begin with what the item is or does");
            findings.push(Finding::at(&file.path, index, what));
        }
        kind_before = kind;
    }
    findings
}

/// Returns the kind and the text of a line of a doc comment.
fn doc_comment(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    ["///", "//!"].into_iter().find_map(|kind| Some((kind, line.strip_prefix(kind)?.trim_start())))
}

/// Returns true if an absolute path begins here; false for `shared/work/` and `https://host/home/`.
fn names_machine(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/}>)".contains(c))
    })
}
