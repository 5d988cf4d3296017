//! The saved result of the self-test, for later loads on the same machine.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use measure::Rate;
use results::SelfTest;
use results::environment::Node;

use console::output;

#[cfg(test)]
mod tests;

/// Returns the rate that one shard can complete, if this version's self-test has measured it on
/// this machine.
pub(crate) fn maximum() -> Option<Rate> {
    let text = fs::read_to_string(path()?).ok()?;
    maximum_of(&text, &version(), &machine())
}

fn maximum_of(text: &str, version: &str, machine: &str) -> Option<Rate> {
    let found: SelfTest = serde_json::from_str(text).ok()?;
    let holds = found.maximum.valid && found.version == version && found.machine == machine;
    Rate::per_second(found.maximum.completed_per_s).filter(|_| holds)
}

/// Saves a self-test whose maximum is valid in the user's cache folder, and returns the path.
/// Without such a folder, later loads are not compared with a maximum.
pub(crate) fn remember(found: &SelfTest) -> Option<PathBuf> {
    let path = path().filter(|_| found.maximum.valid)?;
    fs::create_dir_all(path.parent()?).ok()?;
    let new = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&new, output::json(found)).and_then(|()| fs::rename(&new, &path)).ok()?;
    Some(path)
}

fn path() -> Option<PathBuf> {
    path_in(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
}

/// Ignores relative folders, as the specification of base directories requires.
fn path_in(cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let folder = |name: Option<OsString>| name.map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder(cache).or_else(|| Some(folder(home)?.join(".cache")))?;
    Some(cache.join("benchwright/self-test.json"))
}

/// Returns the program's version; a build without optimization counts as another one.
pub(crate) fn version() -> String {
    let kind = if cfg!(debug_assertions) { " (debug)" } else { "" };
    format!("benchwright {}{kind}", env!("CARGO_PKG_VERSION"))
}

pub(crate) fn machine() -> String {
    let Node { cpu_model, cpus, kernel, architecture, .. } = Node::read(Path::new("/"));
    let cpu = cpu_model.unwrap_or(architecture);
    format!("{cpu}, {cpus} CPUs, Linux {}", kernel.unwrap_or_default())
}
