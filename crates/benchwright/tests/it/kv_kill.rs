//! `kill -9` of the server of the key-value store under load, a few times; `cargo xtask chaos kv` does it 200 times.

use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, benchwright, tool};

const KILLS: &str = "4";

/// Returns the words of the client's last line.
fn killed(test: &str, durability: &str) -> Option<String> {
    if !tool(test, "python3") {
        return None;
    }
    let scratch = Scratch::new();
    let client =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../kvserver/src/server/tests/kv_kill.py");
    let mut command = Command::new("python3");
    command.arg(client).arg(benchwright()).arg(scratch.path()).args([KILLS, "1", durability]);
    let ran = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (told, error) = (text(&ran.stdout), text(&ran.stderr));
    let log = std::fs::read_to_string(scratch.path().join("stderr.txt")).unwrap();
    assert!(ran.status.success(), "{told}{error}{log}");
    told.lines().last().map(str::to_owned)
}

#[test]
fn a_server_that_is_killed_under_load_has_what_it_told_and_each_operation_once() {
    let test = "a_server_that_is_killed_under_load_has_what_it_told_and_each_operation_once";
    let Some(told) = killed(test, "checkpoint") else { return };
    assert!(told.starts_with("4 kills, ") && told.ends_with(" each of them once"), "{told}");
}

#[test]
fn a_server_without_durability_that_is_killed_is_empty() {
    let test = "a_server_without_durability_that_is_killed_is_empty";
    let Some(told) = killed(test, "none") else { return };
    assert_eq!(told, "4 kills, and an empty store after each");
}
