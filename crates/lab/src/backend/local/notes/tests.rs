use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::*;

/// Starts a shell that leads a group and has a child without our environment.
fn group() -> (Child, i32) {
    let mut command = Command::new("sh");
    command.args(["-c", "env -i sleep 60 & echo $!; wait"]).process_group(0);
    let mut leader = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = leader.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    (leader, line.trim().parse().unwrap())
}

#[test]
fn the_children_of_a_dead_leader_are_found_by_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let (mut leader, child) = group();
    record(folder.path(), leader.id());
    let recorded = recorded(folder.path());
    let [known] = &recorded[..] else { panic!("{recorded:?}") };
    let mut both = known.processes();
    both.sort_unstable();
    assert_eq!(both, [leader.id() as i32, child]);
    leader.kill().unwrap();
    leader.wait().unwrap();
    assert_eq!(known.processes(), [child]);
    crate::backend::local::process::kill_if(child, || known.leads(child));
    while !known.processes().is_empty() {
        std::thread::yield_now();
    }
}

#[test]
fn a_group_of_another_boot_or_with_a_reused_number_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut leader, child) = group();
    record(folder.path(), leader.id());
    let known = recorded(folder.path()).remove(0);
    let reused = Leader { start: known.start - 1, ..known.clone() };
    assert!(reused.processes().is_empty());
    let of_another_boot = Leader { boot: "another".to_owned(), ..known.clone() };
    assert!(of_another_boot.processes().is_empty());
    crate::backend::local::process::kill_if(child, || known.leads(child));
    leader.kill().unwrap();
    leader.wait().unwrap();
    assert_eq!(recorded(&folder.path().join("none")), []);
}
