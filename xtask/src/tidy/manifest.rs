//! A reader of `Cargo.toml` for the checks: only tables and their keys, not all of TOML.

/// A key of a table, with its value in the same line.
struct Entry<'a> {
    table: &'a str,
    key: &'a str,
    value: &'a str,
}

/// Returns the names in `[dependencies]`, `[build-dependencies]` and those of single targets,
/// without dependencies of tests only.
pub(super) fn dependencies(manifest: &str) -> Vec<&str> {
    let mut names: Vec<&str> = entries(manifest).filter_map(|entry| dependency(&entry)).collect();
    names.extend(manifest.lines().filter_map(table).filter_map(dependency_table));
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the value of `key` in `[table]`, as written. `key.workspace = true` has the value
/// `workspace = true`.
pub(super) fn value<'a>(manifest: &'a str, table: &str, key: &str) -> Option<&'a str> {
    entries(manifest)
        .find(|entry| entry.table == table && entry.key == key)
        .map(|entry| entry.value)
}

fn dependency<'a>(entry: &Entry<'a>) -> Option<&'a str> {
    is_of_dependencies(entry.table).then_some(entry.key)
}

/// Returns the dependency in a heading such as `[dependencies.serde]`.
fn dependency_table(table: &str) -> Option<&str> {
    let (kind, name) = table.rsplit_once('.')?;
    is_of_dependencies(kind).then(|| unquoted(name))
}

fn is_of_dependencies(table: &str) -> bool {
    let kind = match table.strip_prefix("target.") {
        Some(rest) => rest.rsplit_once('.').map_or(rest, |(_, kind)| kind),
        None => table,
    };
    matches!(kind, "dependencies" | "build-dependencies")
}

/// Returns all keys at the beginning of a line; skips the inner lines of arrays and inline tables.
fn entries(manifest: &str) -> impl Iterator<Item = Entry<'_>> {
    let mut current = "";
    let mut open = 0;
    manifest.lines().filter_map(move |line| {
        if open == 0
            && let Some(name) = table(line)
        {
            current = name;
            return None;
        }
        let inside = open > 0;
        open += brackets(line);
        if inside { None } else { entry(current, line) }
    })
}

fn table(line: &str) -> Option<&str> {
    line.trim().strip_prefix('[')?.trim_start_matches('[').split(']').next().map(str::trim)
}

fn entry<'a>(table: &'a str, line: &'a str) -> Option<Entry<'a>> {
    let line = line.trim();
    let end = line.find(['=', '.', ' '])?;
    let key = unquoted(&line[..end]);
    let value = line[end..].trim_start_matches(['=', '.', ' ']);
    (!line.starts_with('#')).then_some(Entry { table, key, value })
}

/// Counts how many more brackets a line opens than it closes.
fn brackets(line: &str) -> i32 {
    let code = line.split('#').next().unwrap_or_default();
    code.chars().map(|c| i32::from("[{".contains(c)) - i32::from("]}".contains(c))).sum()
}

fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['"', '\''])
}
