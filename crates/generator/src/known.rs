//! The saved result of the self-test, for later loads on the same machine. Others may have prepared its place: such a
//! file is not believed, and nothing is written over it.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use measure::Rate;
use results::environment::Node;
use results::{SelfTest, regular, trust};

use console::output;

#[cfg(test)]
mod tests;

/// Returns the rate that one shard can complete, if this version's self-test has measured it on
/// this machine.
pub(crate) fn maximum() -> Option<Rate> {
    let text = read(&path()?).ok()?;
    maximum_of(&text, &version(), &machine())
}

fn read(path: &Path) -> io::Result<String> {
    let folder = regular::folder_of(path);
    trust::check_place(regular::folder_of(folder))?;
    trust::check_folder(folder)?;
    trust::read(&trust::open(path, OpenOptions::new().read(true))?)
}

fn maximum_of(text: &str, version: &str, machine: &str) -> Option<Rate> {
    let found: SelfTest = serde_json::from_str(text).ok()?;
    let holds = found.maximum.valid && found.version == version && found.machine == machine;
    Rate::per_second(found.maximum.completed_per_s).filter(|_| holds)
}

/// Saves a self-test whose maximum is valid in the user's cache folder, and returns the path.
/// Without such a folder, later loads are not compared with a maximum.
pub(crate) fn remember(found: &SelfTest) -> Option<anyhow::Result<PathBuf>> {
    let path = path().filter(|_| found.maximum.valid)?;
    Some(save(&path, found).map(|()| path))
}

fn save(path: &Path, found: &SelfTest) -> anyhow::Result<()> {
    let folder = regular::folder_of(path);
    let caches = regular::folder_of(folder);
    let of = |path: &Path| regular::shown(path);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(caches);
    made.and_then(|()| trust::check_place(caches)).with_context(|| of(caches))?;
    trust::make_folder(folder).with_context(|| of(folder))?;
    regular::replace(path, output::json(found).as_bytes()).with_context(|| of(path))
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
