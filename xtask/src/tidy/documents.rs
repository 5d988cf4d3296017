//! The check that every file and every relative link in a document exists.

use super::Finding;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let documents = tree.files().iter().filter(|file| file.path.ends_with(".md"));
    documents.flat_map(|document| in_document(tree, document)).collect()
}

fn in_document(tree: &Tree, document: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in document.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let mut find = |what| findings.push(Finding::at(&document.path, index, what));
        for path in code(line, fenced).into_iter().filter(|path| !exists(tree, document, path)) {
            find(format!("there is no `{path}`"));
        }
        for link in links(line, fenced).into_iter().filter(|link| !leads(tree, document, link)) {
            find(format!("the link `{link}` leads nowhere"));
        }
    }
    findings
}

/// Returns the words in code that look like paths of files; in a fence the whole line is code.
fn code(line: &str, fenced: bool) -> Vec<&str> {
    let spans: Vec<&str> =
        if fenced { vec![line] } else { line.split('`').skip(1).step_by(2).collect() };
    spans.iter().flat_map(|span| span.split_whitespace()).filter(|word| is_path(word)).collect()
}

/// Returns true for paths such as `crates/load/src/shard.rs`; false for `text/html`,
/// `http://a/b.html`, `trials/<number>/load.json` and `/etc/hosts.txt`.
fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let Some((folder, name)) = word.rsplit_once('/') else { return false };
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_extension = extension.len() <= 5 && extension.starts_with(|c: char| c.is_alphabetic());
    word.chars().all(plain) && !folder.is_empty() && !word.starts_with('/') && is_extension
}

/// Returns true if a path in code exists, relative to the document's folder or the workspace's.
fn exists(tree: &Tree, document: &File, path: &str) -> bool {
    let beside = resolve(document, path);
    tree.has(path) || beside.is_some_and(|path| tree.has(&path)) || tree.ignores(path)
}

/// Returns the targets of `[text](target)`.
fn links(line: &str, fenced: bool) -> Vec<&str> {
    let ends = |rest: &&str| rest.contains(')');
    let targets = line.split("](").skip(1).filter(ends);
    if fenced { Vec::new() } else { targets.filter_map(|rest| rest.split(')').next()).collect() }
}

/// Returns true if a link leads to an existing file and heading; network addresses are not checked.
fn leads(tree: &Tree, document: &File, link: &str) -> bool {
    if link.contains("://") || link.starts_with("mailto:") {
        return true;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let Some(path) =
        (if path.is_empty() { Some(document.path.clone()) } else { resolve(document, path) })
    else {
        return false;
    };
    match tree.file(&path) {
        Some(file) => heading.is_empty() || headings(file).any(|name| name == heading),
        None => heading.is_empty() && tree.has(&path),
    }
}

/// Returns the link names of a document's headings.
fn headings(document: &File) -> impl Iterator<Item = String> {
    let headings = document.lines().filter_map(|(_, line)| line.strip_prefix('#'));
    headings.map(|line| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Turns `path`, relative to the folder of `document`, into one relative to the workspace's folder;
/// `None` if it leads outside.
fn resolve(document: &File, path: &str) -> Option<String> {
    let mut names: Vec<&str> = document.path.split('/').collect();
    names.pop();
    for name in path.split('/') {
        match name {
            "." | "" => {}
            ".." => {
                names.pop()?;
            }
            _ => names.push(name),
        }
    }
    Some(names.join("/"))
}
