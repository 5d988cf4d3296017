//! The check that the page of formats names every schema that the program writes.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Tree;

const PAGE: &str = "docs/book/results-format.md";
const PREFIX: &str = "benchwright.";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let page = tree.file(PAGE).map_or("", |page| page.text.as_str());
    // The current version of each, with its place. The page need not name earlier ones.
    let mut schemas: BTreeMap<&str, (u32, &str, usize)> = BTreeMap::new();
    let is_source = |path: &str| {
        path.starts_with("crates/") && path.ends_with(".rs") && !path.contains("tests")
    };
    for file in tree.files().iter().filter(|file| is_source(&file.path)) {
        for (index, line) in file.lines() {
            for (name, version) in line.split('"').filter_map(schema) {
                let known = schemas.entry(name).or_insert((version, &file.path, index));
                if known.0 < version {
                    *known = (version, &file.path, index);
                }
            }
        }
    }
    let missing = schemas.iter().filter_map(|(name, (version, path, index))| {
        let schema = format!("{PREFIX}{name}/{version}");
        let what = format!("`{schema}` is not in {PAGE}: describe its fields there");
        (!page.contains(&schema)).then(|| Finding::at(path, *index, what))
    });
    missing.collect()
}

/// Returns the name and the version of `benchwright.NAME/VERSION`.
fn schema(text: &str) -> Option<(&str, u32)> {
    let (name, version) = text.strip_prefix(PREFIX)?.split_once('/')?;
    Some((name, version.parse().ok()?))
}
