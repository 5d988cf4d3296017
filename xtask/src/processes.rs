//! The processes of this machine, by their numbers.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the processes that this one has started and that have not ended.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers = |list: String| -> Vec<u32> {
        list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
    };
    lists.flat_map(numbers).collect()
}

/// Returns the other processes that have a file open, such as one end of a pipe: `pipe:[1234]`.
pub(crate) fn with_open(file: &Path) -> Vec<u32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_it = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|target| target == file)
    };
    pids.filter(|pid| *pid != std::process::id()).filter(has_it).collect()
}

/// The resident bytes of a process.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    let status =
        fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Returns the words with which a process was started.
pub(crate) fn command(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned()
}

/// Sends a signal, such as `KILL`. Processes that have ended meanwhile do not matter.
pub(crate) fn signal(name: &str, pids: &[u32]) {
    if pids.is_empty() {
        return;
    }
    let pids = pids.iter().map(u32::to_string);
    let mut kill = Command::new("kill");
    let _ = kill.arg(format!("-{name}")).args(pids).stderr(Stdio::null()).status();
}
