//! Small promises that every file keeps.

use super::Finding;
use super::tree::{File, LARGEST, Tree};

/// A longer file is more than one thing.
const LONGEST: usize = 900;

const TEXTS: [&str; 9] =
    [".rs", ".md", ".toml", ".yaml", ".lua", ".css", ".js", ".ci/run", ".gitignore"];

/// What is not written in code, and what is written instead. The words are taken apart here, so
/// that this file does not find itself.
const FORBIDDEN: [(&str, &str); 5] = [
    (concat!("todo", "!("), "finish it, or leave it out"),
    (concat!("unimplemented", "!("), "finish it, or leave it out"),
    (concat!("#[", "ignore"), "a test that cannot run here says so: see CONTRIBUTING.md"),
    (concat!("#[", "allow("), "use #[expect(lint, reason = \"…\")]"),
    (concat!("#![", "allow("), "use #![expect(lint, reason = \"…\")]"),
];

/// Beginnings of paths that exist on one machine only.
const MACHINES: [&str; 4] =
    [concat!("/", "home/"), concat!("/", "root/"), concat!("/", "work/"), concat!("/", "Users/")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let root = tree.file("Cargo.toml");
    let license =
        root.and_then(|root| super::manifest::value(&root.text, "workspace.package", "license"));
    let mut findings: Vec<Finding> = tree.files().iter().flat_map(file).collect();
    if license != Some("\"Apache-2.0\"") {
        findings.push(Finding::new("Cargo.toml", "[workspace.package] has to say the license"));
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
        // rustfmt sees to Rust; in a string of it, such as a golden text, a space may be meant.
        if line.ends_with([' ', '\t']) && !file.path.ends_with(".rs") {
            findings.push(Finding::at(&file.path, index, "space at the end of the line"));
        }
        if let Some(path) = MACHINES.iter().find(|path| names_machine(line, path)) {
            findings.push(Finding::at(&file.path, index, format!("`{path}…` is one machine's")));
        }
    }
    findings
}

/// Whether an absolute path begins here; `shared/work/` and `https://host/home/` are none.
fn names_machine(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/}>)".contains(c))
    })
}
