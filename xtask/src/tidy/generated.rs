//! The check that the generated code in the repository is what its sources give.

use super::Finding;
use super::tree::Tree;
use crate::proto::GENERATED;

const REMEDY: &str = "run `cargo xtask proto`";

/// Compares the generated code in the repository with that in `fresh`, a tree of `GENERATED` alone.
pub(super) fn check(tree: &Tree, fresh: &Tree) -> Vec<Finding> {
    let committed = |path: &str| tree.file(&format!("{GENERATED}/{path}"));
    let stale = fresh.files().iter().filter_map(|file| {
        let is_same = committed(&file.path).is_some_and(|committed| committed.text == file.text);
        let place = format!("{GENERATED}/{}", file.path);
        (!is_same).then(|| Finding::new(place, format!("differs from its source: {REMEDY}")))
    });
    let left = tree.files().iter().filter_map(|file| {
        let path = file.path.strip_prefix(GENERATED)?.strip_prefix('/')?;
        let finding = || Finding::new(&*file.path, format!("has no source: {REMEDY}"));
        fresh.file(path).is_none().then(finding)
    });
    stale.chain(left).collect()
}
