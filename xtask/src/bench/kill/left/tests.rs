use std::process::{Command, Stdio};

use super::*;

#[test]
fn every_kind_of_difference_between_two_folders_is_reported() {
    let folder = |files: &[(&str, &str)]| -> BTreeMap<PathBuf, Vec<u8>> {
        files.iter().map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec())).collect()
    };
    let uninterrupted = folder(&[("a", "1"), ("b", "2"), ("c", "3")]);
    assert_eq!(differences(&uninterrupted, &uninterrupted), Vec::<String>::new());
    let continued = folder(&[("a", "1"), ("b", "0"), ("d", "3")]);
    assert_eq!(
        differences(&uninterrupted, &continued),
        [
            "b differs from the uninterrupted run's",
            "c is missing",
            "d is not in the uninterrupted run"
        ]
    );
}

#[test]
fn ports_are_those_that_components_announced() {
    let output = "ready http://127.0.0.1:36069\nlog\nready http://[::1]:80/\nready soon\n";
    assert_eq!(announced(output), [36069, 80]);
}

#[test]
fn control_groups_with_a_runners_process_id_are_found_at_any_depth() {
    let root = std::env::temp_dir().join(format!("xtask-bench-left-{}", std::process::id()));
    for group in ["cpu/benchwright-7-100/hotel", "cpu/benchwright-77-100", "a/b/benchwright-7-1"] {
        fs::create_dir_all(root.join(group)).unwrap();
    }
    fs::write(root.join("cpu/benchwright-7-file"), "").unwrap();
    let mut found = groups(&root, &[7]);
    found.sort();
    let names: Vec<PathBuf> = files(&root).into_keys().collect();
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(found, [root.join("a/b/benchwright-7-1"), root.join("cpu/benchwright-7-100")]);
    assert_eq!(names, [PathBuf::from("cpu/benchwright-7-file")]);
}

#[test]
fn a_process_is_found_by_the_temporary_folder_it_was_started_with() {
    // The name is unique, since others may run this test at the same time.
    let temporary = PathBuf::from(format!("/nonexistent/benchwright-bench-{}", std::process::id()));
    let mut command = Command::new("cat");
    let inner = temporary.join("inner");
    let mut child = command.env("TMPDIR", inner).stdin(Stdio::piped()).spawn().unwrap();
    // A new process exists before the kernel shows its environment.
    while fs::read(format!("/proc/{}/environ", child.id())).unwrap().is_empty() {
        std::thread::yield_now();
    }
    let found = processes(&temporary);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, [child.id()]);
    assert_eq!(processes(&temporary), Vec::<u32>::new());
}
