//! The check that a crate's modules stand on each other as floors: no module uses, through others, one that uses it.
//! A use is a path that begins at the crate's root, also one to a name that `lib.rs` takes from a module; so `lib.rs`
//! defines nothing of its own, which would be on no floor. Tests may use what is above them.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::{File, Tree};

/// The modules that each module uses, with the place of one use.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (&'a str, usize)>>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let of_source = |file: &File| {
        let (name, source) = file.path.strip_prefix("crates/")?.split_once('/')?;
        source.starts_with("src/").then(|| name.to_owned())
    };
    let crates: BTreeSet<String> = tree.files().iter().filter_map(of_source).collect();
    crates.iter().flat_map(|name| of_crate(tree, name)).collect()
}

fn of_crate(tree: &Tree, name: &str) -> Vec<Finding> {
    let folder = format!("crates/{name}/src/");
    let files: Vec<(&str, usize, &File)> = tree
        .files()
        .iter()
        .filter_map(|file| {
            let (module, depth) = module(file, &folder)?;
            Some((module, depth, file))
        })
        .collect();
    let modules: BTreeSet<&str> = files.iter().map(|(module, ..)| *module).collect();
    let root = tree.file(&format!("{folder}lib.rs"));
    let taken = root.map(|root| taken(&root.text)).unwrap_or_default();
    let of_name =
        |name: &str| modules.get(name).or_else(|| modules.get(*taken.get(name)?)).copied();
    let mut uses = Uses::new();
    for (module, depth, file) in &files {
        let of_module = uses.entry(module).or_default();
        for (used, line) in used(&file.text, *depth) {
            if let Some(used) = of_name(used).filter(|used| used != module) {
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
    let hidden = of_name("*").map(|module| {
        let what = format!("takes all of `{module}`: list the names, so that their uses are seen");
        Finding::new(format!("{folder}lib.rs"), what)
    });
    let defined = root.into_iter().flat_map(|root| {
        let lines = root.lines().filter(|(_, line)| defines(line));
        lines.map(|(index, _)| {
            let what = "defines an item: `lib.rs` only declares modules and takes names from them; move it to a module";
            Finding::at(&root.path, index, what)
        })
    });
    each.chain(hidden).chain(defined).collect()
}

/// Returns true if a line of a crate's root begins an item that is neither a module in a file of its own nor a use.
fn defines(line: &str) -> bool {
    let visible = line.strip_prefix("pub").unwrap_or(line);
    let item = match visible.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map_or(rest, |(_, item)| item),
        None => visible,
    };
    let is_item = line.starts_with(char::is_alphabetic);
    let is_module = first_name(item.trim_start()) == "mod" && line.ends_with(';');
    is_item && !is_module && first_name(item.trim_start()) != "use"
}

/// Returns the name of the top module of a source and its own depth in the tree of modules, unless it is one of
/// tests.
fn module<'a>(file: &'a File, folder: &str) -> Option<(&'a str, usize)> {
    let path = file.path.strip_prefix(folder)?.strip_suffix(".rs")?;
    let parts: Vec<&str> = path.strip_suffix("/mod").unwrap_or(path).split('/').collect();
    let is_of_tests = |part: &&str| ["tests", "for_tests", "contract"].contains(part);
    let is_root = ["lib", "main"].contains(&parts[0]);
    (!is_root && !parts.iter().any(is_of_tests)).then_some((parts[0], parts.len()))
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

/// Returns the names of the crate's root that a module at this depth uses, with the indices of their lines: behind
/// `crate::` and behind as many `super::` as lead there, one name or several in braces.
fn used(text: &str, depth: usize) -> Vec<(&str, usize)> {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let supers = "super::".repeat(depth);
    let mut found = Vec::new();
    for (at, path) in text.match_indices("crate::").chain(text.match_indices(&supers)) {
        let line = text[..at].matches('\n').count();
        let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        if is_comment(&text[begin..at]) {
            continue;
        }
        // A module that is written inside of another one is deeper than its file.
        let rest = text[at + path.len()..].trim_start_matches("super::");
        match rest.strip_prefix('{') {
            None => found.push((first_name(rest), line)),
            Some(list) => {
                found.extend(listed(list).into_iter().map(|path| (first_name(path), line)))
            }
        }
    }
    found
}

/// Returns the names that the root of a crate takes from elsewhere, each with the first name of its path.
fn taken(root: &str) -> BTreeMap<&str, &str> {
    let mut taken = BTreeMap::new();
    for (at, begin) in root.match_indices("use ") {
        let before = root[..at].rsplit('\n').next().unwrap_or_default();
        if before.is_empty() || before.starts_with("pub") {
            let path = root[at + begin.len()..].split(';').next().unwrap_or_default();
            let path = path.trim_start_matches("crate::").trim_start_matches("self::");
            take(path, first_name(path), &mut taken);
        }
    }
    taken
}

/// Adds the names of a path, which begins in `module`.
fn take<'a>(path: &'a str, module: &'a str, taken: &mut BTreeMap<&'a str, &'a str>) {
    match path.split_once('{') {
        Some(("", list)) => {
            listed(list).into_iter().for_each(|path| take(path, first_name(path), taken))
        }
        Some((_, list)) => listed(list).into_iter().for_each(|path| take(path, module, taken)),
        None => {
            let name = path.rsplit([':', ' ']).next().unwrap_or_default();
            taken.insert(name, module);
        }
    }
}

fn first_name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns the paths of a list, up to its closing brace.
fn listed(list: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut paths) = (0_u32, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if 0 < depth => depth -= 1,
            ',' | '}' if depth == 0 => {
                paths.push(list[begin..at].trim());
                begin = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    paths
}
