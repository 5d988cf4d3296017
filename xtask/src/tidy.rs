//! Checks that the compiler does not make: layers, floors, applications, documents, the book, specs, pictures, the
//! lock file of the fuzz targets, and rules for the sources.
//!
//! Each check is a function from the tree of files to findings, so that tests on small trees can
//! show that it fails. No check changes a file, and no finding can be silenced.

mod tree;

mod book;
mod documents;
mod floors;
mod formats;
mod fuzzed;
mod generated;
mod layers;
mod manifest;
mod pictures;
mod rooms;
mod sources;
mod specs;

use std::fmt;
use std::io;

use tree::Tree;

use crate::pictures::run_of;
use crate::programs::Build;
use crate::{proto, repository};

#[cfg(test)]
mod tests;

/// One error, and its remedy.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Finding {
    /// `path` or `path:line`, from the workspace's folder.
    place: String,
    what: String,
}

/// Checks the repository, prints every finding, and returns them as lines.
pub(crate) fn run() -> Vec<String> {
    let tree = Tree::read(&repository::root()).expect("the repository can be read");
    let mut findings = check(&tree);
    match regenerated() {
        Ok(fresh) => findings.extend(generated::check(&tree, &fresh)),
        Err(error) => findings.push(Finding::new("crates/apps/proto", error.to_string())),
    }
    if specs::build() {
        findings.extend(specs::check(&tree, specs::plan));
        match Build::Tests.program("benchwright").and_then(|program| run_of(&program)) {
            Ok(run) => findings.extend(pictures::check(&tree, &run)),
            Err(why) => findings.push(Finding::new("docs/pictures", why)),
        }
    } else {
        findings.push(Finding::new("experiments", "no spec can be planned: the build failed"));
    }
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", tree.files().len(), findings.len());
    findings.iter().map(Finding::to_string).collect()
}

/// Returns the generated code of now, in a tree of its own.
fn regenerated() -> io::Result<Tree> {
    let folder = tempfile::tempdir()?;
    proto::write(folder.path())?;
    Tree::read(folder.path())
}

/// Runs all checks that need only the files.
fn check(tree: &Tree) -> Vec<Finding> {
    let checks = [
        layers::check,
        floors::check,
        rooms::check,
        documents::check,
        book::check,
        formats::check,
        fuzzed::check,
        sources::check,
    ];
    checks.iter().flat_map(|check| check(tree)).collect()
}

impl Finding {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Finding {
        Finding { place: place.into(), what: what.into() }
    }

    /// Returns a finding in a line; `index` counts lines from zero, as iterators do.
    fn at(path: &str, index: usize, what: impl Into<String>) -> Finding {
        Finding::new(format!("{path}:{}", index + 1), what)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}
