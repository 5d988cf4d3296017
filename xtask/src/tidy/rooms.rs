//! The check that the applications stay apart: the kit in `crates/apps/src` uses none of them, and
//! an application uses only itself and the kit.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::{File, Tree};

const ROOMS: &str = "crates/apps/src/";
const KIT: &str = "kit";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rooms: BTreeSet<&str> = tree.files().iter().filter_map(room).collect();
    tree.files().iter().flat_map(|file| in_file(file, &rooms)).collect()
}

/// Returns the name of the folder that is an application or the kit.
fn room(file: &File) -> Option<&str> {
    file.path.strip_prefix(ROOMS)?.split_once('/').map(|(room, _)| room)
}

fn in_file(file: &File, rooms: &BTreeSet<&str>) -> Vec<Finding> {
    let Some(room) = room(file) else { return Vec::new() };
    let mut findings = Vec::new();
    for other in rooms.iter().filter(|other| **other != room && **other != KIT) {
        for (index, _) in file.lines().filter(|(_, line)| uses(line, other)) {
            let what = format!("{room} may not use `{other}`: applications share only the {KIT}");
            findings.push(Finding::at(&file.path, index, what));
        }
    }
    findings
}

/// Returns true if a line has the path `crate::NAME`.
fn uses(line: &str, name: &str) -> bool {
    line.match_indices("crate::").any(|(at, path)| {
        let rest = line[at + path.len()..].strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}
