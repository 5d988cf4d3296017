//! The comparison of the lock file of the fuzz targets, a workspace of their own, with the manifests of our crates.
//!
//! Nobody builds the targets after each change, and `--locked` refuses a lock file that lacks a dependency.

use std::collections::BTreeSet;

use super::Finding;
use super::manifest;
use super::tree::Tree;

const LOCK: &str = "fuzz/Cargo.lock";
const REMEDY: &str = "run `cargo metadata --manifest-path fuzz/Cargo.toml`";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(lock) = tree.file(LOCK) else { return Vec::new() };
    lock.text.split("[[package]]").skip(1).filter_map(|package| differing(tree, package)).collect()
}

/// Compares the dependencies of one of our crates; a package from a registry is none.
fn differing(tree: &Tree, package: &str) -> Option<Finding> {
    let name = manifest::value(package, "", "name")?.trim_matches('"');
    let manifest = tree.file(&format!("crates/{name}/Cargo.toml"))?;
    let is_ours = manifest::value(package, "", "source").is_none();
    let wanted: BTreeSet<&str> = manifest::dependencies(&manifest.text).into_iter().collect();
    let locked: BTreeSet<&str> = package.lines().filter_map(dependency).collect();
    let other: Vec<&str> = wanted.symmetric_difference(&locked).copied().collect();
    let what = || format!("`{name}` differs in {} from its manifest: {REMEDY}", other.join(", "));
    (is_ours && !other.is_empty()).then(|| Finding::new(LOCK, what()))
}

/// Returns the name in a line such as `"hmac 0.13.0",`.
fn dependency(line: &str) -> Option<&str> {
    let quoted = line.strip_prefix(" \"")?.strip_suffix("\",")?;
    quoted.split(' ').next()
}
