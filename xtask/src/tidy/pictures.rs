//! The check that the pictures of README, and the same run in the book, are of the programs of today.

use super::Finding;
use super::tree::Tree;
use crate::pictures::{self, Run};

const REMEDY: &str = "run `cargo xtask pictures`";

/// Compares what is in the repository with a run of now.
pub(super) fn check(tree: &Tree, run: &Run) -> Vec<Finding> {
    let differs =
        |path: &str| Finding::new(path, format!("is not what a run gives today: {REMEDY}"));
    let drawn = pictures::drawn(run);
    let mut findings: Vec<Finding> = drawn
        .iter()
        .filter(|(path, text)| tree.file(path).is_none_or(|file| file.text != *text))
        .map(|(path, _)| differs(path))
        .collect();
    if !tree.has(pictures::REPORT) {
        findings.push(Finding::new(pictures::REPORT, format!("is missing: {REMEDY}")));
    }
    let page = tree.file(pictures::PAGE).map_or("", |page| &page.text);
    match pictures::filled(page, run) {
        Ok(filled) if filled == page => {}
        Ok(_) => findings.push(differs(pictures::PAGE)),
        Err(why) => findings.push(Finding::new(pictures::PAGE, why)),
    }
    findings
}
