//! The things that a run leaves: files to be compared, and things that should be gone.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The deepest level below the mount point at which a run's control group is searched.
const DEEPEST_GROUP: usize = 8;

/// The runtime folder of the runs, in their temporary folder.
pub(crate) const RUNTIME: &str = "runtime";

/// Returns every file below a folder, by its path from there.
pub(super) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it was found below").to_owned();
                files.insert(name, fs::read(&path).unwrap_or_default());
            }
        }
    }
    files
}

pub(super) fn differences(
    expected: &BTreeMap<PathBuf, Vec<u8>>,
    found: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<String> {
    let mut names: Vec<&PathBuf> = expected.keys().chain(found.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differs = |name: &&&PathBuf| expected.get(**name) != found.get(**name);
    names
        .iter()
        .filter(differs)
        .map(|name| {
            let how = match (expected.get(*name), found.get(*name)) {
                (Some(_), None) => "is missing",
                (None, _) => "is not in the uninterrupted run",
                _ => "differs from the uninterrupted run's",
            };
            format!("{} {how}", name.display())
        })
        .collect()
}

/// Returns the processes, ports, control groups and temporary folders left by ended runs.
pub(crate) fn on_machine(temporary: &Path, results: &Path, runners: &[u32]) -> Vec<String> {
    let processes = processes(temporary).into_iter().map(|pid| format!("process {pid} is left"));
    let ports = ports(results).into_iter().filter(|&port| answers(port));
    let ports = ports.map(|port| format!("port {port} is still listened on"));
    let groups = groups(Path::new("/sys/fs/cgroup"), runners).into_iter();
    let groups = groups.map(|group| format!("control group {} is left", group.display()));
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let folders = names(temporary).into_iter().filter(|name| name != RUNTIME);
    let folders = folders.map(|name| format!("temporary {name} is left"));
    // All runs of a user share the lock, and none removes it.
    let notes = names(&temporary.join(RUNTIME)).into_iter().filter(|name| name != "lock");
    let notes = notes.map(|name| format!("the note {name} is left"));
    processes.chain(ports).chain(groups).chain(folders).chain(notes).collect()
}

/// Returns the processes that were started with our temporary folder or a folder in it.
fn processes(temporary: &Path) -> Vec<u32> {
    let mark = format!("TMPDIR={}", temporary.display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry.starts_with(mark.as_bytes()))
    };
    pids.filter(is_marked).collect()
}

/// Returns the ports that a run's components announced.
fn ports(results: &Path) -> Vec<u16> {
    let outputs = files(&results.join("components"));
    outputs.values().flat_map(|output| announced(&String::from_utf8_lossy(output))).collect()
}

/// Returns the ports in lines like `ready http://127.0.0.1:36069`.
fn announced(output: &str) -> Vec<u16> {
    let urls = output.lines().filter_map(|line| line.strip_prefix("ready "));
    urls.filter_map(|url| url.trim_end_matches('/').rsplit(':').next()?.trim().parse().ok())
        .collect()
}

fn answers(port: u16) -> bool {
    TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).is_ok()
}

/// Returns the control groups that have a runner's process id in their name.
fn groups(root: &Path, runners: &[u32]) -> Vec<PathBuf> {
    let prefixes: Vec<String> = runners.iter().map(|pid| format!("benchwright-{pid}-")).collect();
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                found.push(entry.path());
            } else if depth < DEEPEST_GROUP {
                folders.push((entry.path(), depth + 1));
            }
        }
    }
    found
}
