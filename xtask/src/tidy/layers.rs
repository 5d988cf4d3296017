//! The comparison of ARCHITECTURE.md's layer table with the manifests and the crates' attributes.
//!
//! A crate may use fewer of our crates than the table allows. The outside dependencies and the
//! places of unsafe code must be exactly the listed ones, so that the table is never out of date.

use std::collections::BTreeMap;

use super::Finding;
use super::manifest;
use super::tree::{File, Tree};

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "| crate | may use (ours) | outside dependencies | unsafe |";

/// One crate's row of the table.
struct Row {
    /// The line's index, from zero.
    line: usize,
    ours: Vec<String>,
    outside: Vec<String>,
    unsafe_code: Vec<String>,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(document) = tree.file(DOCUMENT) else {
        return vec![Finding::new(DOCUMENT, "is missing")];
    };
    let rows = rows(&document.text);
    if rows.is_empty() {
        return vec![Finding::new(DOCUMENT, format!("has no layer table headed `{HEADING}`"))];
    }
    let crates = crates(tree);
    let mut findings = Vec::new();
    for (name, row) in rows.iter().filter(|(name, _)| !crates.contains_key(name.as_str())) {
        findings.push(Finding::at(DOCUMENT, row.line, format!("there is no crate `{name}`")));
    }
    for (name, manifest) in &crates {
        findings.extend(package(name, manifest));
        match rows.get(*name) {
            Some(row) => {
                findings.extend(dependencies(name, manifest, row, &crates));
                findings.extend(unsafe_code(tree, manifest, row));
            }
            None => findings.push(Finding::new(&manifest.path, "is not in the layer table")),
        }
    }
    findings
}

/// Returns the crates by the names of their folders.
fn crates(tree: &Tree) -> BTreeMap<&str, &File> {
    tree.files()
        .iter()
        .filter_map(|file| {
            let folder = file.path.strip_suffix("/Cargo.toml")?;
            Some((folder.strip_prefix("crates/").unwrap_or(folder), file))
        })
        .collect()
}

fn rows(document: &str) -> BTreeMap<String, Row> {
    let lines = document.lines().enumerate();
    lines
        .skip_while(|(_, line)| !line.starts_with(HEADING))
        .skip(2)
        .take_while(|(_, line)| line.starts_with('|'))
        .filter_map(|(line, text)| {
            let mut cells = text.trim_matches('|').split('|').map(names);
            let name = cells.next()?.into_iter().next()?;
            let (ours, outside, unsafe_code) = (cells.next()?, cells.next()?, cells.next()?);
            Some((name, Row { line, ours, outside, unsafe_code }))
        })
        .collect()
}

/// Returns the names in a cell: two for `` `a`, b ``, none for `–`.
fn names(cell: &str) -> Vec<String> {
    let names = cell.split(',').map(|name| name.trim().trim_matches('`').to_owned());
    names.filter(|name| !name.is_empty() && name != "–").collect()
}

/// Checks that a package has the name of its folder, a license, and the workspace's lints.
fn package(name: &str, manifest: &File) -> Vec<Finding> {
    let wants = [
        ("package", "name", format!("\"{name}\"")),
        ("package", "license", "workspace = true".to_owned()),
        ("lints", "workspace", "true".to_owned()),
    ];
    wants
        .into_iter()
        .filter(|(table, key, want)| manifest::value(&manifest.text, table, key) != Some(want))
        .map(|(table, key, want)| {
            Finding::new(&manifest.path, format!("[{table}] must contain `{key}`: `{want}`"))
        })
        .collect()
}

fn dependencies(
    name: &str,
    manifest: &File,
    row: &Row,
    crates: &BTreeMap<&str, &File>,
) -> Vec<Finding> {
    let used = manifest::dependencies(&manifest.text);
    let (ours, outside): (Vec<&str>, Vec<&str>) =
        used.into_iter().partition(|used| crates.contains_key(used));
    let mut findings = Vec::new();
    for used in ours.iter().filter(|used| !row.ours.iter().any(|allowed| allowed == *used)) {
        let what = format!("{name} may not use `{used}`: {DOCUMENT} allows {}", list(&row.ours));
        findings.push(Finding::new(&manifest.path, what));
    }
    for used in outside.iter().filter(|used| !row.outside.iter().any(|listed| listed == *used)) {
        let what = format!("{name} uses `{used}`, which {DOCUMENT} does not list");
        findings.push(Finding::new(&manifest.path, what));
    }
    for listed in row.outside.iter().filter(|listed| !outside.contains(&listed.as_str())) {
        let what = format!("{name} does not use `{listed}`: take it out of the table");
        findings.push(Finding::at(DOCUMENT, row.line, what));
    }
    findings
}

/// Checks the last column: `forbid` (each root of the crate forbids unsafe code), `deny` (the
/// workspace's lint, which no file lifts), or the files that lift it.
fn unsafe_code(tree: &Tree, manifest: &File, row: &Row) -> Vec<Finding> {
    let folder = manifest.path.trim_end_matches("Cargo.toml");
    let sources: Vec<&File> =
        tree.files().iter().filter(|file| file.path.starts_with(folder)).collect();
    let listed: Vec<&str> = row.unsafe_code.iter().map(String::as_str).collect();
    match listed[..] {
        ["forbid"] => [forbidden(&sources, folder), lifted(&sources, row, &[])].concat(),
        ["deny"] => lifted(&sources, row, &[]),
        _ => lifted(&sources, row, &listed),
    }
}

fn forbidden(sources: &[&File], folder: &str) -> Vec<Finding> {
    let roots = ["lib", "main"].map(|name| format!("{folder}src/{name}.rs"));
    let is_open = |file: &&&File| {
        roots.contains(&file.path) && !file.text.contains("#![forbid(unsafe_code)]")
    };
    let what = "must contain `#![forbid(unsafe_code)]`";
    sources.iter().filter(is_open).map(|root| Finding::new(&root.path, what)).collect()
}

/// Checks that the files which lift the lint are the `listed` ones.
fn lifted(sources: &[&File], row: &Row, listed: &[&str]) -> Vec<Finding> {
    let lifting: Vec<&str> =
        sources.iter().filter(|file| lifts(&file.text)).map(|file| file.path.as_str()).collect();
    let unlisted = lifting.iter().filter(|path| !listed.contains(path)).map(|path| {
        Finding::new(*path, format!("lifts `unsafe_code`, which {DOCUMENT} does not list"))
    });
    let idle = listed.iter().filter(|path| !lifting.contains(path)).map(|path| {
        let what = format!("{path} does not lift `unsafe_code`: take it out of the table");
        Finding::at(DOCUMENT, row.line, what)
    });
    unlisted.chain(idle).collect()
}

/// Returns true if a file lifts the lint, with the attribute in one line or several.
fn lifts(source: &str) -> bool {
    let source: String = source.split_whitespace().collect();
    source.contains(concat!("expect(", "unsafe_code"))
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing of ours".to_owned() } else { names.join(", ") }
}
