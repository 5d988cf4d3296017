//! The processes of this machine, by their numbers.

use std::fs;
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

/// Sends a signal, such as `KILL`. Processes that have ended meanwhile do not matter.
pub(crate) fn signal(name: &str, pids: &[u32]) {
    if pids.is_empty() {
        return;
    }
    let pids = pids.iter().map(u32::to_string);
    let mut kill = Command::new("kill");
    let _ = kill.arg(format!("-{name}")).args(pids).stderr(Stdio::null()).status();
}
