use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

use super::*;

/// Returns the number of a process that is gone.
fn dead() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn leftovers_of_a_dead_runner_are_removed_and_those_of_a_living_one_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().canonicalize().unwrap();
    let cgroups = temporary.join("cgroups");
    let host = Host {
        lock: temporary.join("lock"),
        temporary: temporary.clone(),
        cgroups: cgroups.clone(),
        ..Host::new("x".into(), "0")
    };
    for controller in ["cpu", "cpuacct", "cpuset"] {
        fs::create_dir_all(cgroups.join(controller)).unwrap();
        fs::write(cgroups.join(controller).join("cgroup.procs"), "").unwrap();
    }
    let pid = dead();
    let left = temporary.join(format!("{FOLDER}{pid}-12"));
    fs::create_dir_all(left.join("data")).unwrap();
    fs::create_dir_all(cgroups.join(format!("cpu/{GROUP}{pid}-12/hotel"))).unwrap();
    let mut process =
        Command::new("sleep").arg("60").env("TMPDIR", &left).stdout(Stdio::null()).spawn().unwrap();
    // A spawned process exists before the kernel shows its environment.
    let environment = format!("/proc/{}/environ", process.id());
    while fs::read(&environment).unwrap().is_empty() {
        thread::yield_now();
    }
    let living = RunId::next();
    let kept = temporary.join(format!("{FOLDER}{living}"));
    fs::create_dir_all(&kept).unwrap();

    let removed = remove(&host);
    assert_eq!(removed, [Removed { pid, processes: 1, cgroups: 2, folders: 1 }]);
    let text = format!(
        "a run (pid {pid}) ended without cleaning up: removed 1 process and 2 cgroups and 1 temporary \
         folder"
    );
    assert_eq!(removed[0].to_string(), text);
    assert!(!process.wait().unwrap().success());
    assert!(!left.exists() && kept.exists());
    assert_eq!(remove(&host), []);
}

/// As nginx's workers are, once the kernel killed nginx with its runner.
#[test]
fn a_child_that_hides_its_environment_is_found_by_its_process_group() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().canonicalize().unwrap();
    let host = Host {
        lock: temporary.join("lock"),
        temporary: temporary.clone(),
        cgroups: temporary.join("none"),
        ..Host::new("x".into(), "0")
    };
    let pid = dead();
    let left = temporary.join(format!("{FOLDER}{pid}-12"));
    fs::create_dir_all(&left).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "env -i sleep 60 & echo $!; wait"]).process_group(0);
    let mut leader = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut child = String::new();
    BufReader::new(leader.stdout.take().unwrap()).read_line(&mut child).unwrap();
    leaders::record(&left, leader.id());
    leader.kill().unwrap();
    leader.wait().unwrap();

    let removed = remove(&host);
    assert_eq!(removed, [Removed { pid, processes: 1, cgroups: 0, folders: 1 }]);
    let stat = || fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    while !stat().is_empty() && !stat().contains(") Z ") {
        thread::yield_now();
    }
}
