//! The check that a crate's modules stand on each other as floors: no module uses, through others, one that uses it.
//! Tests may use what is above them.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::{File, Tree};

/// The crates without a circle.
const CRATES: [&str; 10] =
    ["command", "console", "generator", "k8s", "lab", "load", "local", "net", "report", "script"];

/// The modules that each module uses, with the place of one use.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (&'a str, usize)>>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    CRATES.iter().flat_map(|name| of_crate(tree, name)).collect()
}

fn of_crate(tree: &Tree, name: &str) -> Vec<Finding> {
    let folder = format!("crates/{name}/src/");
    let files: Vec<(&str, &File)> =
        tree.files().iter().filter_map(|file| Some((module(file, &folder)?, file))).collect();
    let modules: BTreeSet<&str> = files.iter().map(|(module, _)| *module).collect();
    let mut uses = Uses::new();
    for (module, file) in &files {
        let of_module = uses.entry(module).or_default();
        for (used, line) in used(&file.text) {
            if let Some(used) = modules.get(used).filter(|used| used != &module) {
                of_module.entry(used).or_insert((&file.path, line));
            }
        }
    }
    let above = |module: &&str, used: &str| reached(&uses, used).contains(module);
    let each = uses.iter().flat_map(|(module, of_module)| {
        let upward = of_module.iter().filter(move |(used, _)| above(module, used));
        upward.map(move |(used, (path, line))| {
            let what = format!(
                "`{module}` uses `{used}`, which uses `{module}`, directly or through others: move what both need \
                 below them"
            );
            Finding::at(path, *line, what)
        })
    });
    each.collect()
}

/// Returns the name of the top module of a source, unless it is one of tests.
fn module<'a>(file: &'a File, folder: &str) -> Option<&'a str> {
    let path = file.path.strip_prefix(folder)?.strip_suffix(".rs")?;
    let is_of_tests = |part: &str| part == "tests" || part == "for_tests" || part == "contract";
    let module = path.split('/').next()?;
    (module != "lib" && !path.split('/').any(is_of_tests)).then_some(module)
}

/// Returns the modules that a module uses, itself or through others.
fn reached<'a>(uses: &Uses<'a>, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let further = uses.get(module).into_iter().flat_map(BTreeMap::keys);
        open.extend(further.copied().filter(|further| reached.insert(further)));
    }
    reached
}

/// Returns the names behind `crate::` with the indices of their lines: one, or several in braces.
fn used(text: &str) -> Vec<(&str, usize)> {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let mut found = Vec::new();
    for (at, path) in text.match_indices("crate::") {
        let line = text[..at].matches('\n').count();
        let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        if is_comment(&text[begin..at]) {
            continue;
        }
        let rest = &text[at + path.len()..];
        match rest.strip_prefix('{') {
            None => found.push((first_name(rest), line)),
            Some(list) => found.extend(listed(list).into_iter().map(|name| (name, line))),
        }
    }
    found
}

fn first_name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns the first name of each path of a list, up to its closing brace.
fn listed(list: &str) -> Vec<&str> {
    let (mut depth, mut begins) = (0_u32, vec![0]);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins.push(at + 1),
            _ => {}
        }
    }
    begins.into_iter().map(|begin| first_name(list[begin..].trim_start())).collect()
}
